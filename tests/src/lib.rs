//! What the test files share: schemas, Rust types, vocabularies, the data set, programs that are run, and random
//! numbers that come again.

mod data;
pub mod generator;
pub mod process;
mod random;
pub mod schemas;
pub mod types;
pub mod vocabularies;
mod walk;

pub use data::{data_folder, is_full_run, report, skip};
pub use random::SplitMix;
pub use walk::{walk, walk_in_step};
