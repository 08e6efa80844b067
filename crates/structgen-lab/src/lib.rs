//! Decoding, models and memory under a glass: measures, formulas, experiments and charts, without printing any of them.
//!
//! Each module answers one question, and its documentation has the formula:
//!
//! | module | question |
//! |---|---|
//! | [`distribution`] | how spread out is a distribution, and how far from another? |
//! | [`temperature`] | what does a temperature do, and which one suits a task? |
//! | [`step`] | what do mask and samplers leave of one step's logits? |
//! | [`compare`] | how far is what a sampler draws from what the model meant? |
//! | [`diversity`] | how different are outputs from one another? |
//! | [`heldout`] | how probable is a text that exists? |
//! | [`advise`] | what does an output show, and what should be changed? |
//! | [`agreement`] | how far do two models agree about the next token? |
//! | [`memory`] | does a model fit into a device's memory, with its cache? |
//! | [`quantize`] | how much do weights lose when they are stored in a few bits? |
//! | [`chart`] | pictures of all of that, as SVG and PNG |
//!
//! What repeats in an output is measured by [`structgen_decode::samplers::Repetition`], which a sampler works with as
//! well. Numbers are `f64` and logarithms natural, so entropies and divergences are in nats.

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
