//! Errors of structural tags.

use structgen_frontend::gbnf::GbnfError;
use structgen_frontend::json_schema::SchemaError;
use structgen_frontend::regex::RegexError;

/// Why a structural tag is refused. Pointers are JSON Pointers into the structural tag.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuralTagError {
    /// The text is not JSON.
    #[error("the structural tag is not JSON: {reason} (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong at that position.
        reason: String,
    },
    /// A value is not what is expected.
    #[error("{pointer}: {expected} is expected here")]
    Expected {
        /// Where.
        pointer: String,
        /// What is expected.
        expected: String,
    },
    /// An unknown field of an object.
    #[error("{pointer}: there is no such field; there are: {}", known.join(", "))]
    UnknownField {
        /// Where the field is.
        pointer: String,
        /// The fields of the object.
        known: Vec<&'static str>,
    },
    /// A part of the notation that cannot be enforced.
    #[error("{pointer}: {reason}")]
    Unsupported {
        /// Where.
        pointer: String,
        /// What is unsupported, and what to use instead.
        reason: String,
    },
    /// A JSON Schema is refused.
    #[error("the schema at {pointer} is refused")]
    Schema {
        /// Where the schema is.
        pointer: String,
        /// Why, with the JSON Pointer into the schema.
        #[source]
        source: SchemaError,
    },
    /// Two schemas require different forms of JSON, but one text has one form.
    #[error("{pointer}: JSON is written in another form here than before; one text has one form")]
    Forms {
        /// Where the second one is.
        pointer: String,
    },
    /// A regular expression is refused.
    #[error("the pattern at {pointer} is refused")]
    Regex {
        /// Where the pattern is.
        pointer: String,
        /// Why.
        #[source]
        source: RegexError,
    },
    /// A grammar is refused.
    #[error("the grammar at {pointer} is refused")]
    Grammar {
        /// Where the grammar is.
        pointer: String,
        /// Why, with line and column.
        #[source]
        source: Box<GbnfError>,
    },
    /// The structural tag exceeds a limit.
    #[error("{pointer}: {what} exceed the limit of {limit}")]
    Limit {
        /// Where.
        pointer: String,
        /// What was counted, as a plural.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

structgen_sentence::debug_as_sentence!(StructuralTagError);

impl StructuralTagError {
    /// The JSON Pointer into the structural tag; `None` if the text is not JSON.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        match self {
            Self::NotJson { .. } => None,
            Self::Expected { pointer, .. }
            | Self::UnknownField { pointer, .. }
            | Self::Unsupported { pointer, .. }
            | Self::Schema { pointer, .. }
            | Self::Forms { pointer }
            | Self::Regex { pointer, .. }
            | Self::Limit { pointer, .. }
            | Self::Grammar { pointer, .. } => Some(pointer),
        }
    }
}
