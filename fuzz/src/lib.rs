//! What the fuzz targets do with their bytes: plain functions, which panic where a promise is broken.
//!
//! `cargo fuzz run json_schema --features libfuzzer` and the like run them under libFuzzer, and `cargo run --release --bin smoke` for
//! some seconds on a stable compiler.

mod gbnf;
#[path = "../../tests/src/generator.rs"]
#[allow(dead_code, reason = "shared with the tests, which use all of it")]
mod generator;
mod grammar_bytes;
mod json_schema;
mod mask_vs_oracle;
mod random;
mod regex;
mod tokenizer_json;
mod walk;

pub use gbnf::gbnf;
pub use grammar_bytes::{bytes_of_schema, grammar_bytes};
pub use json_schema::json_schema;
pub use mask_vs_oracle::mask_vs_oracle;
pub use random::SplitMix;
pub use regex::regex;
pub use tokenizer_json::tokenizer_json;
