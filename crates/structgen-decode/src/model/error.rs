use std::error::Error;

use structgen_vocab::TokenId;

use super::RowId;

/// Why a model could not run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// More tokens than the model can attend to.
    #[error(
        "the text needs {needed} positions, and the model's context holds {context_length}; shorten the text or \
         lower the number of new tokens"
    )]
    ContextOverflow {
        /// Positions that the run needs.
        needed: usize,
        /// Positions that the model has.
        context_length: usize,
    },
    /// A token id for which the model has no embedding.
    #[error("token {} is outside the model's vocabulary of {width}", token.0)]
    UnknownToken {
        /// The token.
        token: TokenId,
        /// The number of ids that the model has.
        width: usize,
    },
    /// A run without tokens, or with fewer tokens than requested positions.
    #[error("a run of {tokens} tokens cannot return the logits of {positions} positions")]
    Positions {
        /// Tokens of the row in this run.
        tokens: usize,
        /// Positions whose logits were asked for.
        positions: usize,
    },
    /// A row that is not open, or that one run names twice.
    #[error("the model holds no row {} that this call could use", row.0)]
    UnknownRow {
        /// The row.
        row: RowId,
    },
    /// A row cannot be cut to more tokens than it has.
    #[error("row {} has {len} tokens and cannot be cut to {wanted}", row.0)]
    RowLength {
        /// The row.
        row: RowId,
        /// Its tokens.
        len: usize,
        /// The number of tokens to keep.
        wanted: usize,
    },
    /// Hidden states were requested, but the model does not return them.
    #[error(
        "the model returns no hidden states: export it with the output hidden_states, the last layer's normalised states"
    )]
    NoHiddenStates,
    /// Logits of an encoder-decoder were requested for positions before its output starts.
    #[error(
        "the model is an encoder-decoder, which has logits of its output alone: those of a prompt or of a given text are \
         not there (the text has no token {}, which starts an output, before the positions that are asked for)",
        start.0
    )]
    NoOutputStart {
        /// The token that starts the output.
        start: TokenId,
    },
    /// The size of a tensor does not match its shape.
    #[error("{what} have {got} numbers where {expected} were expected")]
    Shape {
        /// The tensor with the wrong size.
        what: &'static str,
        /// The number of elements it has.
        got: usize,
        /// The number of elements its shape requires.
        expected: usize,
    },
    /// The backend's error.
    #[error("the model failed to run: {0}")]
    Backend(#[source] Box<dyn Error + Send + Sync>),
}

structgen_sentence::debug_as_sentence!(ModelError);
