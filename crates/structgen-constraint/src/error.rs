//! Errors of compiling and matching.

use structgen_automata::{LimitExceeded, ProgramError, StepError};
use structgen_vocab::TokenId;

/// Why a grammar could not be compiled for a vocabulary.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The grammar could not be lowered to a program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// Some byte is not a token, so that some texts could be begun and never completed.
    #[error(
        "the vocabulary has no token for the single byte 0x{byte:02X}, so completions in its tokens cannot be guaranteed: \
         use a tokenizer with all bytes, such as byte-level BPE, or SentencePiece with byte fallback"
    )]
    IncompleteVocabulary {
        /// The first such byte.
        byte: u8,
    },
    /// The grammar names a token that the vocabulary does not have.
    #[error("the grammar names the token {name}, which the vocabulary does not have")]
    UnknownToken {
        /// The token as the grammar names it.
        name: String,
    },
    /// An end-of-sequence id is outside the vocabulary.
    #[error(
        "the end-of-sequence id {id} lies beyond the vocabulary's {len} ids: pass the ids that the model ends with"
    )]
    EosOutOfRange {
        /// The id.
        id: TokenId,
        /// The number of ids in the vocabulary.
        len: usize,
    },
}

structgen_sentence::debug_as_sentence!(CompileError);

/// Why an operation of a matcher failed. The matcher is unchanged.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatcherError {
    /// The token is not allowed here.
    #[error(
        "token {token} is not allowed here: its byte {offset} does not match; choose one from the mask"
    )]
    TokenRefused {
        /// The token.
        token: TokenId,
        /// The offset of the first byte of the token that is not accepted; 0 for a token without bytes.
        offset: usize,
    },
    /// The output has ended.
    #[error("the output has ended, so no token can follow: check is_finished first")]
    Finished,
    /// A rollback by more tokens than were accepted.
    #[error("{asked} tokens cannot be taken back out of {taken}")]
    RollbackTooFar {
        /// The number of tokens to roll back.
        asked: usize,
        /// The number of tokens accepted.
        taken: usize,
    },
    /// States that were computed again refuse a byte that was accepted before. This is a bug of structgen.
    #[error(
        "the byte 0x{byte:02X} was accepted and is now refused, which is a bug of structgen: please report it"
    )]
    Inconsistent {
        /// The byte.
        byte: u8,
    },
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
}

structgen_sentence::debug_as_sentence!(MatcherError);

impl From<StepError> for MatcherError {
    fn from(error: StepError) -> Self {
        // Only walks on sketches need the exact state, and they fall back to it.
        Self::Limit(limit(error))
    }
}

/// Queries about a state, unlike steps, never depend on what a sketch omits.
pub(crate) fn limit(error: StepError) -> LimitExceeded {
    match error {
        StepError::Limit(limit) => limit,
        StepError::NeedsExact => LimitExceeded {
            what: "keys within one token",
            limit: 1,
        },
    }
}
