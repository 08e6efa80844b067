use structgen_vocab::TokenId;

use super::choice::ChoiceError;
use super::strategy::{BeamError, ContrastError, FaithfulError};
use crate::{
    FinishReason, Generation, ModelError, constraint::ConstraintError, samplers::SamplingError,
};

/// Why a request has no complete output.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A sampling parameter makes no sense.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// An option of beam search makes no sense.
    #[error(transparent)]
    Beams(#[from] BeamError),
    /// The two opinions to contrast cannot be compared, or a contrastive search cannot compare its tokens.
    #[error(transparent)]
    Contrast(#[from] ContrastError),
    /// An option is set that the strategy does not honour.
    #[error(
        "the strategy {strategy} does not honour {option}, which is {value}; leave it out, or choose another strategy"
    )]
    NotHonoured {
        /// The strategy.
        strategy: &'static str,
        /// The option, by its path in [`GenerateOptions`](crate::GenerateOptions).
        option: String,
        /// Its value in JSON.
        value: String,
    },
    /// A request for zero outputs has none to return.
    #[error("the request has no output")]
    NoOutput,
    /// A stop string is empty, so it would end every output at once.
    #[error("stop string number {index} is empty")]
    EmptyStopString {
        /// Its index in the list, from zero.
        index: usize,
    },
    /// There is no token to run the model on.
    #[error("the prompt is empty: the model needs at least one token, such as its start token")]
    EmptyPrompt,
    /// Prompt and new tokens do not fit the model.
    #[error(
        "a prompt of {prompt} tokens and {new} new tokens do not fit the model's context of {context_length}; shorten \
         the prompt or lower the number of new tokens"
    )]
    ContextOverflow {
        /// Tokens of the prompt, including the prefill.
        prompt: usize,
        /// New tokens requested, or one if no number was given.
        new: usize,
        /// Positions that the model has.
        context_length: usize,
    },
    /// A prompt does not fit the model, by the length of its text. It was not encoded.
    #[error(
        "a prompt of at least {least} tokens does not fit the model's context of {context_length}; shorten the prompt"
    )]
    PromptTooLong {
        /// Tokens that the prompt has at least.
        least: usize,
        /// Positions that the model has.
        context_length: usize,
    },
    /// The prompt of an encoder-decoder contains the token that starts its output.
    #[error("the prompt has the token {}, which starts the output of this encoder-decoder and cannot be in its input", start.0)]
    OutputStartInPrompt {
        /// The token.
        start: TokenId,
    },
    /// The tokens to keep when the context overflows would already fill it.
    #[error(
        "{keep} tokens are to be kept at the beginning, and the model's context of {context_length} has no room after them; keep at most {}",
        context_length.saturating_sub(2)
    )]
    CropKeepsAll {
        /// Tokens to keep.
        keep: usize,
        /// Positions that the model has.
        context_length: usize,
    },
    /// The text of an encoder-decoder cannot be cropped: its first part is the encoder's input.
    #[error(
        "the text of an encoder-decoder cannot be cropped; leave the context overflow out, and ask for at most \
         {longest} new tokens"
    )]
    CropWithEncoder {
        /// The maximum number of tokens of an output.
        longest: usize,
    },
    /// The constraint needs more tokens than are allowed. Nothing was generated.
    #[error(
        "the output needs up to {needed} tokens to be complete, and {available} are allowed; raise the number of new \
         tokens to {needed}"
    )]
    BudgetTooSmall {
        /// Tokens of a known completion.
        needed: u64,
        /// Tokens allowed: `max_new_tokens`, or the rest of the context.
        available: usize,
    },
    /// The constraint refuses a token of the prefill.
    #[error("token {index} of the prefill does not match the constraint")]
    Prefill {
        /// Its index in the prefill, from zero.
        index: usize,
        /// The constraint's error.
        #[source]
        source: ConstraintError,
    },
    /// Forced text is to be tokenised, but there is no tokenizer.
    #[error(
        "forced text is asked for, and the scheduler has no tokenizer: give it one by with_encoder"
    )]
    NoEncoder,
    /// The token ids of the draft model have other meanings than those of the target.
    #[error(
        "the draft model has another vocabulary: token {} is {target} for the target and {draft} for the draft",
        token.0
    )]
    DraftVocabulary {
        /// The first token that differs.
        token: TokenId,
        /// Its meaning for the target.
        target: String,
        /// Its meaning for the draft model.
        draft: String,
    },
    /// The strategy needs a second model, and there is none.
    #[error("the strategy {strategy} needs a draft model: give the scheduler one by with_draft")]
    NoDraft {
        /// The strategy.
        strategy: &'static str,
    },
    /// The strategy drafts with extra heads, and there are none.
    #[error(
        "drafts are to come from extra heads, and there are none: give the scheduler heads by with_heads"
    )]
    NoHeads,
    /// The heads were trained on another model's hidden states.
    #[error("the heads take hidden states of {heads} numbers, and the model's have {model}")]
    HeadsWidth {
        /// The width of the heads.
        heads: usize,
        /// The width that the model returns.
        model: usize,
    },
    /// An engine has no scheduler, or the system could not start a thread for one.
    #[error("the engine has no worker: it needs a scheduler, and a thread to run it on")]
    NoWorker,
    /// The worker that ran the request has stopped.
    #[error("the worker that ran the request has stopped before it ended")]
    Stopped,
    /// Too many requests are queued.
    #[error("the queue is full: {limit} outputs are waiting; try again later")]
    QueueFull {
        /// The maximum length of the queue.
        limit: usize,
    },
    /// The request may need more memory than all requests together may use.
    #[error(
        "the request may need {needed} bytes of cache, and the limit is {limit}; shorten the prompt, lower the number of new \
         tokens, or ask for fewer rows"
    )]
    CacheLimit {
        /// The bytes that it may need.
        needed: usize,
        /// The limit for all requests.
        limit: usize,
    },
    /// The constraint failed, usually by exceeding a limit.
    #[error("the constraint failed at step {step}")]
    Constraint {
        /// The number of tokens generated before.
        step: usize,
        /// The constraint's error.
        #[source]
        source: ConstraintError,
    },
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No allowed token has a logit that is a number above minus infinity.
    #[error(
        "at step {step} the logits of all {allowed} allowed tokens are NaN or -inf: the model is broken"
    )]
    NoFiniteLogit {
        /// The number of tokens generated before.
        step: usize,
        /// The number of allowed tokens.
        allowed: usize,
    },
    /// The constraint allows no token, though it is not finished.
    #[error("at step {step} no token is allowed and the output is not complete")]
    DeadEnd {
        /// The number of tokens generated before.
        step: usize,
    },
    /// A faithful sampler has no samples, or too few.
    #[error(transparent)]
    Faithful(#[from] FaithfulError),
    /// The probabilities of choices cannot be computed.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The output was cut before its structure was complete.
    #[error(transparent)]
    Incomplete(Box<Incomplete>),
}

structgen_sentence::debug_as_sentence!(GenerateError);

/// An output that was cut before its structure was complete, with its beginning.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the output was cut after {} tokens ({}) before it was complete",
    partial.tokens.len(),
    partial.finish
)]
pub struct Incomplete {
    /// The beginning of the output. Its [`finish`](Generation::finish) is the reason it was cut.
    pub partial: Generation,
}

impl Incomplete {
    /// Returns what cut the output.
    pub fn reason(&self) -> &FinishReason {
        &self.partial.finish
    }
}
