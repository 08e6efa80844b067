//! Prompt lookup: drafts what followed the last tokens when they occurred before.

use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

/// Which tokens to look up, for drafts from prompt and output (Saxena 2023, "prompt lookup decoding").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptLookup {
    /// Maximum number of last tokens to match; longer matches are preferred.
    pub longest: usize,
    /// Minimum number of last tokens to match; at least one.
    pub shortest: usize,
}

impl Default for PromptLookup {
    /// From three tokens down to one.
    fn default() -> Self {
        Self {
            longest: 3,
            shortest: 1,
        }
    }
}

impl PromptLookup {
    /// Returns what followed the last tokens when they last occurred before: at most `most` tokens.
    pub(super) fn find<'t>(&self, tokens: &'t [TokenId], most: usize) -> &'t [TokenId] {
        for n in (self.shortest.max(1)..=self.longest).rev() {
            let Some(at) = tokens.len().checked_sub(n) else {
                continue;
            };
            let last = &tokens[at..];
            // Matches that overlap the end are found as well: then the text repeats itself.
            let earlier = tokens[..tokens.len() - 1].windows(n);
            if let Some(found) = earlier.rev().position(|window| window == last) {
                let after = tokens.len() - 1 - found;
                return &tokens[after..tokens.len().min(after + most)];
            }
        }
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(tokens: &[u32], most: usize) -> Vec<u32> {
        let tokens: Vec<TokenId> = tokens.iter().copied().map(TokenId).collect();
        let found = PromptLookup::default().find(&tokens, most);
        found.iter().map(|token| token.0).collect()
    }

    #[test]
    fn longer_matches_go_before_later_ones() {
        assert_eq!(find(&[1, 2, 3, 9, 3, 7, 1, 2, 3], 2), [9, 3]);
        assert_eq!(find(&[5, 3, 9, 6, 3, 7, 3], 5), [7, 3]);
    }

    #[test]
    fn a_text_that_repeats_itself_goes_on() {
        assert_eq!(find(&[4, 4], 3), [4]);
        assert_eq!(find(&[1, 2, 1, 2, 1, 2], 3), [1, 2]);
    }

    #[test]
    fn where_nothing_came_before_there_is_no_draft() {
        assert!(find(&[], 3).is_empty());
        assert!(find(&[1], 3).is_empty());
        assert!(find(&[1, 2, 3], 3).is_empty());
        assert!(find(&[1, 2, 1], 0).is_empty());
    }
}
