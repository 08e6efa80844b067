//! The options and errors of ASAp and rejection, and what all faithful samplers have in common.

use serde::{Deserialize, Serialize};

use super::learned::ExpectedGrammaticality;
use crate::Outputs;
use crate::parameter::{Effect, OutOfRange, Parameter};

/// How the end counts if the output is complete and nothing can follow.
///
/// Otherwise it always counts with the probability of the end-of-sequence token drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForcedEnd {
    /// With the model's probability of all end-of-sequence tokens together: the model itself might continue. The target
    /// is then the model's distribution over whole texts, and the model runs once more after the last token.
    #[default]
    Counted,
    /// As certain. The target is then that of a model that ends whenever nothing can follow, which suits models that
    /// never end by themselves.
    Free,
}

/// Returns whether faithful samplers honour an option: the target is the model's own distribution over whole outputs,
/// and most drawn tokens are discarded.
///
/// The temperature is honoured: it must be 1, or [`FaithfulError::OtherTarget`] is returned.
pub(super) fn honours(option: &Parameter) -> bool {
    let is_about_outputs = matches!(option.effect, Effect::Request | Effect::Sequences);
    is_about_outputs || option.name == "temperature"
}

/// How [`Strategy::Asap`](crate::Strategy::Asap) and [`Strategy::Rejection`](crate::Strategy::Rejection) draw outputs:
/// [`sequences`](crate::GenerateOptions::sequences) of them, in sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaithfulOptions {
    /// Maximum number of attempts per output, after which the sampler gives up.
    pub attempts: u64,
    /// How the end counts if nothing can follow.
    pub forced_end: ForcedEnd,
    /// The learned bounds that requests share. `None` creates new ones for each request; JSON forms always have `None`.
    #[serde(skip)]
    pub learned: Option<ExpectedGrammaticality>,
}

impl Default for FaithfulOptions {
    /// At most a thousand attempts per output, whose end counts; nothing is shared.
    fn default() -> Self {
        Self {
            attempts: 1_000,
            forced_end: ForcedEnd::Counted,
            learned: None,
        }
    }
}

/// How the attempts at outputs ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AttemptCounts {
    /// The number of attempts.
    pub attempts: u64,
    /// Attempts that ended because the model drew a token that is not allowed.
    pub rejected: u64,
    /// Attempts that ended because nothing with any probability was left, or no tokens.
    pub unfinished: u64,
}

/// Why a faithful sampler has no samples, or too few.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaithfulError {
    /// An option would change the distribution that is sampled.
    #[error(
        "faithful samplers draw from the model's own distribution at temperature 1, which {what} would change"
    )]
    OtherTarget {
        /// The option.
        what: &'static str,
    },
    /// A number outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The learned bounds are for another prompt, number of tokens or end.
    #[error(
        "what was learned is about another prompt, number of new tokens or end: learn anew for this one"
    )]
    OtherSituation,
    /// A logit is infinite, so that no probability can be computed.
    #[error("at step {step} a logit is infinite: the model is broken")]
    InfiniteLogit {
        /// The number of tokens generated before.
        step: usize,
    },
    /// No attempt led to an output.
    #[error(
        "{} of {wanted} outputs were found, and the next not in {attempts} attempts: the model hardly ever writes one within the limit of tokens",
        found.outputs.len()
    )]
    Attempts {
        /// Attempts at the output that was not found.
        attempts: u64,
        /// The number of outputs requested.
        wanted: usize,
        /// The outputs found before.
        found: Box<Outputs>,
    },
    /// The time limit passed.
    #[error("{} of {wanted} outputs were found in time", found.outputs.len())]
    TimeLimit {
        /// The number of outputs requested.
        wanted: usize,
        /// The outputs found before.
        found: Box<Outputs>,
    },
    /// The request was cancelled.
    #[error("{} of {wanted} outputs were found before the request was cancelled", found.outputs.len())]
    Cancelled {
        /// The number of outputs requested.
        wanted: usize,
        /// The outputs found before.
        found: Box<Outputs>,
    },
    /// Every particle reached a position where no token has a probability, or was not complete in time.
    #[error(
        "none of {particles} particles became a complete output; allow more particles, more new tokens or more time"
    )]
    NoParticle {
        /// The number of particles.
        particles: usize,
    },
}
