//! Errors of patterns.

/// Why a pattern is refused, and where.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (at byte {position} of the pattern)")]
pub struct RegexError {
    /// The byte offset in the pattern, on a character boundary.
    pub position: usize,
    /// What is wrong.
    pub kind: RegexErrorKind,
}

structgen_sentence::debug_as_sentence!(RegexError);

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegexErrorKind {
    /// The text is not a pattern of the dialect.
    #[error("{0}")]
    Syntax(String),
    /// The pattern is valid, but this part of the dialect is not supported.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// The pattern exceeds a limit.
    #[error("{what} exceed the limit of {limit}")]
    Limit {
        /// What was counted, as a plural.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
}

impl RegexError {
    pub(super) fn syntax(position: usize, message: impl Into<String>) -> Self {
        Self {
            position,
            kind: RegexErrorKind::Syntax(message.into()),
        }
    }

    pub(super) fn unsupported(position: usize, what: &'static str) -> Self {
        Self {
            position,
            kind: RegexErrorKind::Unsupported(what),
        }
    }

    pub(super) fn limit(position: usize, what: &'static str, limit: u32) -> Self {
        Self {
            position,
            kind: RegexErrorKind::Limit { what, limit },
        }
    }
}
