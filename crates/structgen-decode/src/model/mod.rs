//! The language model as decoding sees it: rows of a key-value cache, and logits for positions.

mod error;
mod heads;
mod info;
mod mock;
mod output;

pub use error::ModelError;
pub use heads::DraftHeads;
pub use info::{ModelInfo, ModelStats, OutputStart, Packing};
pub use mock::{MockEncoder, MockModel};
pub use output::{RowOutput, RunOutput};

use std::collections::HashSet;

use structgen_vocab::TokenId;

/// An autoregressive model over token ids that keeps the keys and values of several texts, each in a row of its own.
///
/// A row is opened, grows by what is [run](LanguageModel::run) on it, and is cut, forked and closed. That is all that
/// sampling, batches, beams and speculation need: a beam that goes on in two ways is a fork, a draft that is refused is
/// a cut, a prompt that begins like another is a fork of that one's beginning. How rows share tensors is the backend's
/// business: any rows may be run together, of any lengths, and what the graph cannot run at once is run one after
/// another. [`ModelInfo::packing`] describes what it can.
///
/// ```
/// use structgen_decode::{LanguageModel, MockModel, model::RowRun};
/// use structgen_vocab::TokenId;
///
/// let mut model = MockModel::new(16, 64, [TokenId(0)]);
/// let row = model.open_row()?;
/// let prompt = [TokenId(3), TokenId(4)];
/// let output = model.run(&[RowRun::last(row, &prompt)], false)?;
/// assert_eq!(output.row(0).logits(0).len(), 16);
/// assert_eq!(model.row_len(row), Some(2));
/// # Ok::<(), structgen_decode::ModelError>(())
/// ```
pub trait LanguageModel: Send {
    /// What decoding must know of the model.
    fn info(&self) -> &ModelInfo;

    /// Opens an empty row.
    ///
    /// # Errors
    /// When the backend cannot make room.
    fn open_row(&mut self) -> Result<RowId, ModelError>;

    /// Opens a row with the first `len` tokens of another, which stays as it is.
    ///
    /// # Errors
    /// [`ModelError::UnknownRow`], [`ModelError::RowLength`], and when the backend cannot copy.
    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError>;

    /// Forgets all but the first `len` tokens of a row.
    ///
    /// # Errors
    /// As [`fork_row`](LanguageModel::fork_row).
    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError>;

    /// Closes a row and frees its memory. A row that is not open is ignored.
    fn close_row(&mut self, row: RowId);

    /// The number of tokens in a row; `None` where it is not open.
    fn row_len(&self, row: RowId) -> Option<usize>;

    /// The bytes that a row takes in memory.
    fn row_bytes(&self, row: RowId) -> usize {
        self.row_len(row).unwrap_or(0) * self.info().cache_bytes_per_token
    }

    /// Appends tokens to rows, and returns the logits of the last positions of each, with the hidden states of these
    /// positions where `hidden` asks for them.
    ///
    /// A row's logits depend on its own tokens alone, up to the last bits of floating-point sums. After an error each
    /// row holds what it held before.
    ///
    /// # Errors
    /// What [`check_run`] finds, and whatever the backend reports.
    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError>;

    /// What the model has done since it was made.
    fn stats(&self) -> ModelStats;
}

/// A row of a model's key-value cache: one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u64);

/// What one run appends to one row.
#[derive(Debug, Clone, Copy)]
pub struct RowRun<'a> {
    /// The row.
    pub row: RowId,
    /// Its new tokens, at least one.
    pub tokens: &'a [TokenId],
    /// The number of last positions whose logits are wanted: at most as many as there are tokens; zero for the
    /// beginning of a prompt.
    pub positions: usize,
}

impl<'a> RowRun<'a> {
    /// New tokens of which only the last position's logits are wanted.
    pub fn last(row: RowId, tokens: &'a [TokenId]) -> Self {
        let positions = 1;
        Self {
            row,
            tokens,
            positions,
        }
    }
}

/// Checks a run before anything is computed. Implementations of [`LanguageModel::run`] call this first, so that all of
/// them refuse alike.
///
/// # Errors
/// [`ModelError::UnknownRow`], [`ModelError::Positions`], [`ModelError::UnknownToken`], [`ModelError::ContextOverflow`]
/// and [`ModelError::NoHiddenStates`].
pub fn check_run(
    model: &(impl LanguageModel + ?Sized),
    rows: &[RowRun<'_>],
    hidden: bool,
) -> Result<(), ModelError> {
    let info = model.info();
    if hidden && info.hidden_width.is_none() {
        return Err(ModelError::NoHiddenStates);
    }
    let mut named = HashSet::new();
    for run in rows {
        let len = { model.row_len(run.row) }
            .filter(|_| rows.len() == 1 || named.insert(run.row))
            .ok_or(ModelError::UnknownRow { row: run.row })?;
        if run.tokens.is_empty() || run.positions > run.tokens.len() {
            return Err(ModelError::Positions {
                tokens: run.tokens.len(),
                positions: run.positions,
            });
        }
        let width = info.logits_width;
        if let Some(&token) = run.tokens.iter().find(|token| token.index() >= width) {
            return Err(ModelError::UnknownToken { token, width });
        }
        let needed = len.saturating_add(run.tokens.len());
        if needed > info.context_length {
            return Err(ModelError::ContextOverflow {
                needed,
                context_length: info.context_length,
            });
        }
    }
    Ok(())
}
