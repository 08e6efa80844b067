//! Limits on the size and work of a machine.

/// A limit that was exceeded while an automaton was built or extended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", message(.what, *.limit))]
pub struct LimitExceeded {
    /// What was counted, in the plural.
    pub what: &'static str,
    /// The limit.
    pub limit: u64,
}

/// What a deadline counts.
pub(crate) const MILLISECONDS: &str = "milliseconds of work";

/// The message of work that was cancelled.
pub(crate) const CANCELLED: &str = "the work was cancelled";

fn message(what: &str, limit: u64) -> String {
    match what {
        CANCELLED => what.to_owned(),
        _ => format!("{what} exceed the limit of {limit}"),
    }
}

/// What [`RegularLimits::expressions`](crate::RegularLimits::expressions) counts.
pub(crate) const EXPRESSIONS: &str = "expressions of a regular set";

impl LimitExceeded {
    /// Returns whether the limit is on what a machine has accumulated since it was created, so that a new one may
    /// succeed.
    #[must_use]
    pub fn is_of_kept(&self) -> bool {
        self.what == EXPRESSIONS
    }

    /// Returns whether a [`CancelToken`](crate::CancelToken) was cancelled, rather than a limit exceeded.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.what == CANCELLED
    }

    /// Returns whether the deadline of a [`CancelToken`](crate::CancelToken) has passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.what == MILLISECONDS
    }
}

/// The maximum work of one step with the search for a completion after it: up to a second.
pub(crate) const MOST_WORK: u64 = 20_000_000;

pub(crate) fn too_many_expressions(limit: usize) -> LimitExceeded {
    LimitExceeded {
        what: EXPRESSIONS,
        limit: limit as u64,
    }
}

pub(crate) fn too_much_work() -> LimitExceeded {
    LimitExceeded {
        what: "expressions looked at in one step of a regular set",
        limit: MOST_WORK,
    }
}
