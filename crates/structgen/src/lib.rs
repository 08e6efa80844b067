//! Guaranteed JSON from language models: typed extraction, and the pieces underneath.
//!
//! ```no_run
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Debug, JsonSchema, Deserialize)]
//! struct Ticket {
//!     reporter: String,
//!     attempts: u8,
//! }
//!
//! # #[cfg(feature = "embedded")]
//! # fn main() -> Result<(), structgen::Error> {
//! let ticket: Ticket = structgen::extract("Mia Brandt writes: login failed after 3 attempts")?;
//! assert!(ticket.attempts <= u8::MAX);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "embedded"))]
//! # fn main() {}
//! ```
//!
//! Outputs are valid against the schema, whatever the model: each step allows only tokens after which some valid output
//! still exists, and the number of tokens is bounded. With the embedded model, strings and numbers also come from the
//! text, unless that is turned off (`Model::extraction_options`); `Extraction::fields` reports from where, and the
//! model's confidence.
//!
//! # Which API do I want?
//!
//! | I have | and want | use |
//! |---|---|---|
//! | a text and a Rust type | one value, with no setup | `extract` |
//! | many texts and a Rust type | values, several in parallel, with confidence or streamed | `Extractor` |
//! | a schema known only at run time | the same as `serde_json::Value` | `SchemaExtractor` |
//! | a prompt, with or without a constraint | text, events, beams, speculation, batches | `Model` and `Request` |
//! | a few answers | the probability of each | `Model::choose` |
//! | tools for a chat model | calls that are always valid | [`Constraint::tools`] and `tools` |
//! | an existing text | whether and where it is invalid | [`Checker`] |
//! | the same | why: pointers, rules, the nearest valid text, what may come next | [`explain::Explainer`] |
//! | my own loop | token masks alone, without ONNX Runtime | [`constraint::Matcher`] and `default-features = false` |
//! | my own model | all of decoding around it | `decode::LanguageModel` and `decode::Engine` |
//!
//! # Features
//!
//! `embedded` (default): the extraction model's weights. `ort`: models on ONNX Runtime; implied by `embedded`. `tools`
//! (default): formats of tool calls. `algebra`: queries on grammars, such as a shortest text or a comparison. `async`:
//! `extract_async`, and runs as streams. Without any features, the crate has schemas, grammars, masks and checks, and
//! loads nothing at run time.
//!
//! One call finds or installs the runtime library of `ort`: `runtime::ensure`.

#[cfg(feature = "ort")]
mod alternatives;
#[cfg(feature = "ort")]
mod builder;
#[cfg(feature = "ort")]
mod calibration;
#[cfg(feature = "ort")]
mod cascade;
#[cfg(feature = "ort")]
mod chat_prompts;
mod checker;
#[cfg(feature = "ort")]
mod choose;
mod constraint_source;
mod error;
pub mod explain;
#[cfg(feature = "embedded")]
mod extract;
#[cfg(feature = "ort")]
mod extract_all;
#[cfg(feature = "ort")]
mod extracting;
#[cfg(feature = "ort")]
mod extraction;
#[cfg(feature = "ort")]
mod extractor;
#[cfg(feature = "ort")]
mod field;
#[cfg(feature = "ort")]
mod for_type;
mod formatted;
#[cfg(feature = "ort")]
mod generate;
mod grounded;
#[cfg(feature = "ort")]
mod grounding;
mod locate;
#[cfg(feature = "ort")]
mod logits;
#[cfg(feature = "ort")]
mod model;
mod notation;
#[cfg(feature = "ort")]
mod options;
#[cfg(feature = "ort")]
mod partial;
#[cfg(feature = "ort")]
mod prompt;
#[cfg(feature = "ort")]
mod reader;
#[cfg(feature = "ort")]
pub mod runtime;
#[cfg(feature = "ort")]
mod schema_extractor;
#[cfg(feature = "ort")]
mod value_matcher;
#[cfg(feature = "ort")]
mod value_request;
#[cfg(feature = "ort")]
mod windows;

#[cfg(feature = "ort")]
pub use builder::ExtractorBuilder;
#[cfg(feature = "ort")]
pub use calibration::{Calibration, FieldCalibration, TypeCalibration};
pub use checker::{Checker, Mismatch};
#[cfg(feature = "ort")]
pub use choose::ChooseOptions;
pub use constraint_source::Constraint;
pub use error::Error;
#[cfg(feature = "embedded")]
pub use extract::extract;
#[cfg(feature = "ort")]
pub use extract_all::ExtractAll;
#[cfg(feature = "ort")]
pub use extracting::Extracting;
#[cfg(feature = "ort")]
pub use extraction::Extraction;
#[cfg(feature = "ort")]
pub use extractor::Extractor;
#[cfg(feature = "ort")]
pub use field::{AlternativeValue, Field};
pub use formatted::format_json;
#[cfg(feature = "ort")]
pub use generate::Request;
pub use grounded::recognized_input;
pub use locate::{LocatedValue, locate};
#[cfg(feature = "ort")]
pub use model::Model;
pub use notation::compact_notation;
#[cfg(feature = "ort")]
pub use options::{DraftSource, HeadsSource, ModelOptions};
#[cfg(feature = "ort")]
pub use partial::ExtractionStream;
#[cfg(feature = "ort")]
pub use schema_extractor::SchemaExtractor;
#[cfg(feature = "ort")]
pub use windows::LongText;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(feature = "ort")]
pub use schemars;
#[cfg(feature = "algebra")]
pub use structgen_algebra as algebra;
pub use structgen_automata as automata;
#[cfg(feature = "ort")]
pub use structgen_chat as chat;
pub use structgen_constraint as constraint;
pub use structgen_constraint::CancelToken;
#[cfg(feature = "ort")]
pub use structgen_decode as decode;
pub use structgen_frontend as frontend;
pub use structgen_grammar as grammar;
#[cfg(feature = "ort")]
pub use structgen_ort as ort;
pub use structgen_recognize as recognize;
pub use structgen_regular as regular;
#[cfg(feature = "tools")]
pub use structgen_tools as tools;
pub use structgen_vocab as vocab;

#[cfg(feature = "ort")]
pub use structgen_decode::{
    GenerateOptions, SamplingParams, Strategy,
    samplers::{OrderPreset, TaskPreset},
};
pub use structgen_frontend::json_schema::{
    FormatMode, IntegerKeys, KeyOrder, Profile, SchemaOptions, SchemaWarning, Source,
};
#[cfg(feature = "ort")]
pub use structgen_ort::Device;
