//! Decoding live in a terminal: what mask and samplers leave of each token's distribution, forwards and back.
//!
//! The program is a pure state and a thin loop around it:
//!
//! | module | what it has |
//! |---|---|
//! | [`subject`] | the seam to a model: [`Subject`] begins outputs and returns logits and masks |
//! | [`app`] | the state, [`App`]: a [`Message`](app::Message) changes it and may ask for an [`Effect`](app::Effect) |
//! | [`slider`], [`scene`] | the parameters that are moved, by hand or by a script |
//! | [`comparison`], [`tree`] | what is shown: a step's probabilities sampler by sampler, an output's JSON as a tree |
//! | [`view`] | the state as a screen of any size |
//! | [`terminal`] | the loop: keys in, screens out, and the model on a thread of its own |
//! | [`headless`] | the same without a terminal, for tests and pictures |
//!
//! A step is [`structgen_lab::step::Step`], which the chain of decoding itself makes, so what is shown is what happens.

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
