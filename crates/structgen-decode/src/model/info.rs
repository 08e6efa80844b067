//! The description of a model: its shape, how its rows may be packed, and its counters.

use std::time::Duration;

use structgen_vocab::TokenId;

/// The properties of a model that decoding depends on, read from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The number of logits per position: at least the largest token id plus one, often padded beyond the vocabulary.
    pub logits_width: usize,
    /// The number of positions the model can attend to.
    pub context_length: usize,
    /// All ids that end a text, as listed in the model's configuration.
    pub eos: Vec<TokenId>,
    /// The id that starts a text, if the configuration names one.
    pub bos: Option<TokenId>,
    /// Bytes of cache per token of a row: 2 x layers x key-value heads x head size x bytes per number. Zero if unknown.
    pub cache_bytes_per_token: usize,
    /// Bytes of the weights as stored; zero if unknown.
    pub weight_bytes: usize,
    /// The width of the last layer's hidden state, if the model returns it.
    pub hidden_width: Option<usize>,
    /// Which rows the backend can process in one run.
    pub packing: Packing,
    /// For an encoder-decoder, the tokens between prompt and output.
    pub output_start: Option<OutputStart>,
}

/// The tokens between the prompt of an encoder-decoder, which its encoder reads, and its output. A submitted request
/// does not contain them; they are appended to the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputStart {
    /// The token that ends the encoder's input, if there is one.
    pub end: Option<TokenId>,
    /// The token that starts the decoder's text.
    pub start: TokenId,
    /// The tokens that always follow it.
    pub forced: Vec<TokenId>,
    /// The maximum length of the decoder's text, in tokens.
    pub longest: usize,
}

impl OutputStart {
    /// Returns the tokens between prompt and output.
    pub fn tokens(&self) -> impl Iterator<Item = TokenId> {
        { self.end.into_iter().chain([self.start]) }.chain(self.forced.iter().copied())
    }

    /// Returns the position in a text of the token that starts the output. It is the first such token after the text's
    /// first token. If the same token also ends the input, as in BART, it is the first one that follows another.
    #[must_use]
    pub fn place(&self, text: &[TokenId]) -> Option<usize> {
        let is_start = |at: &usize| {
            text[*at] == self.start && (self.end != Some(self.start) || text[*at - 1] == self.start)
        };
        (1..text.len()).find(is_start)
    }
}

impl ModelInfo {
    /// Creates a description without a start token, for a model that runs its rows [apart](Packing::Apart).
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
            output_start: None,
        }
    }

    /// Returns the maximum length of a text that starts with a prompt of this length: the context, or less if outputs
    /// have their own limit.
    pub(crate) fn longest_text(&self, prompt: usize) -> usize {
        let after = { self.output_start.as_ref() }.map_or(usize::MAX, |start| {
            start.longest.saturating_sub(1 + start.forced.len())
        });
        self.context_length.min(prompt.saturating_add(after))
    }

    /// Sets the width of the [hidden states](crate::model::RowOutput::hidden) that the model returns; `None` if it
    /// returns none.
    #[must_use]
    pub fn with_hidden_width(mut self, width: Option<usize>) -> Self {
        self.hidden_width = width;
        self
    }

    /// Sets the bytes of cache per token.
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

    /// Returns the fixed cost of a run, as the bytes of cache that could be moved in the same time: the weights, which
    /// every run reads once, and for a tiny model the overhead of its operators. A run of the embedded model takes 0.28
    /// ms besides its rows, in which it could move 330 positions, 2 MB; its weights are 2.6 MB.
    pub fn run_cost_bytes(&self) -> usize {
        self.weight_bytes.max(1 << 20)
    }

    /// Sets the start token.
    #[must_use]
    pub fn with_bos(mut self, bos: Option<TokenId>) -> Self {
        self.bos = bos;
        self
    }

    /// Sets which rows the backend can process in one run.
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }
}

/// Which rows the backend can process in one run, so that the scheduler plans steps that the backend need not split.
///
/// Any plan is valid for any packing: [`LanguageModel::run`](crate::LanguageModel::run) splits what its graph cannot
/// run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// One row at a time.
    Apart,
    /// Rows with the same number of tokens share a tensor. Adding or removing a row copies the others.
    Uniform,
    /// A buffer per row: one token each of any number of rows, of any lengths, or several tokens of a single row.
    Slots,
    /// Any number of tokens of any number of rows.
    Ragged,
}

/// Counters of a model, since it was created; the differences between two readings measure a generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelStats {
    /// Number of backend calls.
    pub runs: u64,
    /// Number of tokens run: rows times new tokens.
    pub tokens: u64,
    /// Time inside the backend's own run call, excluding the preparation of inputs and the reading of outputs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_starts_after_the_prompt() {
        let text = |ids: &[u32]| ids.iter().copied().map(TokenId).collect::<Vec<_>>();
        let start = |end: u32, start: u32| OutputStart {
            end: Some(TokenId(end)),
            start: TokenId(start),
            forced: text(&[7]),
            longest: 10,
        };
        let t5 = start(1, 0);
        assert_eq!(t5.tokens().collect::<Vec<_>>(), text(&[1, 0, 7]));
        assert_eq!(t5.place(&text(&[5, 6, 1, 0, 7])), Some(3));
        assert_eq!(t5.place(&text(&[5, 6, 1])), None);
        // A token that starts a text does not start an output; the token that ends the input does, after another such
        // token.
        assert_eq!(t5.place(&text(&[0, 5, 1])), None);
        let bart = start(2, 2);
        assert_eq!(bart.place(&text(&[0, 5, 2])), None);
        assert_eq!(bart.place(&text(&[0, 5, 2, 2, 7])), Some(3));

        let info = ModelInfo::new(9, 20, []);
        assert_eq!(info.longest_text(4), 20);
        let info = ModelInfo {
            output_start: Some(t5),
            ..info
        };
        assert_eq!(info.longest_text(4), 12);
    }
}
