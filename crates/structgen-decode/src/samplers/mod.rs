//! Samplers: what happens to the logits of the allowed tokens between the model and the draw.
//!
//! A sampler sees a list of [`Candidates`], which holds allowed tokens with logits above `-inf` and nothing else, so no
//! arithmetic meets an infinity that stands for "forbidden". One file each; [`SamplerChain`] runs them in order.

mod chain;
mod draw;
mod logit_bias;
mod min_p;
mod params;
mod penalties;
mod temperature;
mod top_k;
mod top_p;

pub use chain::SamplerChain;
pub use logit_bias::LogitBias;
pub use min_p::MinP;
pub use params::{SamplerKind, SamplingError, SamplingParams};
pub use penalties::{FrequencyPresencePenalty, RepetitionPenalty};
pub use temperature::Temperature;
pub use top_k::TopK;
pub use top_p::TopP;

use structgen_vocab::TokenId;

use crate::Candidates;

/// One stage of the chain: reads and changes the candidates' logits, or removes candidates.
///
/// ```
/// use structgen_decode::{Candidates, Sampler, TopK};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.5), (TokenId(4), 2.0), (TokenId(9), 1.0)]);
/// TopK::new(2).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(4), TokenId(9)]);
/// ```
pub trait Sampler: Send {
    /// Changes logits or removes candidates; keeps the order by id, and never removes the last candidate.
    ///
    /// It may be called more than once in a step, when a drawn token turns out not to fit the budget: what must happen
    /// once a step belongs into [`accept`](Sampler::accept).
    fn apply(&mut self, candidates: &mut Candidates);

    /// Tells of a token that became part of the output.
    fn accept(&mut self, accepted: Accepted) {
        let _ = accepted;
    }

    /// Forgets everything and starts on a new prompt.
    fn reset(&mut self, prompt: &[TokenId]) {
        let _ = prompt;
    }

    /// An independent copy with the same state, for a fork of the sequence.
    fn clone_box(&self) -> Box<dyn Sampler>;
}

/// A token that became part of the output, as samplers with a memory learn of it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Accepted {
    /// The token.
    pub token: TokenId,
    /// Its probability in the distribution that it was drawn from, after every sampler; none where it was forced or
    /// chosen as the largest.
    pub probability: Option<f32>,
}

impl Accepted {
    /// A token that was forced by the constraint, or chosen without a draw.
    pub fn certain(token: TokenId) -> Self {
        Self {
            token,
            probability: None,
        }
    }

    /// A token that was drawn with the probability given.
    pub fn drawn(token: TokenId, probability: f32) -> Self {
        Self {
            token,
            probability: Some(probability),
        }
    }
}
