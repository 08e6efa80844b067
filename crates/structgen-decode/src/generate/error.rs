use structgen_vocab::TokenId;

use crate::{
    BeamError, ConstraintError, ContrastError, FaithfulError, FinishReason, Generation, ModelError,
    SamplingError,
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
    Beams(BeamError),
    /// A faithful sampler has no sample, or not all of it.
    #[error(transparent)]
    Faithful(FaithfulError),
    /// Two opinions about tokens cannot be contrasted.
    #[error(transparent)]
    Contrast(ContrastError),
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
    /// The tokens to keep when others are left out fill the context.
    #[error(
        "{keep} tokens are to be kept at the beginning, and the model's context of {context_length} has no room behind them; keep at most {}",
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
    #[error("token {index} of the prefill does not fit the constraint")]
    Prefill {
        /// Its place in the prefill, from zero.
        index: usize,
        /// What the constraint says.
        #[source]
        source: ConstraintError,
    },
    /// Forced text is to be written in tokens, and nothing is there to do it.
    #[error(
        "forced text is asked for, and the generator has no tokenizer: give it one by with_encoder"
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
    /// Heads were trained on another model's hidden states.
    #[error("the heads take hidden states of {heads} numbers, and the model's have {model}")]
    HeadsWidth {
        /// What the heads take.
        heads: usize,
        /// What the model gives out.
        model: usize,
    },
    /// The constraint failed, usually by exceeding a limit.
    #[error("the constraint failed at step {step}")]
    Constraint {
        /// Tokens generated before.
        step: usize,
        /// What the constraint says.
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
    /// The beginning of an output. Its [`finish`](Generation::finish) says what cut it.
    pub partial: Generation,
}

impl Incomplete {
    /// What cut the output.
    pub fn reason(&self) -> &FinishReason {
        &self.partial.finish
    }
}
