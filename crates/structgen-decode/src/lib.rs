//! Decoding: requests on a model, samplers over allowed tokens, strategies, stop conditions, streaming.
//!
//! A [`Request`] is what a caller asks for: a prompt, a constraint, [`GenerateOptions`] and a [`Strategy`]. An
//! [`Engine`] runs any number of them side by side and returns a [`Run`] for each; a [`Scheduler`] is the same without
//! threads. The names of every day are here, and the others in modules:
//!
//! | module | what is in it |
//! |---|---|
//! | [`request`] | what a request can set, what it returns and why it fails; [`params`] is the table of all of it |
//! | [`strategies`] | beams, speculation, guidance and contrast, faithful sampling, choices |
//! | [`samplers`] | the samplers of a chain, and the [candidates](samplers::Candidates) that they see: allowed tokens alone |
//! | [`engine`] | engines, schedulers, their limits |
//! | [`constraint`] | what decoding needs of a constraint; [`Unconstrained`] is free text |
//! | [`model`] | what decoding needs of a model: rows of a cache, and logits; [`MockModel`] is one for tests |
//! | [`events`] | an output as events of its JSON or its captures while it is written |
//! | [`confidence`] | how probable the fields of an output are |

mod candidates;
pub mod confidence;
pub mod constraint;
pub mod engine;
pub mod events;
mod masked;
mod matcher;
pub mod model;
mod numeric;
pub mod request;
mod rng;
pub mod samplers;
mod scheduler;
mod sequence;
pub mod strategies;
mod task;
mod wide;

pub use confidence::Confidence;
pub use constraint::{Constraint, Unconstrained};
pub use engine::{Engine, Event, Run, Scheduler, SchedulerLimits};
pub use model::{LanguageModel, MockModel, ModelError, ModelInfo};
pub use request::{
    Delta, FinishReason, GenerateError, GenerateOptions, GeneratedToken, Generation, Output,
    Outputs, Request, Strategy, params,
};
pub use samplers::SamplingParams;
