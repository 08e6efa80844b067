//! The description of a model: its shape, how its rows may be packed, and its counters.

use std::time::Duration;

use structgen_vocab::TokenId;

/// The properties of a model that decoding depends on, read from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The number of logits of each position: at least the largest token id plus one, often padded beyond the
    /// vocabulary.
    pub logits_width: usize,
    /// The number of positions the model can attend to.
    pub context_length: usize,
    /// Every id that ends a text, as the model's configuration lists them.
    pub eos: Vec<TokenId>,
    /// The id that starts a text, where the configuration names one.
    pub bos: Option<TokenId>,
    /// Bytes of cache that a token of a row takes: 2 x layers x key-value heads x head size x bytes of a number. Zero
    /// where unknown.
    pub cache_bytes_per_token: usize,
    /// Bytes of the weights as they are stored; zero where unknown.
    pub weight_bytes: usize,
    /// The width of the last layer's hidden state, where the model returns it.
    pub hidden_width: Option<usize>,
    /// Which rows one run of the backend may hold.
    pub packing: Packing,
}

impl ModelInfo {
    /// A description without a start token, for a model that runs its rows [apart](Packing::Apart).
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
            weight_bytes: 0,
            hidden_width: None,
            packing: Packing::Apart,
        }
    }

    /// Sets the width of the [hidden states](crate::model::RowOutput::hidden) that the model returns; `None` where it returns
    /// none.
    #[must_use]
    pub fn with_hidden_width(mut self, width: Option<usize>) -> Self {
        self.hidden_width = width;
        self
    }

    /// Sets the bytes of cache that a token takes.
    #[must_use]
    pub fn with_cache_bytes_per_token(mut self, bytes: usize) -> Self {
        self.cache_bytes_per_token = bytes;
        self
    }

    /// Sets the bytes of the weights.
    #[must_use]
    pub fn with_weight_bytes(mut self, bytes: usize) -> Self {
        self.weight_bytes = bytes;
        self
    }

    /// The fixed cost of a run, as the bytes of cache that could be moved in the same time: the weights, which are read
    /// once whatever the rows are, and for a tiny model the calls of its operators. A run of the embedded model takes 0.28 ms
    /// besides its rows, in which it moves 330 positions, 2 MB; its weights are 2.6 MB.
    pub fn run_cost_bytes(&self) -> usize {
        self.weight_bytes.max(1 << 20)
    }

    /// Sets the start token.
    #[must_use]
    pub fn with_bos(mut self, bos: Option<TokenId>) -> Self {
        self.bos = bos;
        self
    }

    /// Sets which rows one run of the backend may hold.
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }
}

/// Which rows one run of the backend may hold, so that the scheduler plans steps that the backend need not take apart.
///
/// Any plan is valid for any packing: [`LanguageModel::run`](crate::LanguageModel::run) takes apart what its graph
/// cannot run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// A row at a time.
    Apart,
    /// Rows that take the same number of tokens share a tensor. A row that joins or leaves costs a copy of the others.
    Uniform,
    /// A buffer for each row: one token of any number of rows, of any lengths; several tokens of a single row.
    Slots,
    /// Any number of tokens of any number of rows.
    Ragged,
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
