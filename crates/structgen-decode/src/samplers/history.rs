//! All tokens so far, for samplers that look for repetitions.

use structgen_vocab::TokenId;

use super::SequenceStart;

/// Capacity that is always reserved, in tokens.
const ROOM: usize = 4096;

/// Prompt and output, oldest first.
#[derive(Debug, Clone)]
pub(super) struct History(Vec<TokenId>);

impl History {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(ROOM))
    }

    pub(super) fn reset(&mut self, start: SequenceStart<'_>) {
        self.0.clear();
        self.0.reserve(start.prompt.len() + ROOM);
        self.0.extend_from_slice(start.prompt);
    }

    pub(super) fn accept(&mut self, token: TokenId) {
        self.0.push(token);
    }

    pub(super) fn tokens(&self) -> &[TokenId] {
        &self.0
    }
}

/// Sorts and deduplicates ids, as bans require.
pub(super) fn sort_ids(ids: &mut Vec<TokenId>) {
    if !ids.is_sorted() {
        ids.sort_unstable();
    }
    ids.dedup();
}
