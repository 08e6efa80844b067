//! Why a value is invalid under a schema.

/// A keyword that a value violates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The JSON Pointer of the value, as `/items/0`; empty for the whole document.
    pub instance: String,
    /// The JSON Pointer of the keyword, as `#/properties/items/minItems`; prefixed by the document's URI if that is not
    /// the main document. A schema `false` counts as its own keyword.
    pub keyword: String,
    /// The key of the object that the violation concerns, if it concerns a single one: the missing key for `required`,
    /// the refused key for `propertyNames`.
    pub key: Option<String>,
    /// The requirement of the keyword, in words: "must be at most 12".
    pub demand: String,
    /// Whether no value at all is valid there: the keyword is a schema `false`.
    pub is_forbidden: bool,
    /// Why the most promising schema of `anyOf` or `oneOf` does not hold: the one that holds longest while the value's
    /// text is read, then the one with the fewest violations, then the first. Empty for other keywords, and if several
    /// schemas of `oneOf` hold.
    pub causes: Vec<Violation>,
}

/// Why a value could not be validated.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViolationError {
    /// The schema cannot be used.
    #[error(transparent)]
    Schema(#[from] super::SchemaError),
    /// A number of the value is too large to be read.
    #[error(
        "a number of the value exceeds what a double can hold, about 1.8e308 (line {line}, column {column})"
    )]
    NumberTooLarge {
        /// The line, from 1.
        line: usize,
        /// The column of its end in bytes, from 1.
        column: usize,
    },
    /// The value is not JSON.
    #[error("the value is not JSON: {reason} (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
}

structgen_sentence::debug_as_sentence!(ViolationError);
