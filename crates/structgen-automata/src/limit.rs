//! Limits on the size of a program and on its work.

use structgen_regular::{CancelToken, LimitExceeded, RegularLimits};

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The step depends on a text that a sketch omits; it must be taken from the exact state.
    #[error("the step depends on a text that a sketch does not keep")]
    NeedsExact,
}

impl StepError {
    /// Returns the limit, for states that omit nothing.
    pub(crate) fn limit(self) -> LimitExceeded {
        match self {
            Self::Limit(limit) => limit,
            Self::NeedsExact => LimitExceeded {
                what: "texts within one token",
                limit: 1,
            },
        }
    }
}

/// Limits on a program and its states.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximum number of nodes of a program.
    pub nodes: usize,
    /// The maximum number of states of a network. A matcher starts over before they run out.
    pub states: usize,
    /// The maximum number of alternatives that run side by side.
    pub threads: usize,
    /// The maximum number of alternatives to visit for one byte or token, see [`Call`](crate::Call).
    pub work: u64,
    /// The maximum number of alternatives to visit for all bytes of a checked text, beyond a few for each byte.
    pub text_work: u64,
    /// The limits of regular sets.
    pub regular: RegularLimits,
    /// Cancels the compilation. Users of the program have their own tokens, see
    /// [`Call::with_cancel_token`](crate::Call::with_cancel_token).
    pub cancel: Option<CancelToken>,
}

impl Limits {
    /// The maximum number of expressions of regular sets to look at in one operation. Looking at one takes about as
    /// long as visiting an alternative.
    #[must_use]
    pub fn machine_work(&self) -> u64 {
        self.work
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            nodes: 4_000_000,
            states: 50_000_000,
            threads: 10_000,
            work: 20_000_000,
            text_work: 20_000_000,
            regular: RegularLimits::default(),
            cancel: None,
        }
    }
}
