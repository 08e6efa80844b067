//! What the fuzz targets do with their bytes: plain functions, which panic where a promise is broken.
//!
//! `cargo fuzz run json_schema --features libfuzzer` and the like run them under libFuzzer, and `cargo run --release --bin smoke` for
//! some seconds on a stable compiler.

mod gbnf;
mod json_schema;
mod random;
mod tokenizer_json;
mod walk;

pub use gbnf::gbnf;
pub use json_schema::json_schema;
pub use random::SplitMix;
pub use tokenizer_json::tokenizer_json;
