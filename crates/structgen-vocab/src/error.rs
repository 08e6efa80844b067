//! What can be wrong with a tokenizer file.

use crate::TokenId;
use std::path::PathBuf;
use thiserror::Error;

/// Why a vocabulary could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VocabularyError {
    /// The file cannot be read.
    #[error("cannot read the tokenizer file {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// Something is larger than what is accepted, so that a hostile file cannot exhaust memory.
    #[error("{what} is too large: {size}, and at most {limit} is accepted")]
    TooLarge {
        /// What is too large, with its unit: `the tokenizer file in bytes`.
        what: &'static str,
        /// How large it is.
        size: u64,
        /// How large it may be.
        limit: u64,
    },

    /// The file is not JSON, or a field has another type than a tokenizer file's.
    #[error("not a tokenizer file: {message}, at line {line}, column {column}")]
    Json {
        /// The line, from 1; 0 where the input ends before anything is read.
        line: usize,
        /// The column in bytes, from 1; 0 as for the line.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },

    /// The file is no SentencePiece model.
    #[error("not a SentencePiece model of pieces with scores, one of them for unknown characters")]
    NoSentencePieceModel,

    /// A line of a `merges.txt` is not two tokens.
    #[error("line {line} of merges.txt is not two tokens with a space between them")]
    Merges {
        /// The line, from 1; 0 where the file is no text.
        line: usize,
    },

    /// The way in which tokens spell bytes is not one that is understood here. It is refused:
    /// a guess would let through tokens whose text is another than the grammar's.
    #[error("unsupported tokenizer: {pointer} is {found}: {reason}")]
    UnsupportedScheme {
        /// The JSON Pointer of the field that decides.
        pointer: String,
        /// What stands there, shortened.
        found: String,
        /// Why it is refused and what would be understood.
        reason: &'static str,
    },

    /// One id is given to two tokens, or one token to two ids.
    #[error("{pointer}: token {id} is both {first:?} and {second:?}")]
    ConflictingToken {
        /// The JSON Pointer of the list in which the second one stands.
        pointer: &'static str,
        /// The id that the second one claims.
        id: TokenId,
        /// What the first one is.
        first: String,
        /// What the second one is.
        second: String,
    },

    /// The model has fewer logits than the tokenizer has ids of text.
    #[error(
        "the model has {logits} logits and the tokenizer has text tokens with ids up to {last}"
    )]
    LogitsTooNarrow {
        /// The number of logits.
        logits: usize,
        /// The highest id of the tokenizer.
        last: TokenId,
    },

    /// An id that the vocabulary does not have.
    #[error("the vocabulary has no token {id}")]
    UnknownToken {
        /// The id.
        id: TokenId,
    },
}

impl VocabularyError {
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        let full = error.to_string();
        // The position is kept apart, so it is not said twice.
        let message = full
            .rsplit_once(" at line ")
            .map_or(full.as_str(), |(message, _)| message)
            .to_owned();
        Self::Json {
            line: error.line(),
            column: error.column(),
            message,
        }
    }

    pub(crate) fn unsupported(
        pointer: impl Into<String>,
        found: impl std::fmt::Display,
        reason: &'static str,
    ) -> Self {
        Self::UnsupportedScheme {
            pointer: pointer.into(),
            found: shorten(&found.to_string()),
            reason,
        }
    }
}

/// Why a tokenizer could not be loaded or a text not be encoded or decoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file's vocabulary is refused.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),

    /// A part of the file that only encoding needs is refused.
    #[error("{pointer} in the tokenizer file is not usable: {message}")]
    Pipeline {
        /// The JSON Pointer of the part.
        pointer: &'static str,
        /// What is wrong with it.
        message: String,
    },

    /// The text cannot be encoded by this tokenizer.
    #[error("the tokenizer cannot encode the text: {message}")]
    Encode {
        /// What the tokenizer says.
        message: String,
    },

    /// The tokens cannot be decoded by this tokenizer.
    #[error("the tokenizer cannot decode the tokens: {message}")]
    Decode {
        /// What the tokenizer says.
        message: String,
    },
}

/// Refuses what is over a limit.
pub(crate) fn check_size(
    what: &'static str,
    size: usize,
    limit: usize,
) -> Result<(), VocabularyError> {
    if size <= limit {
        return Ok(());
    }
    Err(VocabularyError::TooLarge {
        what,
        size: size as u64,
        limit: limit as u64,
    })
}

/// The start of a text that came from a file, for a message of one line.
pub(crate) fn shorten(text: &str) -> String {
    const CHARS: usize = 60;
    let mut out: String = text.chars().take(CHARS).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}
