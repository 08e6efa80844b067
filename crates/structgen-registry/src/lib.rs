//! The models on a machine, by name.
//!
//! A [`Registry`] is a file in a folder chosen by the caller. Every operation reads it. Operations that change it hold
//! a lock and replace the file atomically, so that neither a crash nor a second process leaves half a file or loses an
//! entry. A file that cannot be parsed is an error, and is not changed.

mod error;
mod file;
mod model;
mod registry;

pub use error::RegistryError;
pub use model::{RegisteredModel, Usage};
pub use registry::Registry;
