//! The language model as decoding sees it: rows of a KV cache, and logits for positions.

mod encoder;
mod error;
mod heads;
mod info;
mod mock;
mod output;

pub use encoder::TextEncoder;
pub use error::ModelError;
pub use heads::DraftHeads;
pub use info::{ModelInfo, ModelStats, OutputStart, Packing};
pub use mock::{MockEncoder, MockModel};
pub use output::{RowOutput, RunOutput};

use std::collections::HashSet;

use structgen_vocab::TokenId;

/// An autoregressive model over token ids, with a KV cache of several texts, each in its own row.
///
/// A row is opened, grows by the tokens [run](LanguageModel::run) on it, and is cut, forked and closed. Sampling,
/// batching, beams and speculation need no more: a beam that continues in two ways is forked, a rejected draft is cut,
/// and a prompt with the same prefix as another is forked from it. How rows share tensors is up to the backend: any
/// rows of any lengths may be run together, and what the graph cannot run at once is run in sequence.
/// [`ModelInfo::packing`] describes what it can run at once.
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
    /// Returns the properties of the model.
    fn info(&self) -> &ModelInfo;

    /// Opens an empty row.
    ///
    /// # Errors
    /// If the backend cannot allocate it.
    fn open_row(&mut self) -> Result<RowId, ModelError>;

    /// Opens a row with the first `len` tokens of another, which is unchanged.
    ///
    /// # Errors
    /// [`ModelError::UnknownRow`], [`ModelError::RowLength`], and if the backend cannot copy.
    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError>;

    /// Truncates a row to its first `len` tokens.
    ///
    /// # Errors
    /// As for [`fork_row`](LanguageModel::fork_row).
    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError>;

    /// Closes a row and frees its memory. Does nothing if the row is not open.
    fn close_row(&mut self, row: RowId);

    /// Returns the number of tokens in a row, or `None` if it is not open.
    fn row_len(&self, row: RowId) -> Option<usize>;

    /// Returns the bytes of memory that a row uses.
    fn row_bytes(&self, row: RowId) -> usize {
        self.row_len(row).unwrap_or(0) * self.info().cache_bytes_per_token
    }

    /// Appends tokens to rows, and returns the logits of each row's last positions, with their hidden states if
    /// `hidden` is set.
    ///
    /// A row's logits depend on its own tokens alone, up to rounding in floating-point sums. After an error every row
    /// is unchanged.
    ///
    /// # Errors
    /// The errors of [`check_run`], and those of the backend.
    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError>;

    /// Returns the model's counters since it was created.
    fn stats(&self) -> ModelStats;
}

/// A row of a model's KV cache: one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u64);

/// The tokens that one run appends to one row.
#[derive(Debug, Clone, Copy)]
pub struct RowRun<'a> {
    /// The row.
    pub row: RowId,
    /// Its new tokens, at least one.
    pub tokens: &'a [TokenId],
    /// The number of last positions whose logits are requested: at most the number of tokens, and zero for the first
    /// chunks of a prompt.
    pub positions: usize,
}

impl<'a> RowRun<'a> {
    /// Requests the logits of only the last position.
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
/// them reject the same runs.
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
