//! Counts recent tokens, for the penalties.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::SequenceStart;

/// Capacity that is always reserved, in distinct tokens.
const ROOM: usize = 1024;

/// Which tokens the penalties count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PenaltyScope {
    /// Prompt and output.
    All,
    /// The prompt alone.
    Prompt,
    /// The output alone.
    Output,
}

/// Counts of the tokens in a scope, all of them or the last few.
#[derive(Debug, Clone)]
pub(super) struct TokenCounts {
    scope: PenaltyScope,
    /// The number of last tokens to count; 0 means all.
    window: usize,
    /// The tokens in the window, oldest first. Empty if all count.
    recent: VecDeque<TokenId>,
    /// Sorted by id.
    counts: Vec<(TokenId, u32)>,
}

impl TokenCounts {
    pub(super) fn new(scope: PenaltyScope, window: usize) -> Self {
        let mut counts = Self {
            scope,
            window,
            recent: VecDeque::with_capacity(window.min(ROOM)),
            counts: Vec::new(),
        };
        counts.start_counting(&[]);
        counts
    }

    pub(super) fn reset(&mut self, start: SequenceStart<'_>) {
        let prompt = match self.scope {
            PenaltyScope::All | PenaltyScope::Prompt => start.prompt,
            PenaltyScope::Output => &[],
        };
        let tokens = match self.window {
            0 => prompt,
            window => &prompt[prompt.len().saturating_sub(window)..],
        };
        self.recent.clear();
        if self.window > 0 {
            self.recent.extend(tokens);
        }
        self.start_counting(tokens);
    }

    /// Counts a token of the output.
    pub(super) fn accept(&mut self, token: TokenId) {
        if self.scope == PenaltyScope::Prompt {
            return;
        }
        if self.window > 0 {
            if self.recent.len() == self.window
                && let Some(oldest) = self.recent.pop_front()
            {
                self.forget(oldest);
            }
            self.recent.push_back(token);
        }
        match self.place(token) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (token, 1)),
        }
    }

    /// Returns the counted tokens with their counts, sorted by id.
    pub(super) fn counts(&self) -> &[(TokenId, u32)] {
        &self.counts
    }

    pub(super) fn collect_ids(&self, into: &mut Vec<TokenId>) {
        into.extend(self.counts.iter().map(|&(id, _)| id));
    }

    fn start_counting(&mut self, tokens: &[TokenId]) {
        self.counts.clear();
        self.counts.reserve(ROOM);
        self.counts.extend(tokens.iter().map(|&token| (token, 1)));
        self.counts.sort_unstable();
        self.counts.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 += later.1 * u32::from(same);
            same
        });
    }

    fn forget(&mut self, token: TokenId) {
        if let Ok(at) = self.place(token) {
            self.counts[at].1 -= 1;
            if self.counts[at].1 == 0 {
                self.counts.remove(at);
            }
        }
    }

    fn place(&self, token: TokenId) -> Result<usize, usize> {
        self.counts.binary_search_by_key(&token, |&(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(
        scope: PenaltyScope,
        window: usize,
        prompt: &[u32],
        output: &[u32],
    ) -> Vec<(u32, u32)> {
        let prompt: Vec<_> = prompt.iter().copied().map(TokenId).collect();
        let mut counts = TokenCounts::new(scope, window);
        counts.reset(SequenceStart {
            prompt: &prompt,
            prefilled: 0,
            eos: &[],
        });
        output
            .iter()
            .for_each(|&token| counts.accept(TokenId(token)));
        counts.counts().iter().map(|&(id, n)| (id.0, n)).collect()
    }

    #[test]
    fn scopes_take_the_prompt_the_output_or_both() {
        let counts = |scope| counts(scope, 0, &[5, 3, 5], &[3, 9]);
        assert_eq!(counts(PenaltyScope::All), [(3, 2), (5, 2), (9, 1)]);
        assert_eq!(counts(PenaltyScope::Prompt), [(3, 1), (5, 2)]);
        assert_eq!(counts(PenaltyScope::Output), [(3, 1), (9, 1)]);
    }

    #[test]
    fn a_window_forgets_what_is_older() {
        let counts = |scope| counts(scope, 3, &[1, 2, 3, 4], &[4, 5]);
        assert_eq!(counts(PenaltyScope::All), [(4, 2), (5, 1)]);
        assert_eq!(counts(PenaltyScope::Prompt), [(2, 1), (3, 1), (4, 1)]);
        assert_eq!(counts(PenaltyScope::Output), [(4, 1), (5, 1)]);
    }
}
