//! Why a schema is refused.

/// Why a schema is refused. Pointers are JSON Pointers in the form `#/properties/a`; one into another document stands behind its URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The text of the schema is not JSON.
    #[error("the schema is not JSON: {reason} (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// There is neither an object nor a boolean where a schema belongs.
    #[error("{pointer}: a schema is an object or a boolean")]
    NotASchema {
        /// Where.
        pointer: String,
    },
    /// A keyword has a value that its draft does not allow.
    #[error("{pointer}: `{keyword}` has to be {expected}")]
    InvalidKeyword {
        /// The keyword.
        keyword: String,
        /// Where it stands.
        pointer: String,
        /// What it has to be.
        expected: String,
    },
    /// `$schema` names a dialect that is known but not compiled.
    #[error(
        "{pointer}: the dialect {uri} is not supported; drafts 4, 6, 7, 2019-09 and 2020-12 are"
    )]
    UnknownDialect {
        /// What `$schema` says.
        uri: String,
        /// Where it stands.
        pointer: String,
    },
    /// The metaschema that `$schema` names requires a vocabulary that is not known.
    #[error("{pointer}: the metaschema {metaschema} requires the unknown vocabulary {vocabulary}")]
    UnknownVocabulary {
        /// The vocabulary.
        vocabulary: String,
        /// What `$vocabulary` stands in.
        metaschema: String,
        /// Where `$schema` stands.
        pointer: String,
    },
    /// A reference leads nowhere. Nothing is ever fetched: other documents are registered by the caller.
    #[error("{pointer}: the reference {reference:?} leads nowhere: {reason}")]
    UnresolvedReference {
        /// The reference, as written.
        reference: String,
        /// Where it stands.
        pointer: String,
        /// What was not found.
        reason: String,
    },
    /// A schema that applies itself to the very same value means nothing.
    #[error("{pointer}: this schema applies itself to the same value without end")]
    CircularReference {
        /// A schema in the circle.
        pointer: String,
    },
    /// The keyword asserts something that is not compiled, here or in this combination.
    #[error("{pointer}: `{keyword}` is not supported here: {reason}")]
    Unsupported {
        /// The keyword.
        keyword: String,
        /// Where it stands.
        pointer: String,
        /// What about it.
        reason: String,
    },
    /// No value fits the schema.
    #[error("{pointer}: no value fits this schema; contradicting: {}", conflicts.join(", "))]
    Unsatisfiable {
        /// The schema that nothing fits.
        pointer: String,
        /// The keywords that contradict one another: without any one of them, something would fit.
        conflicts: Vec<String>,
    },
    /// The schema goes over a limit.
    #[error("{pointer}: {what} go over the limit of {limit}")]
    Limit {
        /// What there is too much of, a plural.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// About where.
        pointer: String,
    },
}
