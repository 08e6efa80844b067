//! Limits: what an input may cost.

use structgen_regular::{CancelToken, LimitExceeded, RegularLimits};

/// What a step that cannot be made ran into.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A sketch does not remember a text that the step depends on: take the exact state.
    #[error("the step depends on a text that a sketch does not keep")]
    NeedsExact,
}

impl StepError {
    /// The limit, where nothing was left out of the state.
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

/// What a program and its states may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most nodes of a program.
    pub nodes: usize,
    /// The most states of a network. A matcher starts anew before they run out.
    pub states: usize,
    /// The most alternatives that run side by side.
    pub threads: usize,
    /// How many alternatives may be looked at altogether, for one byte or token: see
    /// [`Call`](crate::Call).
    pub work: u64,
    /// How many alternatives may be looked at for all bytes of a text that is checked, beyond a few for each byte.
    pub text_work: u64,
    /// The limits of regular sets.
    pub regular: RegularLimits,
    /// Ends the compilation before it is done. What uses the program has tokens of its own:
    /// [`Call::with_cancel_token`](crate::Call::with_cancel_token).
    pub cancel: Option<CancelToken>,
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
