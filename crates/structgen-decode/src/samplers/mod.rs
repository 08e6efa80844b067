//! Samplers change the logits of allowed tokens between the model and the draw.
//!
//! A sampler works on a list of [`Candidates`], which are allowed tokens with logits above `-inf`, so no arithmetic
//! meets an infinity that stands for "forbidden". Each sampler has its own file; [`SamplerChain`] runs them in order.

mod adaptive_p;
mod bad_words;
mod chain;
mod counts;
mod draw;
mod dry;
mod dynamic_temperature;
mod epsilon;
mod eta;
mod forced_tokens;
mod history;
mod length_decay;
mod logit_bias;
mod min_length;
mod min_p;
mod mirostat;
mod no_repeat_ngram;
mod order;
mod own;
mod params;
mod penalties;
mod preset;
mod repetition_guard;
mod suppress;
mod table;
mod task_guide;
mod temperature;
mod top_h;
mod top_k;
mod top_n_sigma;
mod top_p;
mod typical_p;
mod validate;
mod watermark;
mod xtc;

pub use crate::candidates::Candidates;
pub use crate::masked::{MaskedSoftmax, masked_argmax, masked_softmax};
pub use crate::rng::SequenceRng;
pub use crate::temperature::Temperature;
pub use adaptive_p::{AdaptiveP, AdaptivePParams};
pub use bad_words::BadWords;
pub use chain::SamplerChain;
pub(crate) use chain::{ContrastRule, Opinions};
pub use counts::PenaltyScope;
pub use dry::{Dry, DryParams};
pub use dynamic_temperature::{DynamicTemperature, DynamicTemperatureParams};
pub use epsilon::Epsilon;
pub use eta::Eta;
pub use forced_tokens::ForcedTokens;
pub use length_decay::{LengthDecay, LengthDecayParams};
pub use logit_bias::LogitBias;
pub use min_length::MinLength;
pub use min_p::MinP;
pub use mirostat::{Mirostat, Mirostat2, MirostatParams};
pub use no_repeat_ngram::NoRepeatNGram;
pub use order::{OrderPreset, SamplerKind, UnknownOrder};
pub use own::OwnSamplers;
pub use params::SamplingParams;
pub use penalties::{FrequencyPresencePenalty, RepetitionPenalty};
pub use preset::{TaskPreset, UnknownTask};
pub use repetition_guard::{Repetition, RepetitionGuard, RepetitionGuardParams};
pub use suppress::Suppress;
pub(crate) use table::PARAMETERS;
pub use task_guide::{TASK_GUIDES, TaskGuide, TaskRange};
pub use top_h::TopH;
pub use top_k::TopK;
pub use top_n_sigma::TopNSigma;
pub use top_p::TopP;
pub use typical_p::TypicalP;
pub use validate::SamplingError;
pub use watermark::{Watermark, WatermarkDetector, WatermarkParams, WatermarkScore};
pub use xtc::{Xtc, XtcParams};

use structgen_vocab::TokenId;

/// A stage of the chain, which changes the candidates' logits or removes candidates.
///
/// Samplers that choose the token themselves in other libraries (mirostat, adaptive-p) only change the candidates here.
/// They leave the draw to the chain, and learn of it with its probability in [`accept`](Sampler::accept). A draw that
/// is not accepted has no effect.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, TopK};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.5), (TokenId(4), 2.0), (TokenId(9), 1.0)]);
/// TopK::new(2).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(4), TokenId(9)]);
/// ```
pub trait Sampler: Send {
    /// Changes logits or removes candidates. It must keep the order by id, and never remove the last candidate.
    ///
    /// It may be called more than once per step, if a drawn token does not fit the budget. Whatever must happen once
    /// per step belongs in [`accept`](Sampler::accept).
    fn apply(&mut self, candidates: &mut Candidates);

    /// Notifies the sampler of a token that became part of the output.
    fn accept(&mut self, accepted: Accepted) {
        let _ = accepted;
    }

    /// Resets the state for a new sequence.
    fn reset(&mut self, start: SequenceStart<'_>) {
        let _ = start;
    }

    /// Appends to `tokens` all tokens that the next [`apply`](Sampler::apply) may change or remove, in any order;
    /// returns false if that depends on other candidates.
    ///
    /// A chain that starts with such samplers and continues with top-k omits what top-k would remove before anything is
    /// copied. The default returns false, which is always correct.
    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        let _ = tokens;
        false
    }

    /// Returns an independent copy with the same state, for a fork of the sequence.
    fn clone_box(&self) -> Box<dyn Sampler>;
}

/// The start of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceStart<'a> {
    /// The tokens before the first choice.
    pub prompt: &'a [TokenId],
    /// The number of these, at the end, that are the start of the output.
    pub prefilled: usize,
    /// The ids that end the output.
    pub eos: &'a [TokenId],
}

/// A token that became part of the output, as reported to samplers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Accepted {
    /// The token.
    pub token: TokenId,
    /// Its probability in the distribution that it was drawn from, after all samplers; `None` if it was forced or
    /// chosen as the largest.
    pub probability: Option<f32>,
}

impl Accepted {
    /// Creates a token that was forced by the constraint, or chosen without a draw.
    pub fn certain(token: TokenId) -> Self {
        Self {
            token,
            probability: None,
        }
    }

    /// Creates a token that was drawn with the given probability.
    pub fn drawn(token: TokenId, probability: f32) -> Self {
        Self {
            token,
            probability: Some(probability),
        }
    }
}
