//! The language model as the decoding loop sees it: logits for positions, and a cache that can be cut, forked and
//! reordered.

use std::error::Error;
use std::time::Duration;

use structgen_vocab::TokenId;

/// An autoregressive model over token ids with a key-value cache.
///
/// One call of [`forward`](LanguageModel::forward) appends the same number of tokens to every row of a cache and
/// returns the logits of the last positions asked for. That is all that greedy decoding, sampling, batches, beams
/// and speculation need of a model:
///
/// - a batch is a cache with several rows, shorter prompts padded on the left ([`new_cache`](LanguageModel::new_cache));
/// - beams and n-best sampling pick rows ([`KeyValueCache::select_rows`]);
/// - speculation asks for the logits of all drafted positions and cuts the cache back ([`KeyValueCache::truncate`]);
/// - prefix reuse copies the beginning of a cache ([`KeyValueCache::fork_prefix`]).
///
/// ```
/// use structgen_decode::{Forward, KeyValueCache, LanguageModel, MockModel};
/// use structgen_vocab::TokenId;
///
/// let mut model = MockModel::new(16, 64, [TokenId(0)]);
/// let mut cache = model.new_cache(&[0])?;
/// let prompt = [TokenId(3), TokenId(4)];
/// let width = model.info().logits_width;
/// let logits = model.forward(Forward::last(&prompt), &mut cache)?;
/// assert_eq!(logits.row(0, 0).len(), width);
/// assert_eq!(cache.len(), 2);
/// # Ok::<(), structgen_decode::ModelError>(())
/// ```
pub trait LanguageModel {
    /// The keys and values of the tokens seen so far, one row for each sequence.
    type Cache: KeyValueCache;

    /// What the loop must know of the model.
    fn info(&self) -> &ModelInfo;

    /// An empty cache with one row for each entry of `left_padding`.
    ///
    /// The first `left_padding[r]` tokens that row `r` receives are padding: nothing attends to them, and positions
    /// are counted from behind them. A single sequence is `&[0]`.
    ///
    /// # Errors
    /// When `left_padding` is empty, or when the backend cannot make the tensors.
    fn new_cache(&mut self, left_padding: &[usize]) -> Result<Self::Cache, ModelError>;

    /// Runs the model over new tokens, which the cache then holds, and returns logits.
    ///
    /// After an error the cache is as it was, or refuses further use; it never holds half a step.
    ///
    /// # Errors
    /// [`ModelError::ContextOverflow`] when the cache would outgrow the model's context length,
    /// [`ModelError::Shape`] when the tokens do not fit the cache's rows, and whatever the backend reports.
    fn forward(
        &mut self,
        input: Forward<'_>,
        cache: &mut Self::Cache,
    ) -> Result<Logits<'_>, ModelError>;

    /// What the model has done since it was made.
    fn stats(&self) -> ModelStats;
}

/// What the loop must know of a model, read from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// How many logits each position has. At least the largest token id plus one; often padded beyond the vocabulary.
    pub logits_width: usize,
    /// How many positions the model can attend to.
    pub context_length: usize,
    /// Every id that ends a text, as the model's configuration lists them.
    pub eos: Vec<TokenId>,
    /// The id that starts a text, where the configuration names one.
    pub bos: Option<TokenId>,
    /// What a token of a row takes in the cache: 2 x layers x key-value heads x size of a head x size of a number, in bytes. Zero where nobody said.
    pub cache_bytes_per_token: usize,
    /// How many numbers the last layer's hidden state of a position has, where the model gives it out.
    pub hidden_width: Option<usize>,
}

impl ModelInfo {
    /// A description with no start token.
    pub fn new(
        logits_width: usize,
        context_length: usize,
        eos: impl IntoIterator<Item = TokenId>,
    ) -> Self {
        Self {
            logits_width,
            context_length,
            eos: eos.into_iter().collect(),
            bos: None,
            cache_bytes_per_token: 0,
            hidden_width: None,
        }
    }

    /// The same description with the width of the [hidden states](Logits::hidden) that the model gives out; none where it does not.
    pub fn with_hidden_width(mut self, width: Option<usize>) -> Self {
        self.hidden_width = width;
        self
    }

    /// The same description with what a token takes in the cache, in bytes.
    pub fn with_cache_bytes_per_token(mut self, bytes: usize) -> Self {
        self.cache_bytes_per_token = bytes;
        self
    }

    /// The same description with a start token.
    pub fn with_bos(mut self, bos: Option<TokenId>) -> Self {
        self.bos = bos;
        self
    }
}

/// The new tokens of one call of [`LanguageModel::forward`].
#[derive(Debug, Clone, Copy)]
pub struct Forward<'a> {
    /// Row-major, `rows * n` tokens: the same number for each row of the cache, at least one.
    pub tokens: &'a [TokenId],
    /// For how many of the last positions of each row logits are wanted, from 1 to `n`.
    pub positions: usize,
    /// Whether the hidden states of these positions are wanted as well.
    pub hidden: bool,
}

impl<'a> Forward<'a> {
    /// New tokens of which only the last position's logits are wanted.
    pub fn last(tokens: &'a [TokenId]) -> Self {
        Self::new(tokens, 1)
    }

    /// New tokens with the logits of so many of the last positions.
    pub fn new(tokens: &'a [TokenId], positions: usize) -> Self {
        Self {
            tokens,
            positions,
            hidden: false,
        }
    }

    /// The same call, which also asks for the [hidden states](Logits::hidden) of its positions.
    ///
    /// ```
    /// use structgen_decode::{Forward, LanguageModel, MockModel};
    /// use structgen_vocab::TokenId;
    ///
    /// let mut model = MockModel::new(16, 64, [TokenId(0)]).with_hidden_width(4);
    /// let mut cache = model.new_cache(&[0])?;
    /// let logits = model.forward(Forward::last(&[TokenId(3)]).with_hidden(), &mut cache)?;
    /// assert_eq!(logits.hidden(0, 0).map(<[f32]>::len), Some(4));
    /// # Ok::<(), structgen_decode::ModelError>(())
    /// ```
    #[must_use]
    pub fn with_hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Checks the call against a cache of `rows` rows and `len` tokens; returns the tokens for each row.
    ///
    /// Implementations of [`LanguageModel`] call this first, so that all of them refuse alike.
    ///
    /// # Errors
    /// [`ModelError::Shape`], [`ModelError::ContextOverflow`] and [`ModelError::NoHiddenStates`].
    pub fn check(&self, rows: usize, len: usize, info: &ModelInfo) -> Result<usize, ModelError> {
        let per_row = self.tokens.len() / rows.max(1);
        if rows == 0 || per_row == 0 || per_row * rows != self.tokens.len() {
            return Err(ModelError::Shape {
                what: "tokens",
                got: self.tokens.len(),
                rows,
            });
        }
        if self.hidden && info.hidden_width.is_none() {
            return Err(ModelError::NoHiddenStates);
        }
        if self.positions == 0 || self.positions > per_row {
            return Err(ModelError::Shape {
                what: "positions",
                got: self.positions,
                rows,
            });
        }
        if let Some(token) = self
            .tokens
            .iter()
            .find(|t| t.0 as usize >= info.logits_width)
        {
            return Err(ModelError::UnknownToken {
                token: *token,
                width: info.logits_width,
            });
        }
        let needed = len.saturating_add(per_row);
        if needed > info.context_length {
            return Err(ModelError::ContextOverflow {
                needed,
                context_length: info.context_length,
            });
        }
        Ok(per_row)
    }
}

/// A model's memory of the tokens it has seen.
pub trait KeyValueCache: Sized {
    /// How many sequences the cache holds.
    fn rows(&self) -> usize;

    /// How many tokens each row holds, padding included.
    fn len(&self) -> usize;

    /// Whether no token has been seen.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all but the first `len` tokens of every row. A `len` that is not shorter does nothing.
    ///
    /// # Errors
    /// When the backend cannot copy the part that stays.
    fn truncate(&mut self, len: usize) -> Result<(), ModelError>;

    /// Makes new row `i` a copy of old row `rows[i]`; rows may be repeated or left out.
    ///
    /// # Errors
    /// [`ModelError::Shape`] when `rows` is empty or names a row that is not there.
    fn select_rows(&mut self, rows: &[usize]) -> Result<(), ModelError>;

    /// An independent copy.
    ///
    /// # Errors
    /// When the backend cannot copy.
    fn fork(&self) -> Result<Self, ModelError>;

    /// An independent copy of the first `len` tokens of every row, of all where it has no more.
    ///
    /// # Errors
    /// As [`fork`](KeyValueCache::fork).
    fn fork_prefix(&self, len: usize) -> Result<Self, ModelError> {
        let mut fork = self.fork()?;
        fork.truncate(len)?;
        Ok(fork)
    }

    /// What keys and values take in memory, in bytes.
    fn bytes(&self) -> usize;
}

/// A borrowed view of logits, `rows x positions x width`, in f32, and of the hidden states where they were asked for.
#[derive(Debug, Clone, Copy)]
pub struct Logits<'a> {
    logits: Positions<'a>,
    hidden: Option<Positions<'a>>,
}

impl<'a> Logits<'a> {
    /// The last `positions` positions of a dense `rows x n x width` tensor.
    ///
    /// # Errors
    /// [`ModelError::Shape`] when `values` is not `rows * n * width` long or `positions` exceeds `n`.
    pub fn last_of(
        values: &'a [f32],
        rows: usize,
        n: usize,
        width: usize,
        positions: usize,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            logits: Positions::last_of("logits", values, [rows, n, width], positions)?,
            hidden: None,
        })
    }

    /// The same logits with the hidden states of their positions, the last ones of a dense `rows x n x width` tensor.
    ///
    /// # Errors
    /// [`ModelError::Shape`] when `values` is not `rows * n * width` long or `n` is fewer than the logits' positions.
    pub fn with_hidden(
        mut self,
        values: &'a [f32],
        n: usize,
        width: usize,
    ) -> Result<Self, ModelError> {
        let shape = [self.rows(), n, width];
        let hidden = Positions::last_of("hidden states", values, shape, self.positions())?;
        self.hidden = Some(hidden);
        Ok(self)
    }

    /// The logits of one position, counted from the first position asked for. Its length is the logits width.
    ///
    /// # Panics
    /// When `row` or `position` is out of range.
    pub fn row(&self, row: usize, position: usize) -> &'a [f32] {
        self.logits.row(row, position)
    }

    /// The last layer's state at the same position, as the output matrix takes it: normalised. None where the [call](Forward::with_hidden) did not ask.
    ///
    /// # Panics
    /// When `row` or `position` is out of range.
    pub fn hidden(&self, row: usize, position: usize) -> Option<&'a [f32]> {
        self.hidden.map(|hidden| hidden.row(row, position))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.logits.rows
    }

    /// How many positions each row has.
    pub fn positions(&self) -> usize {
        self.logits.positions
    }

    /// How many logits each position has.
    pub fn width(&self) -> usize {
        self.logits.width
    }
}

/// The last positions of each row of a dense tensor.
#[derive(Debug, Clone, Copy)]
struct Positions<'a> {
    values: &'a [f32],
    rows: usize,
    positions: usize,
    width: usize,
    row_stride: usize,
    offset: usize,
}

impl<'a> Positions<'a> {
    fn last_of(
        what: &'static str,
        values: &'a [f32],
        [rows, n, width]: [usize; 3],
        positions: usize,
    ) -> Result<Self, ModelError> {
        let expected = rows.checked_mul(n).and_then(|x| x.checked_mul(width));
        if expected != Some(values.len()) || positions > n || width == 0 {
            let got = values.len();
            return Err(ModelError::Shape { what, got, rows });
        }
        Ok(Self {
            values,
            rows,
            positions,
            width,
            row_stride: n * width,
            offset: (n - positions) * width,
        })
    }

    fn row(&self, row: usize, position: usize) -> &'a [f32] {
        assert!(row < self.rows && position < self.positions);
        let start = self.offset + row * self.row_stride + position * self.width;
        &self.values[start..start + self.width]
    }
}

/// Counters of a model, from its making on; differences between two readings measure a generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelStats {
    /// Calls of the backend.
    pub runs: u64,
    /// Tokens run, rows times new tokens.
    pub tokens: u64,
    /// Time inside the backend's own run call, without the preparation of inputs and the reading of outputs.
    pub backend_time: Duration,
}

impl ModelStats {
    /// Adds one run of `tokens` tokens that took `time` in the backend.
    pub fn record(&mut self, tokens: usize, time: Duration) {
        self.runs += 1;
        self.tokens += tokens as u64;
        self.backend_time += time;
    }
}

/// Why a model could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// More tokens than the model can attend to.
    #[error(
        "the text needs {needed} positions, and the model's context holds {context_length}; shorten the text or \
         lower the number of new tokens"
    )]
    ContextOverflow {
        /// Positions that the call would fill.
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
    /// A number of elements that does not fit the rows.
    #[error("{got} {what} do not fit a cache of {rows} rows")]
    Shape {
        /// What was miscounted.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// Rows of the cache.
        rows: usize,
    },
    /// Hidden states are asked for, and the model does not give them out.
    #[error(
        "the model gives out no hidden states: export it with the output hidden_states, the last layer's normalised states"
    )]
    NoHiddenStates,
    /// Rows are padded, and the model takes the padding for text.
    #[error(
        "the model's graph does not take rows that are padded on the left, as prompts of different lengths are in a batch: run them one by one"
    )]
    LeftPadding,
    /// What the backend reports.
    #[error("the model failed to run: {0}")]
    Backend(#[source] Box<dyn Error + Send + Sync>),
}
