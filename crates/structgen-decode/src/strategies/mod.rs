//! Decoding strategies: one module each, none of which sees a model, a cache or a clock.

pub(crate) mod beam;
pub(crate) mod choose;
pub(crate) mod contrast;
pub(crate) mod contrastive_search;
pub(crate) mod faithful;
pub(crate) mod logits;
pub(crate) mod sample;
pub(crate) mod speculate;
pub(crate) mod start;
mod writing;

pub use beam::{BeamError, BeamOptions, Distinct, EarlyStopping};
pub use choose::{AllLimits, ChoiceError, ChoiceProbability, ChoiceRequest, Choices};
pub use contrast::{ClassifierFreeGuidance, ContrastError, ContrastiveDecoding};
pub use contrastive_search::ContrastiveSearch;
pub use faithful::{
    AttemptCounts, ExpectedGrammaticality, FaithfulError, FaithfulOptions, ForcedEnd, Resampling,
    SmcEstimates, SmcOptions,
};
pub use logits::LogitsRequest;
pub use speculate::{DraftLength, PromptLookup, SourceStats, Speculation, SpeculationStats};
