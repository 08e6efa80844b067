//! The texts of rows, for running them again where the cache does not have what is needed.
//!
//! **States of fixed size** ([`cache::states`](crate::cache::states)) cannot be cut: a row goes back to the last
//! snapshot before the cut, and the tokens from there to the cut are run again, with the next tokens. So a draft that
//! is refused costs its accepted tokens once more, and no run. Where more than a few tokens are missing, they are run
//! by themselves first: that leaves a snapshot where the row was cut, without which each draft after the first would
//! run more of the text again.
//!
//! **LongRoPE** (Ding et al. 2024), as Phi-3 has it: up to the context that such a model was first trained for,
//! positions are rotated by short factors, beyond it by long ones, and a graph of onnxruntime-genai's builder chooses
//! by the length of the text. Keys in the cache have the factors of the run that made them. So a text that grows beyond
//! the border is run again from its beginning, as is one that is cut back; and rows run apart, since one choice holds
//! for all that are run together. A run across the border is cut there where positions up to it are asked for, so that
//! a draft has the logits that its tokens have one after another.

use std::collections::BTreeMap;

use structgen_decode::model::{RowId, RowRun};
use structgen_vocab::TokenId;

/// The most tokens that are run again together with the next ones, and not before them. A token more in a run costs
/// less than a run, and a snapshot less would be needed later.
const TOGETHER: usize = 8;

/// The texts of the rows, for running them again.
#[derive(Debug)]
pub(super) struct RowTexts {
    /// The longest text that has short factors, where there are two sets.
    border: Option<usize>,
    rows: BTreeMap<RowId, Text>,
}

#[derive(Debug, Clone, Default)]
struct Text {
    tokens: Vec<TokenId>,
    /// The length of the text when it was last run, if the cache still has what was computed then.
    computed: Option<usize>,
}

impl RowTexts {
    pub(super) fn new(border: Option<usize>) -> Self {
        let rows = BTreeMap::new();
        Self { border, rows }
    }

    /// Whether long texts have other factors than short ones.
    pub(super) fn has_border(&self) -> bool {
        self.border.is_some()
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
        if let Some(text) = self.rows.get(&row) {
            let tokens = text.tokens[..len.min(text.tokens.len())].to_vec();
            let computed = text.computed;
            self.rows.insert(fork, Text { tokens, computed });
        }
    }

    pub(super) fn cut(&mut self, row: RowId, len: usize) {
        if let Some(text) = self.rows.get_mut(&row) {
            text.tokens.truncate(len);
        }
    }

    /// Whether the cache of a row is of no use for a text that `tokens` more are run after, since the factors change.
    /// Then it is to be emptied, and counts as empty from now on.
    pub(super) fn is_outgrown(&mut self, row: RowId, tokens: usize) -> bool {
        let (Some(border), Some(text)) = (self.border, self.rows.get_mut(&row)) else {
            return false;
        };
        let is_long = text.tokens.len() + tokens > border;
        let holds = text.tokens.is_empty() || { text.computed }
            .is_some_and(|len| (len > border) == is_long);
        if !holds {
            text.computed = None;
        }
        !holds
    }

    /// A run of a text that crosses the border while positions up to it are asked for, as two: of the tokens up to it,
    /// and of all, with the positions beyond it.
    pub(super) fn cut_at_border<'a>(&self, run: &RowRun<'a>) -> Option<[RowRun<'a>; 2]> {
        let len = self.len(run.row)?;
        let before = self.border?.checked_sub(len)?;
        let beyond = run.tokens.len().checked_sub(before)?;
        let is_cut = before > 0 && beyond > 0 && run.positions > beyond;
        is_cut.then(|| {
            let short = RowRun {
                tokens: &run.tokens[..before],
                positions: run.positions - beyond,
                ..*run
            };
            let long = RowRun {
                positions: beyond,
                ..*run
            };
            [short, long]
        })
    }

    /// The fewest tokens that a row without a cache begins a run of `n` with: all keys must have the factors of the
    /// whole text.
    pub(super) fn fewest_at_once(&self, n: usize) -> usize {
        { self.border.filter(|&border| n > border) }.map_or(1, |border| border + 1)
    }

    /// The end of a row's text, of which the cache has the first `cached` tokens, where it is best run by itself first.
    pub(super) fn missing(&self, row: RowId, cached: usize) -> Option<&[TokenId]> {
        let missing = self.rows.get(&row)?.tokens.get(cached..)?;
        // By itself, a text might have other factors than with what follows.
        (missing.len() > TOGETHER && !self.has_border()).then_some(missing)
    }

    /// What must be run so that `tokens` stand after a row's text, of which the cache has the first `cached` tokens;
    /// none where these are all.
    pub(super) fn replayed(
        &self,
        row: RowId,
        cached: usize,
        tokens: &[TokenId],
    ) -> Option<Vec<TokenId>> {
        let missing = self.rows.get(&row)?.tokens.get(cached..)?;
        (!missing.is_empty()).then(|| [missing, tokens].concat())
    }

    /// The row's text has grown by tokens that were run.
    pub(super) fn commit(&mut self, row: RowId, tokens: &[TokenId]) {
        if let Some(text) = self.rows.get_mut(&row) {
            text.tokens.extend_from_slice(tokens);
            text.computed = Some(text.tokens.len());
        }
    }
}

/// The runs, with more of a row's text before the tokens where it is run again.
pub(super) fn with_texts<'a>(
    runs: &[RowRun<'a>],
    texts: &'a [Option<Vec<TokenId>>],
) -> Vec<RowRun<'a>> {
    let pairs = runs.iter().zip(texts);
    let whole = pairs.map(|(run, text)| RowRun {
        tokens: text.as_deref().unwrap_or(run.tokens),
        ..*run
    });
    whole.collect()
}
