//! The options of guidance and contrastive decoding.

use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use crate::parameter::OutOfRange;
use crate::request::ids;

/// Classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"): amplifies the effect
/// of the prompt.
///
/// Let `c` and `u` be the log-softmax after the prompt and after another prompt, both followed by the output so far. A
/// token's score is `u + scale * (c - u)`. A scale of one gives `c`; a token without a finite logit after the other
/// prompt keeps its `c`.
///
/// The scores replace the logits of allowed tokens at the start of the sampler chain. Log probabilities are those after
/// the prompt, before guidance. Each step that is not forced runs two rows of the model.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::strategies::ClassifierFreeGuidance;
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let guidance = ClassifierFreeGuidance { scale: 2.5, prompt: vec![TokenId(2)] };
/// let request = Request::new([TokenId(0), TokenId(1)], free).with_options(options).with_strategy(guidance);
/// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
/// let output = scheduler.run(request)?.single()?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassifierFreeGuidance {
    /// The strength of the guidance.
    pub scale: f32,
    /// The other prompt: one without what the output should follow, or with what it should avoid. If empty, the
    /// prompt's last token is used.
    #[serde(with = "ids")]
    pub prompt: Vec<TokenId>,
}

impl Default for ClassifierFreeGuidance {
    /// A scale of 1.5, against the prompt's last token.
    fn default() -> Self {
        Self {
            scale: 1.5,
            prompt: Vec::new(),
        }
    }
}

/// Contrastive decoding (Li et al. 2022; O'Brien and Lewis 2023): tokens that a small model also finds probable count
/// for less.
///
/// Let `e` be the logits of the model, the expert, and `a` those of the scheduler's [draft
/// model](crate::Scheduler::with_draft), the amateur. A token's score is `(1 + beta) * e - beta * a` if its probability
/// under the expert is at least `alpha` times the largest; other tokens are dropped. The largest is taken over the
/// tokens that the constraint, the budget and all bans leave, wherever these are in the order of the samplers, so at
/// least one token is kept. A token without a finite logit of the amateur keeps its `e`.
///
/// The scores replace the logits at the start of the sampler chain. Log probabilities are the expert's. A text that
/// exceeds the amateur's context is an error.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::strategies::ContrastiveDecoding;
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let request = Request::new([TokenId(0), TokenId(1)], free)
///     .with_options(options)
///     .with_strategy(ContrastiveDecoding::default());
/// let [expert, amateur] = [1, 2].map(|seed| MockModel::new(4, 64, [TokenId(3)]).with_seed(seed));
/// let mut scheduler = Scheduler::new(expert, vocabulary.clone()).with_draft(amateur, &vocabulary)?;
/// let output = scheduler.run(request)?.single()?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContrastiveDecoding {
    /// The minimum probability of candidates, as a share of the expert's largest, from 0 to 1.
    pub alpha: f32,
    /// The weight of the amateur, at least 0.
    pub beta: f32,
}

impl Default for ContrastiveDecoding {
    /// 0.1 and 0.5, as in O'Brien and Lewis.
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 0.5,
        }
    }
}

/// Why two opinions, or the tokens of a contrastive search, cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContrastError {
    /// A number outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The text is too long for the amateur.
    #[error("the amateur's context does not hold a text of {tokens} tokens")]
    AmateurContext {
        /// Tokens of the prompt and the output so far.
        tokens: usize,
    },
}
