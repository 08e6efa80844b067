//! Decoding, live in a terminal: the effect of mask and samplers on each token's distribution, forwards and backwards.
//!
//! The program is a pure state and a thin loop around it:
//!
//! | module | contents |
//! |---|---|
//! | [`subject`] | the interface to a model: [`Subject`] starts outputs and returns logits and masks |
//! | [`app`] | the state, [`App`]: a [`Message`](app::Message) changes it and may request an [`Effect`](app::Effect) |
//! | [`slider`], [`scene`] | the parameters, moved by hand or by a script |
//! | [`comparison`], [`tree`] | the contents: a step's probabilities sampler by sampler, an output's JSON as a tree |
//! | [`view`] | the state as a screen of any size |
//! | [`terminal`] | the loop: keys in, screens out, and the model on its own thread |
//! | [`headless`] | the same without a terminal, for tests and screenshots |
//!
//! A step is a [`structgen_lab::step::Step`], which is computed by decoding's own sampler chain, so it shows what
//! really happens.

pub mod app;
pub mod comparison;
mod editor;
pub mod headless;
mod keys;
pub mod picture;
pub mod scene;
pub mod slider;
pub mod subject;
pub mod terminal;
pub mod tree;
pub mod view;
mod walk;

pub use app::{App, Start};
pub use scene::Scene;
pub use subject::{Begun, ConstraintKind, ConstraintText, Look, Problem, Subject};

#[cfg(test)]
mod tests;
