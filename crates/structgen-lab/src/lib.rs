//! Decoding, models and memory under a glass: measures, formulas, experiments and charts, without printing any of them.
//!
//! Each module answers one question, and its documentation has the formula:
//!
//! | module | question |
//! |---|---|
//! | [`memory`] | does a model fit into a device's memory, with its cache? |
//! | [`quantize`] | how much do weights lose when they are stored in a few bits? |
//!
//! Numbers are `f64` and natural logarithms, so entropies and divergences are in nats.

pub mod memory;
pub mod quantize;
