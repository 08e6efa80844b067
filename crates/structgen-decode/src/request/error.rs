use structgen_vocab::TokenId;

use crate::{
    FinishReason, Generation, ModelError,
    constraint::ConstraintError,
    samplers::SamplingError,
    strategies::{BeamError, ChoiceError, ContrastError, FaithfulError},
};

/// Why there is no complete output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A sampling parameter makes no sense.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// An option of beam search makes no sense.
    #[error(transparent)]
    Beams(#[from] BeamError),
    /// Two opinions cannot be contrasted, or a token with the text so far.
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
    /// A request for no output has none.
    #[error("the request has no output")]
    NoOutput,
    /// A stop string is empty, and would end every output at once.
    #[error("stop string number {index} is empty")]
    EmptyStopString {
        /// Its place in the list, from zero.
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
        /// Tokens of the prompt, the prefill included.
        prompt: usize,
        /// New tokens asked for, one where no number was given.
        new: usize,
        /// Positions that the model has.
        context_length: usize,
    },
    /// The prompt of an encoder-decoder has the token that starts its output.
    #[error("the prompt has the token {}, which starts the output of this encoder-decoder and cannot be in its input", start.0)]
    OutputStartInPrompt {
        /// The token.
        start: TokenId,
    },
    /// The tokens to keep when others are left out fill the context.
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
    /// The constraint needs more tokens than there may be. Nothing was generated.
    #[error(
        "the output needs up to {needed} tokens to be complete, and {available} are allowed; raise the number of new \
         tokens to {needed}"
    )]
    BudgetTooSmall {
        /// Tokens of a completion that is known.
        needed: u64,
        /// Tokens allowed: `max_new_tokens`, or what the context leaves.
        available: usize,
    },
    /// The constraint refuses a token of the prefill.
    #[error("token {index} of the prefill does not match the constraint")]
    Prefill {
        /// Its place in the prefill, from zero.
        index: usize,
        /// The constraint's error.
        #[source]
        source: ConstraintError,
    },
    /// Forced text is to be written in tokens, and nothing is there to do it.
    #[error(
        "forced text is asked for, and the scheduler has no tokenizer: give it one by with_encoder"
    )]
    NoEncoder,
    /// The ids of the draft model do not mean what those of the target mean.
    #[error(
        "the draft model has another vocabulary: token {} is {target} for the target and {draft} for the draft",
        token.0
    )]
    DraftVocabulary {
        /// The first token that differs.
        token: TokenId,
        /// What it is for the target.
        target: String,
        /// What it is for the draft.
        draft: String,
    },
    /// The strategy takes a second model, and there is none.
    #[error("the strategy {strategy} needs a draft model: give the scheduler one by with_draft")]
    NoDraft {
        /// The strategy.
        strategy: &'static str,
    },
    /// Drafts are to come from extra heads, and there are none.
    #[error(
        "drafts are to come from extra heads, and there are none: give the scheduler heads by with_heads"
    )]
    NoHeads,
    /// Heads were trained on another model's hidden states.
    #[error("the heads take hidden states of {heads} numbers, and the model's have {model}")]
    HeadsWidth {
        /// What the heads take.
        heads: usize,
        /// The end that the model returns.
        model: usize,
    },
    /// An engine has no scheduler, or the system started no thread for one.
    #[error("the engine has no worker: it needs a scheduler, and a thread to run it on")]
    NoWorker,
    /// The worker that ran the request has stopped.
    #[error("the worker that ran the request has stopped before it ended")]
    Stopped,
    /// Too many requests wait.
    #[error("the queue is full: {limit} outputs are waiting; try again later")]
    QueueFull {
        /// The most that may wait.
        limit: usize,
    },
    /// The request may need more memory than there is for all requests.
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
        /// Tokens generated before.
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
        /// Tokens generated before.
        step: usize,
        /// How many tokens are allowed.
        allowed: usize,
    },
    /// The constraint allows no token, though it is not finished.
    #[error("at step {step} no token is allowed and the output is not complete")]
    DeadEnd {
        /// Tokens generated before.
        step: usize,
    },
    /// A faithful sampler has no sample, or not all of it.
    #[error(transparent)]
    Faithful(#[from] FaithfulError),
    /// There are no probabilities of the choices.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The output was cut before its structure was complete.
    #[error(transparent)]
    Incomplete(Box<Incomplete>),
}

/// An output that was cut before its structure was complete, with what there is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the output was cut after {} tokens ({}) before it was complete",
    partial.tokens.len(),
    partial.finish
)]
pub struct Incomplete {
    /// The beginning of an output. Its [`finish`](Generation::finish) is what cut it.
    pub partial: Generation,
}

impl Incomplete {
    /// What cut the output.
    pub fn reason(&self) -> &FinishReason {
        &self.partial.finish
    }
}
