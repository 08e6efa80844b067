//! Why a schema is refused.

use structgen_regular::LimitExceeded;

use super::SchemaWarning;

/// Why a schema is refused. Pointers are JSON Pointers in the form `#/properties/a`; one into another document follows
/// its URI.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The text of the schema is not JSON.
    #[error("the schema is not JSON: {reason} (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong at that position.
        reason: String,
    },
    /// A number of the schema is too large to be read.
    #[error(
        "a number of the schema exceeds what a double can hold, about 1.8e308 (line {line}, column {column})"
    )]
    NumberTooLarge {
        /// The line, from 1.
        line: usize,
        /// The column of its end in bytes, from 1.
        column: usize,
    },
    /// A schema is neither an object nor a boolean.
    #[error("{pointer}: a schema is an object or a boolean")]
    NotASchema {
        /// Where.
        pointer: String,
    },
    /// A keyword has a value that its draft does not allow.
    #[error("{pointer}: `{keyword}` must be {expected}")]
    InvalidKeyword {
        /// The keyword.
        keyword: String,
        /// Where it occurs.
        pointer: String,
        /// What it must be.
        expected: String,
    },
    /// `$schema` names a known dialect that is not supported.
    #[error(
        "{pointer}: the dialect {uri} is not supported; drafts 4, 6, 7, 2019-09 and 2020-12 are"
    )]
    UnknownDialect {
        /// The value of `$schema`.
        uri: String,
        /// Where it occurs.
        pointer: String,
    },
    /// The metaschema that `$schema` names requires an unknown vocabulary.
    #[error("{pointer}: the metaschema {metaschema} requires the unknown vocabulary {vocabulary}")]
    UnknownVocabulary {
        /// The vocabulary.
        vocabulary: String,
        /// The metaschema.
        metaschema: String,
        /// The pointer to `$schema`.
        pointer: String,
    },
    /// A reference cannot be resolved. Nothing is ever fetched: the caller registers other documents.
    #[error("{pointer}: the reference {reference:?} cannot be resolved: {reason}")]
    UnresolvedReference {
        /// The reference, as written.
        reference: String,
        /// Where it occurs.
        pointer: String,
        /// What was not found.
        reason: String,
    },
    /// A schema applies itself to the same value, which has no meaning.
    #[error("{pointer}: this schema applies itself to the same value without end")]
    CircularReference {
        /// A schema in the cycle.
        pointer: String,
    },
    /// The keyword's assertion is not supported, at all or in this combination.
    #[error("{pointer}: `{keyword}` is not supported here: {reason}")]
    Unsupported {
        /// The keyword.
        keyword: String,
        /// Where it occurs.
        pointer: String,
        /// What is not supported.
        reason: String,
    },
    /// No value is valid.
    #[error("{pointer}: no value is valid under this schema{}{}", contradicting(.conflicts), list("; ", .warnings))]
    Unsatisfiable {
        /// The schema without valid values.
        pointer: String,
        /// The keywords that contradict one another: without any one of them, some value would be valid. Only some of
        /// them, or none, if the search for the others took too long.
        conflicts: Vec<String>,
        /// Probable mistakes in the schema, which may be the reason.
        warnings: Vec<SchemaWarning>,
    },
    /// The schema has probable mistakes, and [`SchemaOptions::strict`](super::SchemaOptions::strict) is set; or it is
    /// not a schema at all but a document that contains one.
    #[error("{}", list("", .0))]
    Mistaken(Vec<SchemaWarning>),
    /// The schema exceeds a limit.
    #[error("{pointer}: {}", LimitExceeded { what, limit: *limit })]
    Limit {
        /// What was counted, as a plural.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// The nearest schema or keyword.
        pointer: String,
    },
}

structgen_sentence::debug_as_sentence!(SchemaError);

/// The contradicting keywords, if any are known.
fn contradicting(conflicts: &[String]) -> String {
    match conflicts {
        [] => String::new(),
        conflicts => format!("; contradicting: {}", conflicts.join(", ")),
    }
}

/// The warnings in one line, each after `before` or a semicolon.
fn list(before: &str, warnings: &[SchemaWarning]) -> String {
    let mut text = String::new();
    for warning in warnings {
        let before = if text.is_empty() { before } else { "; " };
        text.push_str(before);
        text.push_str(&warning.to_string());
    }
    text
}
