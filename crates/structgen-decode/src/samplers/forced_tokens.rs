use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use super::SequenceStart;
use crate::samplers::{Accepted, Candidates, Sampler};

/// Forces the tokens at given positions of the output, counted from zero.
///
/// Like the processors for forced first and last tokens in transformers, but at any position. If the constraint does
/// not allow the token, it is not forced, and this counts as a lifted ban ([`Candidates::lifted_bans`]).
///
/// ```
/// use std::collections::BTreeMap;
/// use structgen_decode::samplers::{Candidates, ForcedTokens, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(2), 9.0)]);
/// ForcedTokens::new(BTreeMap::from([(0, TokenId(1))])).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1)]);
/// ```
#[derive(Debug, Clone)]
pub struct ForcedTokens {
    forced: BTreeMap<usize, TokenId>,
    position: usize,
}

impl ForcedTokens {
    /// Forces `forced[i]` as token number `i` of the output.
    pub fn new(forced: BTreeMap<usize, TokenId>) -> Self {
        Self {
            forced,
            position: 0,
        }
    }
}

impl Sampler for ForcedTokens {
    fn apply(&mut self, candidates: &mut Candidates) {
        if let Some(&token) = self.forced.get(&self.position) {
            candidates.force(token);
        }
    }

    fn accept(&mut self, _: Accepted) {
        self.position += 1;
    }

    fn reset(&mut self, _: SequenceStart<'_>) {
        self.position = 0;
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids};

    #[test]
    fn forces_at_its_place_only_and_never_what_is_not_allowed() {
        let mut sampler = ForcedTokens::new(BTreeMap::from([(1, TokenId(2)), (2, TokenId(9))]));
        let mut step = || {
            let mut c = candidates(&[5.0, 1.0, 0.0]);
            sampler.apply(&mut c);
            sampler.accept(Accepted::certain(TokenId(0)));
            (ids(&c), c.lifted_bans())
        };
        assert_eq!(step(), (vec![0, 1, 2], 0));
        assert_eq!(step(), (vec![2], 0));
        assert_eq!(step(), (vec![0, 1, 2], 1));
        assert_eq!(step(), (vec![0, 1, 2], 0));
    }
}
