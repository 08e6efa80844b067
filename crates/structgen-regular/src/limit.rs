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
