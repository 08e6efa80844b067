//! The models on a machine, by name.
//!
//! A [`Registry`] is a file in a folder of the caller's choice. Every operation reads it, and those that change it hold
//! a lock and put a whole new file in the old one's place, so that neither a crash nor a second process leaves half a
//! file or loses an entry. A file that cannot be read is an error and stays as it is.

mod error;
mod file;
mod model;
mod registry;

pub use error::RegistryError;
pub use model::{RegisteredModel, Usage};
pub use registry::Registry;
