use structgen_vocab::TokenId;

use crate::samplers::{Candidates, Sampler};

/// Removes given tokens at every step.
///
/// The processor `SuppressTokens` of transformers. If nothing would be left, the ban is lifted for the step, and
/// counted ([`Candidates::lifted_bans`]): the constraint takes precedence.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, Suppress};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(2), 9.0)]);
/// Suppress::new(vec![TokenId(2)]).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1)]);
/// ```
#[derive(Debug, Clone)]
pub struct Suppress(Vec<TokenId>);

impl Suppress {
    /// Bans these tokens, given in any order.
    pub fn new(mut tokens: Vec<TokenId>) -> Self {
        tokens.sort_unstable();
        tokens.dedup();
        Self(tokens)
    }
}

impl Sampler for Suppress {
    fn apply(&mut self, candidates: &mut Candidates) {
        candidates.ban(&self.0);
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        tokens.extend(&self.0);
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids};

    fn kept(suppressed: &[u32], n: usize) -> (Vec<u32>, usize) {
        let mut c = candidates(&vec![1.0; n]);
        Suppress::new(suppressed.iter().copied().map(TokenId).collect()).apply(&mut c);
        (ids(&c), c.lifted_bans())
    }

    #[test]
    fn takes_away_what_is_named_in_any_order_and_number() {
        assert_eq!(kept(&[3, 0, 3, 900], 5), (vec![1, 2, 4], 0));
        assert_eq!(kept(&[4], 5), (vec![0, 1, 2, 3], 0));
        assert_eq!(kept(&[], 2), (vec![0, 1], 0));
    }

    #[test]
    fn what_would_leave_nothing_is_lifted_and_counted() {
        assert_eq!(kept(&[0, 1], 2), (vec![0, 1], 1));
    }
}
