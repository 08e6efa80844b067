//! What becomes of an output's parts while it is written.

mod event;
mod json;

pub use event::{JsonKind, OutputEvent, OutputPart};
pub use json::{JsonEvents, NotJson};
