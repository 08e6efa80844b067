use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use crate::request::ids;

/// Classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"): what the prompt
/// changes is made stronger.
///
/// With `c` and `u` the log-softmax after the prompt and after another one, both followed by the output so far, a
/// token's score is `u + scale * (c - u)`. A scale of one leaves `c`; a token of which the other has no finite logit
/// keeps its `c`.
///
/// The scores take the place of logits at the beginning of the sampler chain, among the tokens that the constraint
/// allows. Log probabilities are those after the prompt, before guidance. Each step that is not forced runs two rows of
/// the model.
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
    /// How strong the guidance is.
    pub scale: f32,
    /// The other prompt: one without what the output is to follow, or with what it is to avoid. An empty one is the
    /// prompt's last token.
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

/// Contrastive decoding (Li et al. 2022; O'Brien and Lewis 2023): what a small model likes as well counts for less.
///
/// With `e` the logits of the model, the expert, and `a` those of the scheduler's [draft
/// model](crate::Scheduler::with_draft), the amateur, a token's score is `(1 + beta) * e - beta * a`, for tokens of
/// which the expert's probability is at least `alpha` times the largest; others are left out. The largest is that among
/// the tokens which the constraint, the budget and the bans at the beginning of the sampler chain leave: so there
/// always is one. A token of which the amateur has no finite logit keeps its `e`.
///
/// The scores take the place of logits at the beginning of the sampler chain. Log probabilities are the expert's. A
/// text that the amateur's context does not hold is an error.
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
    /// From which share of the expert's largest probability on tokens are looked at, from 0 to 1.
    pub alpha: f32,
    /// How much the amateur counts, from 0 on.
    pub beta: f32,
}

impl Default for ContrastiveDecoding {
    /// 0.1 and 0.5, as O'Brien and Lewis have them.
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 0.5,
        }
    }
}
