//! A single step of decoding as data: logits, mask, each sampler in turn, and the draw.

use serde::Serialize;
use structgen_decode::SamplingParams;
use structgen_decode::constraint::AllowedTokens;
use structgen_decode::samplers::{Candidates, SamplerChain, SamplerKind, SamplingError};
use structgen_vocab::TokenId;

use crate::{Distribution, NoDistribution};

/// A step: the model's distribution, the effects of mask and samplers, and the draw.
///
/// It is computed by the sampler chain that decoding uses. If that chain has the sequence's own samplers and
/// temperature ([`Step::of`]), it shows what really happens.
///
/// ```
/// use structgen_decode::SamplingParams;
/// use structgen_lab::step::{Everything, Step};
///
/// let params = SamplingParams { temperature: 1.0, top_k: 2, ..SamplingParams::default() };
/// let step = Step::new(&[2.0, 1.0, 0.5, -1.0], &Everything::of(4), &params)?;
/// assert_eq!(format!("{:.3}", step.model[0].probability), "0.609");
/// assert_eq!(step.stages[0].sampler, "top-k");
/// assert_eq!((step.mask.allowed, step.stages[0].left), (4, 2));
/// # Ok::<(), structgen_lab::step::StepError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// All tokens with a probability under the model, most probable first.
    pub model: Vec<TokenShare>,
    /// The model's entropy in nats.
    pub entropy: f64,
    /// The effect of the mask.
    pub mask: MaskShare,
    /// The effects of the samplers that are on, in order.
    pub stages: Vec<Stage>,
    /// The tokens that the draw chooses from, most probable first.
    pub kept: Vec<TokenShare>,
    /// The drawn token.
    pub drawn: Option<Draw>,
}

/// A token's share of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TokenShare {
    /// The token.
    pub id: u32,
    /// Its logit.
    pub logit: f32,
    /// Its probability.
    pub probability: f64,
    /// The cumulative probability up to this token, in order of probability.
    pub cumulative: f64,
    /// Whether the mask allows it.
    pub is_allowed: bool,
}

/// The effect of a mask.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MaskShare {
    /// The number of allowed tokens.
    pub allowed: usize,
    /// The probability mass that it removed.
    pub removed: f64,
    /// The most probable refused tokens.
    pub refused: Vec<TokenShare>,
}

/// The candidates after a sampler.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// The sampler's name, or [`READER`].
    pub sampler: &'static str,
    /// The number of tokens that it kept.
    pub left: usize,
    /// The entropy of the kept tokens, in nats.
    pub entropy: f64,
    /// The probability mass that it removed, relative to the tokens before it and their probabilities.
    pub removed: f64,
    /// The kept tokens, most probable first.
    pub tokens: Vec<TokenShare>,
}

/// A drawn token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Draw {
    /// The token.
    pub id: u32,
    /// Its probability; one if the largest is taken.
    pub probability: f64,
}

/// Why there is no step to show.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The logits are not a distribution.
    #[error(transparent)]
    NoDistribution(#[from] NoDistribution),
    /// A sampling parameter is invalid.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
}

/// A mask that allows every token.
#[derive(Debug, Clone)]
pub struct Everything(structgen_decode::constraint::PlainMask);

impl Everything {
    /// Creates a mask for a vocabulary of this size.
    #[must_use]
    pub fn of(tokens: usize) -> Self {
        let mut bits = structgen_vocab::TokenMask::new(tokens);
        for id in 0..u32::try_from(tokens).unwrap_or(u32::MAX) {
            bits.allow(TokenId(id));
        }
        Self(structgen_decode::constraint::PlainMask::new(bits))
    }
}

impl AllowedTokens for Everything {
    fn bits(&self) -> &structgen_vocab::TokenMask {
        self.0.bits()
    }

    fn list(&self) -> Option<&[TokenId]> {
        self.0.list()
    }

    fn count(&self) -> usize {
        self.0.count()
    }
}

/// The name of the stage of the samplers that the caller adds to a chain: those of an extraction's reader.
pub const READER: &str = "reader";

/// Number of refused tokens that a step lists.
const REFUSED: usize = 10;

impl Step {
    /// Creates a first step with these logits and this mask.
    ///
    /// # Errors
    /// [`StepError`].
    pub fn new(
        logits: &[f32],
        allowed: &impl AllowedTokens,
        params: &SamplingParams,
    ) -> Result<Self, StepError> {
        let mut chain = SamplerChain::new(params, 0)?;
        Self::of(logits, allowed, &mut chain)
    }

    /// Creates the next step of a chain, which may have seen tokens. Draws a random number.
    ///
    /// It is the step of a sequence if the chain is [the sequence's](SamplerChain::of_sequence), has accepted its
    /// tokens, and has the [temperature](SamplerChain::set_temperature) that the constraint sets for the next one.
    ///
    /// # Errors
    /// [`StepError::NoDistribution`].
    pub fn of(
        logits: &[f32],
        allowed: &impl AllowedTokens,
        chain: &mut SamplerChain,
    ) -> Result<Self, StepError> {
        let whole = Distribution::from_logits(logits)?;
        let all = { logits.iter().enumerate() }
            .map(|(id, &logit)| (id as u32, logit, whole.probabilities()[id]));
        let is_allowed = |id| allowed.allows(TokenId(id));
        let all = all.filter(|&(_, _, p)| p > 0.0);
        let model = shares(all.clone().collect(), is_allowed);
        let refused = all.filter(|&(id, _, _)| !is_allowed(id));
        let mut refused = shares(refused.collect(), |_| false);
        let removed = refused.last().map_or(0.0, |last| last.cumulative);
        refused.truncate(REFUSED);

        let mut candidates = Candidates::default();
        candidates.fill(logits, allowed, &[]);
        let mut before = shares_of(&mut candidates);
        let mut stages: Vec<Stage> = Vec::new();
        chain.apply_shown(&mut candidates, |kind, candidates| {
            let tokens = shares_of(candidates);
            let mut ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
            ids.sort_unstable();
            let gone = before
                .iter()
                .filter(|token| ids.binary_search(&token.id).is_err());
            stages.push(Stage {
                sampler: kind.map_or(READER, SamplerKind::name),
                left: tokens.len(),
                entropy: entropy(&tokens),
                // An empty sum is minus zero.
                removed: gone.map(|token| token.probability).sum::<f64>() + 0.0,
                tokens: tokens.clone(),
            });
            before = tokens;
        });
        let drawn = chain.draw_applied(&mut candidates).map(|drawn| Draw {
            id: drawn.token.0,
            probability: drawn.probability.map_or(1.0, f64::from),
        });
        Ok(Self {
            entropy: whole.entropy(),
            model,
            mask: MaskShare {
                allowed: allowed.count(),
                removed,
                refused,
            },
            stages,
            kept: before,
            drawn,
        })
    }
}

/// Returns the candidates, most probable first.
fn shares_of(candidates: &mut Candidates) -> Vec<TokenShare> {
    let total = candidates.weigh();
    let pairs = candidates.ids().iter().zip(candidates.logits());
    let triples = pairs.zip(candidates.weights());
    let triples = triples.map(|((id, &logit), &weight)| (id.0, logit, f64::from(weight) / total));
    shares(triples.collect(), |_| true)
}

fn shares(mut tokens: Vec<(u32, f32, f64)>, is_allowed: impl Fn(u32) -> bool) -> Vec<TokenShare> {
    tokens.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let mut cumulative = 0.0;
    let share = |(id, logit, probability)| {
        cumulative += probability;
        TokenShare {
            id,
            logit,
            probability,
            cumulative,
            is_allowed: is_allowed(id),
        }
    };
    tokens.into_iter().map(share).collect()
}

fn entropy(tokens: &[TokenShare]) -> f64 {
    let positive = tokens
        .iter()
        .map(|token| token.probability)
        .filter(|&p| p > 0.0);
    // An empty sum is minus zero.
    -positive.map(|p| p * p.ln()).sum::<f64>() + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use structgen_decode::constraint::PlainMask;
    use structgen_vocab::TokenMask;

    fn sampling(temperature: f32) -> SamplingParams {
        SamplingParams {
            temperature,
            ..SamplingParams::default()
        }
    }

    #[test]
    fn temperatures_give_the_published_probabilities() {
        let logits = [2.0, 1.0, 0.5, -1.0];
        let expected = [
            (0.5, [0.842, 0.114, 0.042, 0.002]),
            (1.0, [0.609, 0.224, 0.136, 0.030]),
            (2.0, [0.434, 0.263, 0.205, 0.097]),
        ];
        for (temperature, expected) in expected {
            let step = Step::new(&logits, &Everything::of(4), &sampling(temperature)).unwrap();
            let found = step.kept.iter().map(|token| token.probability);
            for (found, expected) in found.zip(expected) {
                assert!((found - expected).abs() < 6e-4, "{found} {expected}");
            }
            assert!((step.kept[3].cumulative - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_mask_takes_its_share_and_samplers_see_the_rest() {
        let mut mask = TokenMask::new(4);
        mask.allow_all(&[TokenId(1), TokenId(2), TokenId(3)]);
        let params = SamplingParams {
            top_k: 2,
            ..sampling(0.5)
        };
        let step = Step::new(&[2.0, 1.0, 0.5, -1.0], &PlainMask::new(mask), &params).unwrap();
        assert_eq!(step.mask.allowed, 3);
        assert!((step.mask.removed - 0.609).abs() < 6e-4);
        assert_eq!(step.mask.refused[0].id, 0);
        assert!(!step.model[0].is_allowed && step.model[1].is_allowed);
        let left: Vec<_> = step.stages.iter().map(|s| (s.sampler, s.left)).collect();
        assert_eq!(left, [("temperature", 3), ("top-k", 2)]);
        assert_eq!(step.stages[0].removed, 0.0);
        assert!((step.stages[1].removed - step.stages[0].tokens[2].probability).abs() < 1e-9);
        assert!(step.drawn.is_some_and(|draw| [1, 2].contains(&draw.id)));
    }

    #[test]
    fn greedy_takes_the_largest_without_a_stage() {
        let step = Step::new(&[0.0, 3.0], &Everything::of(2), &sampling(0.0)).unwrap();
        assert!(step.stages.is_empty());
        assert_eq!(
            step.drawn,
            Some(Draw {
                id: 1,
                probability: 1.0
            })
        );
        assert!(Step::new(&[], &Everything::of(0), &sampling(0.0)).is_err());
    }
}
