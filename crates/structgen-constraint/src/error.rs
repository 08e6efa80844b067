//! What can go wrong.

use structgen_automata::{LimitExceeded, ProgramError, StepError};
use structgen_vocab::TokenId;

/// Why a grammar and a vocabulary make no constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The grammar has no program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// Some byte has no token of its own, so that some texts could be begun and never completed.
    #[error(
        "the vocabulary has no token for the single byte 0x{byte:02X}, so completions in its tokens cannot be guaranteed"
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
    /// An end-of-sequence id lies outside of the vocabulary.
    #[error("the end-of-sequence id {id} lies beyond the vocabulary's {len} ids")]
    EosOutOfRange {
        /// The id.
        id: TokenId,
        /// How many ids there are.
        len: usize,
    },
}

/// Why a matcher could not do what was asked. It is then as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatcherError {
    /// The token is not allowed here.
    #[error("token {token} is not allowed here: its byte {offset} does not match")]
    TokenRefused {
        /// The token.
        token: TokenId,
        /// The first of the token's bytes that does not fit; for a token without bytes, 0.
        offset: usize,
    },
    /// The output has ended.
    #[error("the output has ended: no token can follow")]
    Finished,
    /// More tokens were to be taken back than there are.
    #[error("{asked} tokens cannot be taken back out of {taken}")]
    RollbackTooFar {
        /// How many were to be taken back.
        asked: usize,
        /// How many there are.
        taken: usize,
    },
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
}

impl From<StepError> for MatcherError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Limit(limit) => Self::Limit(limit),
            // Only walks on sketches meet it, and they answer it by an exact walk.
            StepError::NeedsExact => Self::Limit(LimitExceeded {
                what: "keys within one token",
                limit: 1,
            }),
        }
    }
}
