//! The decoding loop: samplers over allowed tokens, stop conditions, streaming, and the language-model trait.
//!
//! - [`LanguageModel`] is what the loop needs of a model: logits, and a cache that can be cut, forked and reordered.
//!   [`MockModel`] implements it for tests. [`DraftHeads`] is what drafts by extra heads need.
//! - [`Constraint`] is what it needs of a constraint; a matcher implements it, and [`Unconstrained`] for free text.
//! - [`SamplerChain`] chooses among [`Candidates`], which are allowed tokens and nothing else.
//! - [`masked_argmax`] and [`masked_softmax`] read the allowed logits where the model left them.
//! - [`PrefixCache`] keeps what was run, for prompts that begin alike.
//! - [`ChatTemplate`] turns a conversation into a prompt.
//! - [`choose`] says how probable each of some texts is.
//! - [`Generator`] brings them together: prompt, steps, budget, stop conditions, streaming.

mod candidates;
mod chat;
pub mod choose;
mod confidence;
mod constraint;
mod events;
mod generate;
mod heads;
mod masked;
mod matcher;
mod mock;
mod model;
mod numeric;
mod prefix;
mod rng;
mod samplers;
mod wide;

pub use candidates::Candidates;
pub use chat::{ChatError, ChatMessage, ChatOptions, ChatTemplate};
pub use choose::{ChoiceProbability, ChooseError};
pub use confidence::{Confidence, ConfidenceError, FieldConfidence, Score, SpanScore};
pub use constraint::{AllowedTokens, Constraint, ConstraintError, PlainMask, Unconstrained};
pub use events::{
    EventError, EventStream, JsonEvents, JsonEventsOf, JsonKind, NotJson, OutputEvent, OutputPart,
};
pub use generate::{
    Alternative, BatchOutputs, BeamError, BeamOptions, BeamOutput, ClassifierFreeGuidance,
    ContextOverflow, ContrastError, ContrastiveDecoding, ContrastiveSearch, Delta, Distinct,
    DraftLength, EarlyStopping, ExpectedGrammaticality, FaithfulError, FaithfulOptions,
    FaithfulOutput, FaithfulSamples, FinishReason, ForcedEnd, GenerateError, GenerateOptions,
    GeneratedToken, Generation, GenerationStats, Generator, Incomplete, JumpForward, PromptLookup,
    Request, Resampling, SmcOptions, SmcSamples, SourceStats, Speculation, SpeculationStats,
    StopText, TextEncoder, TokenLogProbs,
};
pub use heads::DraftHeads;
pub use masked::{MaskedSoftmax, masked_argmax, masked_softmax};
pub use mock::{MockCache, MockEncoder, MockModel};
pub use model::{Forward, KeyValueCache, LanguageModel, Logits, ModelError, ModelInfo, ModelStats};
pub use prefix::{PrefixCache, PrefixStats};
pub use rng::SequenceRng;
pub use samplers::{
    Accepted, AdaptiveP, AdaptivePParams, BadWords, Dry, DryParams, DynamicTemperature,
    DynamicTemperatureParams, Epsilon, Eta, ForcedTokens, FrequencyPresencePenalty, LengthDecay,
    LengthDecayParams, LogitBias, MinLength, MinP, Mirostat, Mirostat2, MirostatParams,
    NoRepeatNGram, OrderPreset, PenaltyScope, RepetitionPenalty, Sampler, SamplerChain,
    SamplerKind, SamplingError, SamplingParams, SequenceStart, Suppress, TaskPreset, Temperature,
    TopH, TopK, TopNSigma, TopP, TypicalP, UnknownOrder, UnknownTask, Watermark, WatermarkDetector,
    WatermarkParams, WatermarkScore, Xtc, XtcParams,
};
