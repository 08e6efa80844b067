//! The options of contrastive search.

use serde::{Deserialize, Serialize};

use super::check_ranges;
use super::contrast::ContrastError;
use crate::parameter::Effect;

/// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"): of the most probable
/// tokens, the one that is both probable and new.
///
/// Of the `top_k` most probable candidates, it takes the one with the largest `(1 - alpha) * p - alpha * s`, where `p`
/// is the token's probability and `s` the largest cosine similarity of its hidden state to that of any earlier token,
/// including the prompt's. An `alpha` of zero is greedy decoding.
///
/// Probabilities are over the tokens that the constraint and the bans leave, after penalties and biases. Temperature
/// and truncating samplers are for draws and are refused, but temperatures set by a grammar apply. Without a
/// constraint, outputs are those of transformers' `generate` with `penalty_alpha` and `top_k`. Each step that is not
/// forced takes one run, with a row per candidate. Log probabilities are the model's own.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::strategies::ContrastiveSearch;
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let search = ContrastiveSearch { alpha: 0.5, top_k: 3 };
/// let request = Request::new([TokenId(0)], free).with_options(options).with_strategy(search);
/// let model = MockModel::new(4, 64, [TokenId(3)]).with_hidden_width(8);
/// let output = Scheduler::new(model, vocabulary).run(request)?.single()?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContrastiveSearch {
    /// The weight of novelty, from 0 to 1.
    pub alpha: f32,
    /// The number of candidates, at least 1. Each takes a row of the cache.
    pub top_k: usize,
}

impl Default for ContrastiveSearch {
    /// 0.6 and 4, as in Su et al.
    fn default() -> Self {
        Self {
            alpha: 0.6,
            top_k: 4,
        }
    }
}

impl ContrastiveSearch {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ContrastError::OutOfRange`] for the first invalid field.
    pub fn validate(&self) -> Result<(), ContrastError> {
        Ok(check_ranges("contrastive_search", self)?)
    }

    /// Returns whether contrastive search honours options with an effect.
    pub(super) fn honours(&self, effect: Effect) -> bool {
        match effect {
            Effect::Request | Effect::Logits | Effect::Tokens | Effect::ForcedText => true,
            // After an overflow, the states of dropped tokens would continue to count.
            Effect::Draws | Effect::Feedback | Effect::Sequences | Effect::Overflow => false,
        }
    }
}
