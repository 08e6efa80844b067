//! Prompt lookup: drafts what followed the last tokens when they occurred before.

use structgen_vocab::TokenId;

use super::PromptLookup;

impl PromptLookup {
    /// Returns what followed the last tokens when they last occurred before: at most `most` tokens.
    pub(super) fn find<'t>(&self, tokens: &'t [TokenId], most: usize) -> &'t [TokenId] {
        let (mut longest, mut found) = (0, 0);
        for after in (1..tokens.len()).rev() {
            // No earlier match is longer than its position.
            if longest >= self.longest.min(after) {
                break;
            }
            // Matches that overlap the end are found as well: then the text repeats itself.
            let pairs = tokens[..after].iter().rev().zip(tokens.iter().rev());
            let len = pairs.take(self.longest).take_while(|(a, b)| a == b).count();
            if len > longest {
                (longest, found) = (len, after);
            }
        }
        match longest >= self.shortest.max(1) {
            true => &tokens[found..tokens.len().min(found.saturating_add(most))],
            false => &[],
        }
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
    fn matches_have_any_length_within_the_bounds() {
        let tokens = [7, 1, 2, 3, 4, 8, 2, 3, 4, 9, 1, 2, 3, 4].map(TokenId);
        let find = |shortest, longest| {
            let lookup = PromptLookup { longest, shortest };
            lookup.find(&tokens, 1).first().map(|token| token.0)
        };
        assert_eq!(find(1, 3), Some(9));
        assert_eq!(find(1, 4), Some(8));
        assert_eq!(find(4, usize::MAX), Some(8));
        assert_eq!(find(5, usize::MAX), None);
        assert_eq!(find(3, 2), None);
        assert_eq!(find(0, 0), None);
        // The search takes time linear in the text, however long matches may be.
        let repeated = vec![TokenId(1); 100_000];
        let lookup = PromptLookup {
            longest: usize::MAX,
            shortest: 1,
        };
        assert_eq!(lookup.find(&repeated, 5), [TokenId(1)]);
    }

    #[test]
    fn where_nothing_came_before_there_is_no_draft() {
        assert!(find(&[], 3).is_empty());
        assert!(find(&[1], 3).is_empty());
        assert!(find(&[1, 2, 3], 3).is_empty());
        assert!(find(&[1, 2, 1], 0).is_empty());
    }
}
