//! The events of an output's parts while it is generated.

mod captures;
mod event;
mod json;
mod stream;
#[cfg(test)]
mod tests;

pub use event::{JsonKind, OutputEvent, OutputPart};
pub use json::{JsonEvents, JsonEventsOf, NotJson};
pub use stream::{EventError, EventStream};
