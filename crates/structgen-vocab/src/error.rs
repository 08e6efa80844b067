//! Errors of tokenizer files.

use crate::TokenId;
use std::path::PathBuf;
use thiserror::Error;

/// Why a vocabulary could not be built.
#[derive(Error)]
#[non_exhaustive]
pub enum VocabularyError {
    /// The file cannot be read.
    #[error("cannot read the tokenizer file {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },

    /// Something exceeds a limit, which keeps hostile files from exhausting memory.
    #[error("{what} is too large: {size}, and at most {limit} is accepted")]
    TooLarge {
        /// What is too large, with its unit: `the tokenizer file in bytes`.
        what: &'static str,
        /// The actual size.
        size: u64,
        /// The maximum size.
        limit: u64,
    },

    /// The file is not JSON, or a field has a type that is not valid in a tokenizer file.
    #[error("not a tokenizer file: {message}, at line {line}, column {column}")]
    Json {
        /// The line, from 1; 0 if the input ends before anything is read.
        line: usize,
        /// The column in bytes, from 1; 0 if the line is.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },

    /// A configuration file next to the tokenizer's file is not JSON.
    #[error("{file} is not JSON: {message}, at line {line}, column {column}")]
    Configuration {
        /// The name of the file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1; 0 if the line is empty.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },

    /// The file is not a SentencePiece model.
    #[error("not a SentencePiece model of pieces with scores, one of them for unknown characters")]
    NoSentencePieceModel,

    /// A line of a `merges.txt` is not two tokens.
    #[error("line {line} of merges.txt is not two tokens with a space between them")]
    Merges {
        /// The line, from 1; 0 if the file is not UTF-8.
        line: usize,
    },

    /// The way in which tokens spell bytes is not supported. It is refused rather than guessed: a wrong guess would
    /// allow tokens whose text differs from what the grammar allows.
    #[error("unsupported tokenizer: {pointer} is {found}: {reason}")]
    UnsupportedScheme {
        /// The JSON Pointer of the deciding field.
        pointer: String,
        /// Its value, shortened.
        found: String,
        /// Why it is refused, and what would be supported.
        reason: &'static str,
    },

    /// One id belongs to two tokens, or one token has two ids.
    #[error("{pointer}: token {id} is both {first:?} and {second:?}")]
    ConflictingToken {
        /// The JSON Pointer of the list that contains the second one.
        pointer: &'static str,
        /// The id of the second one.
        id: TokenId,
        /// The first one.
        first: String,
        /// The second one.
        second: String,
    },

    /// The model has fewer logits than the tokenizer has ids of text tokens.
    #[error(
        "the model has {logits} logits and the tokenizer has text tokens with ids up to {last}"
    )]
    LogitsTooNarrow {
        /// The number of logits.
        logits: usize,
        /// The highest id of the tokenizer.
        last: TokenId,
    },

    /// An id is not in the vocabulary.
    #[error("the vocabulary has no token {id}")]
    UnknownToken {
        /// The id.
        id: TokenId,
    },
}

structgen_sentence::debug_as_sentence!(VocabularyError);

impl VocabularyError {
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::Json {
            line: error.line(),
            column: error.column(),
            message: without_position(error),
        }
    }

    pub(crate) fn configuration(file: &'static str, error: &serde_json::Error) -> Self {
        Self::Configuration {
            file,
            line: error.line(),
            column: error.column(),
            message: without_position(error),
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

/// Why a tokenizer could not be loaded, or a text not encoded or decoded.
#[derive(Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The vocabulary of the file is refused.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),

    /// A part of the file that is only needed for encoding is refused.
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
        /// The tokenizer's message.
        message: String,
    },

    /// The tokens cannot be decoded by this tokenizer.
    #[error("the tokenizer cannot decode the tokens: {message}")]
    Decode {
        /// The tokenizer's message.
        message: String,
    },
}

structgen_sentence::debug_as_sentence!(TokenizerError);

/// The message of an error of JSON. Its position is in fields of its own.
fn without_position(error: &serde_json::Error) -> String {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map(|(message, _)| message);
    shorten_middle(message.unwrap_or(&full))
}

/// Returns an error if a size exceeds its limit.
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

/// The start and the end of a message that may quote a text from a file between them.
pub(crate) fn shorten_middle(message: &str) -> String {
    const START: usize = 100;
    const END: usize = 100;
    let length = message.chars().count();
    if length <= START + END {
        return message.to_owned();
    }
    let start = message.chars().take(START);
    let end = message.chars().skip(length - END);
    start.chain(['…']).chain(end).collect()
}

/// The start of a text from a file, for a one-line message.
pub(crate) fn shorten(text: &str) -> String {
    const CHARS: usize = 60;
    let mut out: String = text.chars().take(CHARS).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}
