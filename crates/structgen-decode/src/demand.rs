//! What a task demands of a model, and what it is given.

use std::time::Duration;

use structgen_vocab::TokenId;

use crate::model::RowOutput;

/// Maximum number of rows that a request may ask for.
pub(crate) const MOST_ROWS: usize = 1 << 16;

/// One of the texts that a task has a model read. Each has its own rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Text {
    /// Prompt and output, read by the target model.
    Main,
    /// Another prompt and the output, read by the target model.
    OtherPrompt,
    /// Prompt and output, read by the draft model.
    Draft,
}

impl Text {
    /// All texts, in the order of their indices.
    pub(crate) const ALL: [Self; 3] = [Self::Main, Self::OtherPrompt, Self::Draft];

    /// Returns whether the draft model reads it.
    pub(crate) fn is_drafted(self) -> bool {
        self == Self::Draft
    }
}

/// Tokens to run. The rows of a demand replace the text's rows from the demand before.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) text: Text,
    /// All have the same number of tokens to run.
    pub(crate) rows: Vec<RowDemand>,
    /// Whether the hidden states of the positions are requested too.
    pub(crate) hidden: bool,
}

/// The contents of one row after a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowDemand {
    /// The row of the text's last demand that this one continues; zero for the first demand.
    pub(crate) parent: usize,
    /// The number of the parent's tokens to keep. If zero, this is a new text, and cached tokens of it need not be run.
    pub(crate) keep: usize,
    /// The tokens after these, at least one.
    pub(crate) tokens: Vec<TokenId>,
    /// The number of last positions whose logits are requested.
    pub(crate) positions: usize,
}

impl Demand {
    /// Creates a demand of one row.
    pub(crate) fn row(text: Text, keep: usize, tokens: Vec<TokenId>, positions: usize) -> Self {
        let parent = 0;
        let row = RowDemand {
            parent,
            keep,
            tokens,
            positions,
        };
        Self::rows(text, vec![row])
    }

    /// Creates a demand of several rows.
    pub(crate) fn rows(text: Text, rows: Vec<RowDemand>) -> Self {
        Self {
            text,
            rows,
            hidden: false,
        }
    }

    /// Also requests hidden states if `hidden` is set.
    pub(crate) fn with_hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }
}

/// The results of a run for one demand.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    pub(crate) text: Text,
    /// The number of the demand's first tokens that were cached, and so not run: reported once, with the first run.
    pub(crate) reused: usize,
    /// The number of tokens per row that this run processed.
    pub(crate) tokens: usize,
    /// Whether these were the last of the demand.
    pub(crate) is_done: bool,
    /// The outputs of each row at the requested positions among these tokens.
    pub(crate) rows: &'a [RowOutput<'a>],
    pub(crate) times: RunTimes,
}

/// The times of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunTimes {
    /// Time in [`LanguageModel::run`](crate::LanguageModel::run).
    pub(crate) model: Duration,
    /// The part of it in the backend.
    pub(crate) backend: Duration,
    /// Time spent waiting for a mask after the model had run.
    pub(crate) masks: Duration,
}
