//! Limits: what a machine may cost.

/// What ran over its limit while an automaton was built or extended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} exceed the limit of {limit}")]
pub struct LimitExceeded {
    /// What was counted, in the plural.
    pub what: &'static str,
    /// The limit.
    pub limit: u64,
}

/// What [`RegularLimits::expressions`](crate::RegularLimits::expressions) counts.
pub(crate) const EXPRESSIONS: &str = "expressions of a regular set";

impl LimitExceeded {
    /// Whether it is about what a machine has kept since it was made: a new one may do what this one could not.
    #[must_use]
    pub fn is_of_kept(&self) -> bool {
        self.what == EXPRESSIONS
    }
}
