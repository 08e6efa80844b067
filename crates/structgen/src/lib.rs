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
//! let ticket: Ticket = structgen::extract("Mia Brandt writes: login failed after 3 attempts")?;
//! assert!(ticket.attempts <= u8::MAX);
//! # Ok::<(), structgen::Error>(())
//! ```
//!
//! What comes out fits the schema, whatever the model: at each step only those tokens can be chosen after which some
//! fitting output still exists, and the number of tokens is bounded.
//!
//! - [`extract`], [`Extractor`]: a text into a type of one's own; [`SchemaExtractor`] for a schema that is only known at run
//!   time.
//! - [`Model`]: a model with its tokenizer, embedded or from a folder, and free or constrained generation with it.
//! - [`Constraint`]: JSON Schema, a regular expression, a GBNF grammar, a list of choices, or any JSON; and [`Checker`], which
//!   says whether and where a text does not fit one.
//! - [`tools`]: tool calls in the formats of chat models, as a constraint ([`Constraint::tools`]) and parsed back.
//! - The pieces, each a crate of its own: [`grammar`], [`frontend`], [`automata`], [`algebra`], [`vocab`], [`constraint`], [`decode`], [`ort`].

mod builder;
mod checker;
mod choose;
mod constraint_source;
mod contrast;
mod error;
mod extract;
mod extractor;
mod faithful;
mod for_type;
mod generate;
mod model;
mod notation;
mod options;
mod prompt;

pub use builder::ExtractorBuilder;
pub use checker::{Checker, Misfit};
pub use choose::ChooseOptions;
pub use constraint_source::Constraint;
pub use error::Error;
pub use extract::extract;
pub use extractor::{Extraction, Extractor, SchemaExtractor};
pub use model::Model;
pub use notation::compact_notation;
pub use options::ModelOptions;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub use structgen_algebra as algebra;
pub use structgen_automata as automata;
pub use structgen_constraint as constraint;
pub use structgen_decode as decode;
pub use structgen_frontend as frontend;
pub use structgen_grammar as grammar;
pub use structgen_model as embedded;
pub use structgen_ort as ort;
pub use structgen_regular as regular;
pub use structgen_tools as tools;
pub use structgen_vocab as vocab;

pub use structgen_decode::{GenerateOptions, OrderPreset, SamplingParams, TaskPreset};
pub use structgen_frontend::json_schema::{
    FormatMode, IntegerKeys, KeyOrder, Profile, SchemaOptions,
};
pub use structgen_ort::Device;
