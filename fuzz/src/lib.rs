//! What the fuzz targets do with their bytes: plain functions, which panic where a promise is broken.
//!
//! A target has a function here, a seed corpus in `seeds/`, a dictionary in `dictionaries/` and, for inputs that once
//! broke a promise, `regressions/`. [`TARGETS`] lists them. `cargo test` of the project replays seeds and regressions;
//! `cargo run --release --example smoke` mutates them for some seconds on a stable compiler; `cargo +nightly fuzz run
//! NAME --features libfuzzer seeds/NAME -- -dict=dictionaries/NAME.dict` does so under libFuzzer.

mod chat_template;
mod check_vs_validator;
mod clock;
mod convert;
mod gbnf;
#[path = "../../tests/src/generator.rs"]
#[allow(dead_code, reason = "shared with the tests, which use all of it")]
mod generator;
mod grammar_bytes;
mod json_events;
mod json_schema;
mod mask_vs_oracle;
mod matcher;
mod model_config;
mod onnx_weights;
#[path = "../../tests/src/random.rs"]
mod random;
mod regex;
mod saved_constraint;
mod saved_tables;
pub mod smoke;
mod structural_tag;
mod target;
mod tokenizer_json;
mod tokenizer_model;
mod tool_format;
mod tool_stream;
mod walk;
mod yaml;

pub use chat_template::chat_template;
pub use check_vs_validator::check_vs_validator;
pub use convert::convert;
pub use gbnf::gbnf;
pub use grammar_bytes::grammar_bytes;
pub use json_events::json_events;
pub use json_schema::json_schema;
pub use mask_vs_oracle::mask_vs_oracle;
pub use matcher::matcher;
pub use model_config::model_config;
pub use onnx_weights::onnx_weights;
pub use random::SplitMix;
pub use regex::regex;
pub use saved_constraint::saved_constraint;
pub use saved_tables::saved_tables;
pub use structural_tag::structural_tag;
pub use target::{TARGETS, Target};
pub use tokenizer_json::tokenizer_json;
pub use tokenizer_model::tokenizer_model;
pub use tool_format::tool_format;
pub use tool_stream::tool_stream;
pub use yaml::yaml;
