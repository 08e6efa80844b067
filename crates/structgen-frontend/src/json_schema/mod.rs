//! JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12.
//!
//! A schema is a set of values and is treated as one until the last stage. Each stage is a folder, numbered in the
//! order in which data passes through; a stage imports only itself and earlier ones (`tests/it/stages.rs`):
//!
//! 1. `s1_json`: the schema as JSON with exact numbers;
//! 2. `s2_parse`: typed schemas and what their references lead to; `keywords` has the table of all keywords, and a file
//!    for what each of them asserts;
//! 3. `s3_canonical`: a union of typed sets per node, with negations, conjunctions and alternatives resolved, and
//!    proofs that a node is empty;
//! 4. `s4_lower`: the grammar;
//! 5. `s5_report`: what became of each keyword, or which keywords contradict one another.
//!
//! `pipeline` runs them; `instance` validates a value instead of compiling. Below all stages are the public types of
//! options, reports and errors, and the formats.
//!
//! Nothing is dropped silently: what is not compiled is an error that names the keyword and its JSON Pointer. With
//! [`SchemaOptions::lenient`] it is dropped instead, and listed in the [`CompileReport`].

mod error;
mod formats;
mod instance;
mod keywords;
mod options;
mod part;
mod pipeline;
mod pointer;
mod report;
mod s1_json;
mod s2_parse;
mod s3_canonical;
mod s4_lower;
mod s5_report;
mod violation;
mod warning;

#[cfg(test)]
mod tests;

pub use error::SchemaError;
pub use instance::violations;
pub use options::{
    Draft, FormatMode, IntegerKeys, KeyOrder, PartOptions, Profile, SchemaLimits, SchemaOptions,
    Source, Words,
};
pub use part::{CompiledPart, compile_part, compile_part_str};
pub use pipeline::{Compiled, compile, compile_at, compile_str, compile_str_at};
pub use report::{CompileReport, Effect, ReportEntry, Usage};
pub use violation::{Violation, ViolationError};
pub use warning::SchemaWarning;
