//! The rows of one model: the tokens each contains, and those cached for texts with a common prefix.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use super::prefixes::{Kept, PrefixStats};
use crate::demand::RowDemand;
use crate::{LanguageModel, ModelError, model::RowId};

/// The tokens in each row.
#[derive(Debug, Default)]
pub(super) struct RowTokens(BTreeMap<RowId, Vec<TokenId>>);

impl RowTokens {
    /// Appends the tokens of a run to a row.
    pub(super) fn append(&mut self, row: RowId, tokens: &[TokenId]) {
        self.0.entry(row).or_default().extend_from_slice(tokens);
    }
}

/// A model with the tokens of its rows.
pub(super) struct Rows {
    pub(super) model: Box<dyn LanguageModel>,
    tokens: RowTokens,
    kept: Kept,
    /// Maximum bytes of cached rows.
    max_kept_bytes: usize,
    stats: PrefixStats,
}

impl Rows {
    pub(super) fn new(model: Box<dyn LanguageModel>) -> Self {
        Self {
            model,
            tokens: RowTokens::default(),
            kept: Kept::default(),
            max_kept_bytes: 0,
            stats: PrefixStats::default(),
        }
    }

    /// Sets the maximum bytes of rows cached for prompts with a common prefix.
    pub(super) fn keep_prefixes(&mut self, max_bytes: usize) {
        self.max_kept_bytes = max_bytes;
    }

    pub(super) fn prefix_stats(&self) -> PrefixStats {
        PrefixStats {
            kept: self.kept.rows().len(),
            bytes: self.kept_bytes(),
            ..self.stats
        }
    }

    /// Splits the model from the tokens of its rows, so that they can be appended to while a run's output is borrowed.
    pub(super) fn split(&mut self) -> (&mut dyn LanguageModel, &mut RowTokens) {
        (&mut *self.model, &mut self.tokens)
    }

    /// Returns the tokens in a row.
    pub(super) fn tokens(&self, row: RowId) -> &[TokenId] {
        self.tokens.0.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Returns the row with the longest prefix of a text, at most `most` tokens of it, and its length.
    pub(super) fn longest_known(&self, tokens: &[TokenId], most: usize) -> Option<(RowId, usize)> {
        // Among equally long ones, the oldest.
        { self.tokens.0.iter() }
            .map(|(&row, own)| (row, common(own, tokens)))
            .chain(self.kept.longest(tokens))
            .map(|(row, known)| (row, known.min(most)))
            .filter(|&(_, known)| known > 0)
            .max_by_key(|&(row, known)| (known, Reverse(row)))
    }

    /// Opens a row for a new text, with as much of its prefix as is cached, at most `most` tokens; also returns that
    /// length.
    pub(super) fn open(
        &mut self,
        tokens: &[TokenId],
        most: usize,
    ) -> Result<(RowId, usize), ModelError> {
        let Some((known, len)) = self.longest_known(tokens, most) else {
            self.stats.misses += 1;
            let row = self.model.open_row()?;
            self.tokens.0.insert(row, Vec::new());
            return Ok((row, 0));
        };
        self.kept.count_use(known);
        let row = self.fork(known, &tokens[..len])?;
        self.stats.hits += 1;
        self.stats.reused_tokens += len as u64;
        Ok((row, len))
    }

    /// Opens a row with the first tokens of another, which are `tokens`.
    fn fork(&mut self, row: RowId, tokens: &[TokenId]) -> Result<RowId, ModelError> {
        let fork = self.model.fork_row(row, tokens.len())?;
        self.tokens.0.insert(fork, tokens.to_vec());
        Ok(fork)
    }

    fn cut(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        let tokens = self.tokens.0.entry(row).or_default();
        if len < tokens.len() {
            self.model.cut_row(row, len)?;
            tokens.truncate(len);
        }
        Ok(())
    }

    pub(super) fn close(&mut self, row: RowId) {
        self.model.close_row(row);
        self.tokens.0.remove(&row);
    }

    /// Changes `rows` to those that a demand continues. After an error they are still the task's, to be closed with it.
    pub(super) fn continue_rows(
        &mut self,
        rows: &mut Vec<RowId>,
        demanded: &[RowDemand],
    ) -> Result<usize, ModelError> {
        if let [row] = &rows[..]
            && let [demand] = demanded
            && demand.keep > 0
        {
            self.cut(*row, demand.keep)?;
            return Ok(0);
        }
        let mut reused = 0;
        let before = rows.clone();
        if demanded.iter().all(|demand| demand.keep > 0) {
            // Close rows that nothing continues first, to make room for forks.
            let is_continued = |row: &RowId| {
                { demanded.iter() }.any(|demand| before.get(demand.parent) == Some(row))
            };
            for row in rows.extract_if(.., |row| !is_continued(row)) {
                self.close(row);
            }
        }
        let replaced = rows.len();
        for (at, demand) in demanded.iter().enumerate() {
            let parent = before.get(demand.parent).copied();
            let row = match parent {
                Some(parent) if demand.keep > 0 => {
                    let is_last = { demanded[at + 1..].iter() }
                        .all(|later| later.parent != demand.parent || later.keep == 0);
                    match is_last {
                        true => {
                            self.cut(parent, demand.keep)?;
                            parent
                        }
                        false => {
                            let tokens = self.tokens(parent)[..demand.keep].to_vec();
                            self.fork(parent, &tokens)?
                        }
                    }
                }
                _ => {
                    let most = demand.tokens.len() - demand.positions.max(1);
                    // The rows of a demand run the same number of tokens, so they must start with the same cached
                    // length, or empty.
                    let most = if demanded.len() == 1 { most } else { 0 };
                    let (row, known) = self.open(&demand.tokens, most)?;
                    reused = known;
                    row
                }
            };
            rows.push(row);
        }
        let now = rows.split_off(replaced);
        for row in std::mem::replace(rows, now) {
            if !rows.contains(&row) {
                self.close(row);
            }
        }
        Ok(reused)
    }

    /// Releases the rows of a task. A single row is cached for texts with the same prefix, as far as there is room.
    pub(super) fn release(&mut self, rows: Vec<RowId>, may_keep: bool) {
        let keep = may_keep && rows.len() == 1 && self.max_kept_bytes > 0;
        for row in rows {
            match keep {
                true => self.keep(row),
                false => self.close(row),
            }
        }
    }

    fn keep(&mut self, row: RowId) {
        let tokens = self.tokens(row);
        if tokens.is_empty()
            || self.model.row_bytes(row) > self.max_kept_bytes
            || self.kept.covers(tokens)
        {
            return self.close(row);
        }
        if let Some(tokens) = self.tokens.0.remove(&row)
            && let Some(shorter) = self.kept.insert(tokens, row)
        {
            self.model.close_row(shorter);
        }
        self.evict(self.max_kept_bytes);
    }

    /// Closes cached rows, least recently used first, until the others use at most `max_bytes`.
    pub(super) fn evict(&mut self, max_bytes: usize) {
        while self.kept_bytes() > max_bytes
            && let Some(row) = self.kept.take_oldest()
        {
            self.stats.evicted += 1;
            self.model.close_row(row);
        }
    }

    fn kept_bytes(&self) -> usize {
        self.kept.rows().map(|row| self.model.row_bytes(row)).sum()
    }

    /// Returns the bytes of all rows.
    pub(super) fn bytes(&self) -> usize {
        let used = self.tokens.0.keys().map(|&row| self.model.row_bytes(row));
        used.sum::<usize>() + self.kept_bytes()
    }
}

/// Returns the length of the common prefix of two texts.
pub(super) fn common(a: &[TokenId], b: &[TokenId]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
