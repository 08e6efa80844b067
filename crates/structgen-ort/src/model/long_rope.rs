//! Models with two sets of rotary factors: LongRoPE (Ding et al. 2024), as Phi-3 has it.
//!
//! Up to the context that such a model was first trained for, positions are rotated by short factors, beyond it by long
//! ones, and a graph of onnxruntime-genai's builder chooses by the length of the text. Keys in the cache have the
//! factors of the run that made them. So a text that grows beyond the border is run again from its beginning, as is one
//! that is cut back; and rows run apart, since one choice holds for all that are run together.

use std::collections::BTreeMap;

use structgen_decode::model::RowId;
use structgen_vocab::TokenId;

/// The texts of the rows, for running them again.
#[derive(Debug)]
pub(super) struct RowTexts {
    /// The longest text that has short factors.
    border: usize,
    rows: BTreeMap<RowId, Text>,
}

#[derive(Debug, Clone, Default)]
struct Text {
    tokens: Vec<TokenId>,
    /// The length of the text when it was last run, if the cache still has what was computed then.
    computed: Option<usize>,
}

impl RowTexts {
    pub(super) fn new(border: usize) -> Self {
        let rows = BTreeMap::new();
        Self { border, rows }
    }

    pub(super) fn open(&mut self, row: RowId) {
        self.rows.insert(row, Text::default());
    }

    pub(super) fn close(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    pub(super) fn len(&self, row: RowId) -> Option<usize> {
        self.rows.get(&row).map(|text| text.tokens.len())
    }

    pub(super) fn fork(&mut self, row: RowId, len: usize, fork: RowId) {
        if let Some(mut text) = self.rows.get(&row).cloned() {
            text.tokens.truncate(len);
            self.rows.insert(fork, text);
        }
    }

    pub(super) fn cut(&mut self, row: RowId, len: usize) {
        if let Some(text) = self.rows.get_mut(&row) {
            text.tokens.truncate(len);
        }
    }

    /// What must be run so that `tokens` stand after a row's text: all of it where the factors change. Then the cache
    /// of the row is to be emptied first, and counts as empty from now on.
    pub(super) fn replayed(&mut self, row: RowId, tokens: &[TokenId]) -> Option<Vec<TokenId>> {
        let border = self.border;
        let text = self.rows.get_mut(&row)?;
        let is_long = text.tokens.len() + tokens.len() > border;
        let holds = text.tokens.is_empty() || { text.computed }
            .is_some_and(|len| (len > border) == is_long);
        if holds {
            return None;
        }
        text.computed = None;
        Some([&text.tokens, tokens].concat())
    }

    /// The row's text has grown by tokens that were run.
    pub(super) fn commit(&mut self, row: RowId, tokens: &[TokenId]) {
        if let Some(text) = self.rows.get_mut(&row) {
            text.tokens.extend_from_slice(tokens);
            text.computed = Some(text.tokens.len());
        }
    }
}
