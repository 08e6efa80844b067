//! Decoding: requests on a model, samplers over allowed tokens, strategies, stop conditions, streaming.
//!
//! - [`LanguageModel`] is what decoding needs of a model: rows of a cache, and logits. [`MockModel`] implements it for tests.
//! - [`Constraint`] is what it needs of a constraint; a matcher implements it, and [`Unconstrained`] for free text.
//! - [`Request`] is what a caller asks for: a prompt, a constraint, [`GenerateOptions`] and a [`Strategy`].
//! - [`Scheduler`] runs any number of requests side by side on one model; [`Engine`] is a handle to schedulers on threads of their own.
//! - [`SamplerChain`] chooses among [`Candidates`], which are allowed tokens and nothing else.

mod candidates;
mod chat;
mod confidence;
mod constraint;
mod engine;
mod events;
mod masked;
mod matcher;
mod model;
mod numeric;
mod request;
mod rng;
mod samplers;
mod scheduler;
mod sequence;
mod strategies;
mod task;
mod wide;

pub use candidates::Candidates;
pub use chat::{ChatError, ChatMessage, ChatOptions, ChatTemplate};
pub use confidence::{Confidence, ConfidenceError, FieldConfidence, Score, SpanScore};
pub use constraint::{AllowedTokens, Constraint, ConstraintError, PlainMask, Unconstrained};
pub use engine::{Engine, Event, Run};
pub use events::{
    EventError, EventStream, JsonEvents, JsonEventsOf, JsonKind, NotJson, OutputEvent, OutputPart,
};
pub use masked::{MaskedSoftmax, masked_argmax, masked_softmax};
pub use model::{
    DraftHeads, LanguageModel, MockEncoder, MockModel, ModelError, ModelInfo, ModelStats, Packing,
    RowId, RowOutput, RowRun, RunOutput, check_run,
};
pub use request::{
    Alternative, ContextOverflow, Delta, FinishReason, GenerateError, GenerateOptions,
    GeneratedToken, Generation, GenerationStats, Incomplete, JumpForward, Output, Outputs, Params,
    Report, Request, StopText, Strategy, TextEncoder, TokenLogProbs,
};
/// The table of parameters.
pub mod params {
    pub use crate::request::{
        NumberAt, PARAMETERS, Parameter, ParameterError, ParameterKind, Place, Range,
        find_parameters, set_parameter,
    };
}
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
pub use scheduler::{OnDelta, PrefixStats, Scheduler, SchedulerLimits, Submit, Ticket};
pub use strategies::choose::{AllLimits, ChoiceError, ChoiceProbability, ChoiceRequest, Choices};
pub use strategies::faithful::{
    AttemptCounts, ExpectedGrammaticality, FaithfulError, FaithfulOptions, ForcedEnd, Resampling,
    SmcEstimates, SmcOptions,
};
pub use strategies::{
    BeamError, BeamOptions, ClassifierFreeGuidance, ContrastError, ContrastiveDecoding,
    ContrastiveSearch, Distinct, DraftLength, EarlyStopping, PromptLookup, SourceStats,
    Speculation, SpeculationStats,
};
