//! What the test files share: schemas, Rust types, vocabularies, the data set, and random numbers that come again.

mod data;
pub mod generator;
mod random;
pub mod schemas;
pub mod types;
pub mod vocabularies;

pub use data::{data_folder, is_full_run, report};
pub use random::SplitMix;
