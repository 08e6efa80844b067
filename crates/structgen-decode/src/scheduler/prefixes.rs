//! The prefix cache: rows kept for texts with a common prefix.

use std::collections::BTreeMap;
use std::ops::Bound;

use structgen_vocab::TokenId;

use super::rows::common;
use crate::model::RowId;

/// Statistics of the prefix cache, which keeps the rows of finished requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PrefixStats {
    /// Texts with a cached prefix.
    pub hits: u64,
    /// Texts without one.
    pub misses: u64,
    /// Tokens that need not be run again.
    pub reused_tokens: u64,
    /// Cached texts that were evicted.
    pub evicted: u64,
    /// Texts in the cache now.
    pub kept: usize,
    /// Bytes of these.
    pub bytes: usize,
}

impl PrefixStats {
    /// Adds the statistics of another scheduler.
    pub(crate) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.reused_tokens += other.reused_tokens;
        self.evicted += other.evicted;
        self.kept += other.kept;
        self.bytes += other.bytes;
    }
}

/// Rows that no task uses, by their texts, none of which is a prefix of another.
///
/// In lexicographic order, the text with the longest common prefix is a neighbour.
#[derive(Default)]
pub(super) struct Kept {
    texts: BTreeMap<Vec<TokenId>, KeptRow>,
    uses: u64,
}

struct KeptRow {
    row: RowId,
    /// The sequence number of its last use.
    used: u64,
}

type Entry<'k> = (&'k Vec<TokenId>, &'k KeptRow);

impl Kept {
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = RowId> {
        self.texts.values().map(|kept| kept.row)
    }

    /// Returns the row with the longest common prefix, and its length in tokens.
    pub(super) fn longest(&self, text: &[TokenId]) -> Option<(RowId, usize)> {
        let (before, after) = self.neighbours(text);
        let found = { before.into_iter().chain(after) }
            .map(|(tokens, kept)| (kept.row, common(tokens, text)));
        found.max_by_key(|&(_, known)| known)
    }

    /// Counts a use of a row, if it is cached.
    pub(super) fn count_use(&mut self, row: RowId) {
        self.uses += 1;
        let kept = self.texts.values_mut().find(|kept| kept.row == row);
        if let Some(kept) = kept {
            kept.used = self.uses;
        }
    }

    /// Returns whether this text is a prefix of some cached text.
    pub(super) fn covers(&self, text: &[TokenId]) -> bool {
        let (_, after) = self.neighbours(text);
        after.is_some_and(|(tokens, _)| tokens.starts_with(text))
    }

    /// Caches a row; returns the row whose text is a prefix of this one, which is removed.
    pub(super) fn insert(&mut self, text: Vec<TokenId>, row: RowId) -> Option<RowId> {
        let (before, _) = self.neighbours(&text);
        let shorter = before.filter(|(tokens, _)| text.starts_with(tokens));
        let shorter = shorter.map(|(tokens, _)| tokens.clone());
        let replaced = shorter.and_then(|tokens| self.texts.remove(&tokens));
        self.uses += 1;
        let used = self.uses;
        self.texts.insert(text, KeptRow { row, used });
        replaced.map(|kept| kept.row)
    }

    /// Removes the least recently used row.
    pub(super) fn take_oldest(&mut self) -> Option<RowId> {
        let oldest = self.texts.iter().min_by_key(|(_, kept)| kept.used);
        let text = oldest?.0.clone();
        self.texts.remove(&text).map(|kept| kept.row)
    }

    /// Returns the last text before this one, and the first that is equal or comes after it.
    fn neighbours(&self, text: &[TokenId]) -> (Option<Entry<'_>>, Option<Entry<'_>>) {
        let before = (Bound::Unbounded, Bound::Excluded(text));
        let after = (Bound::Included(text), Bound::Unbounded);
        (
            self.texts.range::<[TokenId], _>(before).next_back(),
            self.texts.range::<[TokenId], _>(after).next(),
        )
    }
}
