//! From a prompt to a complete output: prefill, steps, and what ends them.

mod batch;
mod beam;
mod contrast;
mod contrastive_search;
mod encoder;
mod error;
mod faithful;
mod jump;
mod masks;
mod options;
mod result;
mod sequence;
mod speculate;
mod step;
mod stop;
mod text;

pub use batch::{BatchOutputs, Request};
pub use beam::{BeamError, BeamOptions, BeamOutput, Distinct, EarlyStopping};
pub use contrast::{ClassifierFreeGuidance, ContrastError, ContrastiveDecoding};
pub use contrastive_search::ContrastiveSearch;
pub use encoder::TextEncoder;
pub use error::{GenerateError, Incomplete};
pub use faithful::{
    ExpectedGrammaticality, FaithfulError, FaithfulOptions, FaithfulOutput, FaithfulSamples,
    ForcedEnd, Resampling, SmcOptions, SmcSamples,
};
pub use options::{ContextOverflow, GenerateOptions, JumpForward, StopText};
pub use result::{
    Alternative, FinishReason, GeneratedToken, Generation, GenerationStats, TokenLogProbs,
};
pub use speculate::{DraftLength, PromptLookup, SourceStats, Speculation, SpeculationStats};

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use structgen_vocab::{TokenId, Vocabulary};

use crate::{Constraint, LanguageModel, PrefixCache};
use jump::Words;
use step::Step;

/// Generates sequences with one model and one vocabulary.
///
/// The order of force in each step: the constraint's mask, then the budget (no token after which the output could not
/// be completed in time), then bans, then the samplers. Where the constraint leaves one token, it is taken without
/// asking the model, and goes to the model together with what follows.
///
/// ```
/// use structgen_decode::{FinishReason, GenerateOptions, Generator, MockModel, Unconstrained};
/// use structgen_vocab::{TokenId, TokenMask, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let mut model = MockModel::new(4, 64, [TokenId(3)]);
/// let mut constraint = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let output = Generator::new(&mut model, &vocabulary)
///     .generate(&[TokenId(0)], &mut constraint, &options)?;
/// assert!(output.tokens.len() <= 5);
/// assert!(matches!(output.finish, FinishReason::Eos(_) | FinishReason::MaxTokens));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Generator<'a, M: LanguageModel> {
    model: &'a mut M,
    vocabulary: &'a Vocabulary,
    encoder: Option<&'a dyn TextEncoder>,
    step: Step,
    prefill_chunk: usize,
    prefixes: Option<&'a mut PrefixCache<M::Cache>>,
}

impl<M: LanguageModel> std::fmt::Debug for Generator<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator")
            .field("encoder", &self.encoder.is_some())
            .field("prefill_chunk", &self.prefill_chunk)
            .finish_non_exhaustive()
    }
}

/// A piece of the output, as it comes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// Text that is certain to stay, at character borders. It may be empty, when a token ends inside a character.
    pub text: &'a str,
    /// Tokens generated so far.
    pub tokens: usize,
    /// These tokens, with what is known of them by now.
    pub generated: &'a [GeneratedToken],
    /// The tokens of the whole output so far: the prefill, and what was generated.
    pub output: &'a [TokenId],
}

impl<'a, M: LanguageModel> Generator<'a, M> {
    /// A generator over a model whose logits are indexed by the ids of `vocabulary`.
    pub fn new(model: &'a mut M, vocabulary: &'a Vocabulary) -> Self {
        Self {
            model,
            vocabulary,
            encoder: None,
            step: Step::default(),
            prefill_chunk: usize::MAX,
            prefixes: None,
        }
    }

    /// The same generator with a tokenizer, which writes forced text in tokens: for drafts of it, and for
    /// [`JumpForward::Canonical`].
    #[must_use]
    pub fn with_encoder(mut self, encoder: &'a dyn TextEncoder) -> Self {
        self.encoder = Some(encoder);
        self
    }

    /// The same generator, which runs a prompt in pieces of at most so many tokens. That bounds what one run of the model takes in memory,
    /// and changes nothing else.
    #[must_use]
    pub fn with_prefill_chunk(mut self, most: NonZeroUsize) -> Self {
        self.prefill_chunk = most.get();
        self
    }

    /// The same generator, which begins where a prompt parts from what the model has run before, and leaves what it runs. All runs of one prompt have that: single outputs, drafted ones, several sequences
    /// behind one prompt. Batches of different prompts and beam search do without. Results differ at most by what the backend's logits differ when a text is cut into runs.
    #[must_use]
    pub fn with_prefix_cache(mut self, prefixes: &'a mut PrefixCache<M::Cache>) -> Self {
        self.prefixes = Some(prefixes);
        self
    }

    fn words(&self) -> Words<'a> {
        Words {
            vocabulary: self.vocabulary,
            encoder: self.encoder,
        }
    }

    /// Generates one sequence behind `prompt`. The constraint stands where the output begins, and is advanced.
    ///
    /// # Errors
    /// [`GenerateError`]. An output that was cut before it was complete is an error, too:
    /// [`GenerateError::Incomplete`] carries what there is.
    pub fn generate<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
    ) -> Result<Generation, GenerateError> {
        self.stream(prompt, constraint, options, |_| ControlFlow::Continue(()))
    }

    /// Generates one sequence and hands out its text as it comes.
    ///
    /// `on_delta` is called after each token, forced ones included, and may end the output. The texts handed out join
    /// to [`Generation::text`].
    ///
    /// # Errors
    /// As [`generate`](Generator::generate).
    pub fn stream<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        let mut on_delta = on_delta;
        let request = Request::new(prompt, constraint, options);
        let outputs = self.stream_batch(vec![request], |_, delta| on_delta(delta))?;
        // One request has one output.
        outputs
            .into_iter()
            .next()
            .unwrap_or(Err(GenerateError::EmptyPrompt))
    }
}

#[cfg(test)]
mod tests;
