//! Decoding: requests on a model, samplers over allowed tokens, strategies, stop conditions, streaming.
//!
//! A [`Request`] consists of a prompt, a constraint, [`GenerateOptions`] and a [`Strategy`]. An [`Engine`] runs any
//! number of requests concurrently and returns a [`Run`] for each; a [`Scheduler`] does the same without threads.
//! Common names are at the top, and the others in modules:
//!
//! | module | contents |
//! |---|---|
//! | [`request`] | options, outputs and errors of requests; [`params`] is the table of all parameters |
//! | [`strategies`] | beams, speculation, guidance and contrast, faithful sampling, choices |
//! | [`samplers`] | the samplers of a chain, and the [candidates](samplers::Candidates) they work on: allowed tokens |
//! | [`engine`] | engines, schedulers, their limits |
//! | [`constraint`] | what decoding requires of a constraint; [`Unconstrained`] is free text |
//! | [`model`] | what decoding requires of a model: rows of a cache, and logits; [`MockModel`] is one for tests |
//! | [`events`] | the events of an output's JSON values or captures while it is generated |
//! | [`confidence`] | how probable the fields of an output are |

pub mod constraint;
pub mod events;
pub mod model;
mod numeric;
mod parameter;
mod rng;
mod temperature;

mod demand;
mod matcher;
mod wide;

mod masked;

mod candidates;

pub mod samplers;

pub mod request;

pub mod confidence;
mod sequence;

mod task;

pub mod strategies;

mod scheduler;

pub mod engine;

pub use confidence::Confidence;
pub use constraint::{Constraint, Unconstrained};
pub use engine::{Engine, Event, Run, Scheduler, SchedulerLimits};
pub use model::{LanguageModel, MockModel, ModelError, ModelInfo};
pub use request::{
    Delta, FinishReason, GenerateError, GenerateOptions, GeneratedToken, Generation, Output,
    Outputs, Request, Strategy, params,
};
pub use samplers::SamplingParams;
