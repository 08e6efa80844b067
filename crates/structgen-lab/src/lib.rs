//! Tools to inspect decoding, models and memory: metrics, formulas, experiments and charts. Nothing is printed.
//!
//! Each module answers one question, and documents its formulas:
//!
//! | module | question |
//! |---|---|
//! | [`distribution`] | how spread out is a distribution, and how far is it from another? |
//! | [`temperature`] | what does a temperature do, and which one suits a task? |
//! | [`step`] | which logits of a step do mask and samplers keep? |
//! | [`compare`] | how far are a sampler's draws from the model's distribution? |
//! | [`diversity`] | how different are outputs from one another? |
//! | [`heldout`] | how probable is an existing text? |
//! | [`advise`] | what is wrong with an output, and what should be changed? |
//! | [`agreement`] | how far do two models agree on the next token? |
//! | [`memory`] | does a model with its cache fit into a device's memory? |
//! | [`quantize`] | how much precision do weights lose in a few bits? |
//! | [`chart`] | charts of all of this, as SVG and PNG |
//!
//! [`structgen_decode::samplers::Repetition`] measures the repetition in an output, since a sampler uses it as well.
//! Numbers are `f64` and logarithms natural, so entropies and divergences are in nats.

pub mod advise;
pub mod agreement;
pub mod chart;
pub mod compare;
pub mod distribution;
pub mod diversity;
pub mod heldout;
pub mod memory;
pub mod quantize;
pub mod step;
pub mod temperature;

pub use distribution::{Distribution, NamedDistribution, NoDistribution};
