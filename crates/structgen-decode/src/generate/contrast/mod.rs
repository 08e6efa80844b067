//! Two opinions about every token: an expert and an amateur, or one model behind two prompts.

mod error;
mod pair;

pub use error::ContrastError;
pub(super) use error::check;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use structgen_vocab::{TokenId, Vocabulary};

use super::sequence::{Next, Sequence};
use super::speculate::{Cached, DraftModel, Run};
use super::{ContextOverflow, Delta, GenerateError, GenerateOptions, Generation, Generator};
use crate::{Constraint, Forward, LanguageModel, Sampler};
use pair::{Contrast, Pair, Plausible, Rule, Shared};

/// Classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"): what the prompt changes is made stronger.
///
/// With `c` and `u` the log-softmax behind the prompt and behind another one, both with the output so far, a token's score is
/// `u + scale * (c - u)`. A scale of one leaves `c`; a token of which the other has no finite logit keeps its `c`.
///
/// The scores take the place of logits at the beginning of the sampler chain, among the tokens that the constraint allows.
///
/// ```
/// use structgen_decode::{ClassifierFreeGuidance, GenerateOptions, Generator, MockModel, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let mut model = MockModel::new(4, 64, [TokenId(3)]);
/// let mut free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let guidance = ClassifierFreeGuidance::new(1.5).with_prompt([TokenId(2)]);
/// let output = Generator::new(&mut model, &vocabulary)
///     .generate_guided(&[TokenId(0), TokenId(1)], &mut free, &options, &guidance)?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ClassifierFreeGuidance {
    scale: f32,
    prompt: Vec<TokenId>,
}

impl ClassifierFreeGuidance {
    /// Guidance of this strength, against what the model says behind the last token of the prompt alone.
    #[must_use]
    pub fn new(scale: f32) -> Self {
        Self {
            scale,
            prompt: Vec::new(),
        }
    }

    /// The other prompt: one without what the output is to follow, or with what it is to avoid. An empty one is the prompt's last token.
    #[must_use]
    pub fn with_prompt(mut self, prompt: impl IntoIterator<Item = TokenId>) -> Self {
        self.prompt = prompt.into_iter().collect();
        self
    }
}

/// Contrastive decoding (Li et al. 2022; O'Brien and Lewis 2023): what a small model likes as well counts for less.
///
/// With `e` the logits of the generator's model, the expert, and `a` those of the amateur, a token's score is `(1 + beta) * e - beta * a`,
/// for tokens of which the expert's probability is at least `alpha` times the largest; others are left out. The
/// largest is that among the tokens which the constraint, the budget and the bans at the beginning of the sampler chain leave: so
/// there always is one. A token of which the amateur has no finite logit keeps its `e`.
///
/// The scores take the place of logits at the beginning of the sampler chain.
pub struct ContrastiveDecoding<'d> {
    amateur: DraftModel<'d>,
    alpha: f32,
    beta: f32,
}

impl fmt::Debug for ContrastiveDecoding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContrastiveDecoding")
            .field("alpha", &self.alpha)
            .field("beta", &self.beta)
            .finish_non_exhaustive()
    }
}

impl<'d> ContrastiveDecoding<'d> {
    /// Contrast with an amateur whose ids mean what the expert's mean. `alpha` is 0.1 and `beta` 0.5, as O'Brien and Lewis have them.
    ///
    /// The amateur's cache is kept from one generation to the next, for what the prompts begin with in common.
    #[must_use]
    pub fn new<M: LanguageModel>(amateur: &'d mut M, vocabulary: Arc<Vocabulary>) -> Self {
        Self {
            amateur: DraftModel {
                logits: Box::new(Cached::new(amateur)),
                vocabulary,
            },
            alpha: 0.1,
            beta: 0.5,
        }
    }

    /// Sets from which share of the expert's largest probability on tokens are looked at, from 0 to 1.
    #[must_use]
    pub fn with_alpha(mut self, alpha: f32) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets how much the amateur counts, from 0 on.
    #[must_use]
    pub fn with_beta(mut self, beta: f32) -> Self {
        self.beta = beta;
        self
    }
}

impl<M: LanguageModel> Generator<'_, M> {
    /// Generates one sequence with [`ClassifierFreeGuidance`]. Log probabilities are those behind the prompt, before guidance.
    ///
    /// Each step that is not forced takes two runs of the model.
    ///
    /// # Errors
    /// As [`generate`](Generator::generate), and [`GenerateError::Contrast`].
    pub fn generate_guided<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        guidance: &ClassifierFreeGuidance,
    ) -> Result<Generation, GenerateError> {
        self.stream_guided(prompt, constraint, options, guidance, |_| {
            ControlFlow::Continue(())
        })
    }

    /// [`generate_guided`](Generator::generate_guided), and hands out the text as it comes.
    ///
    /// # Errors
    /// As [`generate_guided`](Generator::generate_guided).
    pub fn stream_guided<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        guidance: &ClassifierFreeGuidance,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        let scale = guidance.scale;
        error::check("scale", scale, scale.is_finite(), "finite")?;
        // The last token of the prompt, as transformers has it.
        let other = match guidance.prompt.is_empty() {
            true => prompt.last().copied().into_iter().collect(),
            false => guidance.prompt.clone(),
        };
        let beside = Beside::OtherPrompt {
            cache: self.model.new_cache(&[0])?,
            prompt: other,
            seen: 0,
        };
        self.contrast(
            prompt,
            constraint,
            options,
            beside,
            Rule::Guidance { scale },
            on_delta,
        )
    }

    /// Generates one sequence by [`ContrastiveDecoding`]. Log probabilities are the expert's.
    ///
    /// # Errors
    /// As [`generate`](Generator::generate); [`GenerateError::Contrast`]; and [`GenerateError::DraftVocabulary`] when the ids of
    /// expert and amateur do not mean the same.
    pub fn generate_contrastive<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        contrast: &mut ContrastiveDecoding<'_>,
    ) -> Result<Generation, GenerateError> {
        self.stream_contrastive(prompt, constraint, options, contrast, |_| {
            ControlFlow::Continue(())
        })
    }

    /// [`generate_contrastive`](Generator::generate_contrastive), and hands out the text as it comes.
    ///
    /// # Errors
    /// As [`generate_contrastive`](Generator::generate_contrastive).
    pub fn stream_contrastive<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        contrast: &mut ContrastiveDecoding<'_>,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        let (alpha, beta) = (contrast.alpha, contrast.beta);
        let is_share = (0.0..=1.0).contains(&alpha);
        error::check("alpha", alpha, is_share, "from 0 to 1")?;
        let is_weight = beta.is_finite() && beta >= 0.0;
        error::check("beta", beta, is_weight, "0 or more")?;
        contrast.amateur.check(self.vocabulary)?;
        let beside = Beside::Amateur(&mut contrast.amateur);
        let rule = Rule::Contrastive { alpha, beta };
        self.contrast(prompt, constraint, options, beside, rule, on_delta)
    }

    fn contrast<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        mut beside: Beside<'_, '_, M>,
        rule: Rule,
        mut on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        let words = self.words();
        // Two texts of different lengths would have to be cut alike.
        let options = &GenerateOptions {
            overflow: ContextOverflow::Error,
            ..options.clone()
        };
        let info = self.model.info();
        let mut sequence = Sequence::start(prompt, constraint, options, 0, info, words)?;
        let shared = Shared::default();
        let plausible = rule.alpha().map(|alpha| Plausible::new(&shared, alpha));
        let plausible = plausible.map(|sampler| Box::new(sampler) as Box<dyn Sampler>);
        let contrast = Box::new(Contrast::new(&shared, rule));
        sequence.chain.contrast(contrast, plausible);
        let mut next = sequence.begin(words, &mut on_delta)?;
        let mut run = Run::new(self)?;
        let mut pair = Arc::<Pair>::default();
        let reason = loop {
            let mask = match next {
                Next::Ended(reason) => break reason,
                Next::Logits(mask) => mask,
            };
            shared.clear();
            let now = Arc::make_mut(&mut pair);
            run.see_all(&mut sequence, &mut now.own)?;
            let output = &sequence.all()[prompt.len()..];
            beside.see(run.generator, sequence.all(), output, &mut now.other)?;
            now.set_totals();
            shared.set(&pair);
            let step = &mut run.generator.step;
            let mask = mask.map(Ok);
            next = sequence.choose(&pair.own, mask, step, words, &mut on_delta)?;
        };
        run.see_rest(&mut sequence)?;
        sequence.finish(reason, words, &mut on_delta)
    }
}

/// Whose logits are put beside the model's own.
enum Beside<'b, 'd, M: LanguageModel> {
    Amateur(&'b mut DraftModel<'d>),
    /// The same model's, behind another prompt and the output.
    OtherPrompt {
        cache: M::Cache,
        prompt: Vec<TokenId>,
        /// How many tokens of prompt and output the cache has.
        seen: usize,
    },
}

impl<M: LanguageModel> Beside<'_, '_, M> {
    /// The logits of what comes behind all tokens, or behind the other prompt and the output.
    fn see(
        &mut self,
        generator: &mut Generator<'_, M>,
        all: &[TokenId],
        output: &[TokenId],
        logits: &mut Vec<f32>,
    ) -> Result<(), GenerateError> {
        logits.clear();
        match self {
            Self::Amateur(amateur) => {
                let found = amateur.logits.behind(all)?;
                let tokens = all.len();
                logits.extend_from_slice(found.ok_or(ContrastError::AmateurContext { tokens })?);
            }
            Self::OtherPrompt {
                cache,
                prompt,
                seen,
            } => {
                let tokens = prompt.iter().chain(output).skip(*seen);
                let tokens: Vec<TokenId> = tokens.copied().collect();
                for piece in tokens.chunks(generator.prefill_chunk) {
                    let found = generator.model.forward(Forward::last(piece), cache)?;
                    logits.clear();
                    logits.extend_from_slice(found.row(0, 0));
                }
                *seen += tokens.len();
            }
        }
        Ok(())
    }
}
