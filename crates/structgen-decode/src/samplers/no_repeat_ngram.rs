use structgen_vocab::TokenId;

use super::SequenceStart;
use super::history::{History, sort_ids};
use crate::samplers::{Accepted, Candidates, Sampler};

/// Removes every token that would complete a sequence of `n` tokens that has occurred before.
///
/// The processor `NoRepeatNGram` of transformers, after fairseq. Prompt and output both count. An `n` of 1 bans every
/// token seen so far; 0 is off. If nothing would be left, the ban is lifted for the step, and counted
/// ([`Candidates::lifted_bans`]). A step is linear in the number of tokens so far.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, NoRepeatNGram, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut no_repeat = NoRepeatNGram::new(2);
/// for token in [5, 2, 5] {
///     no_repeat.accept(Accepted::certain(TokenId(token)));
/// }
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(2), 9.0)]);
/// no_repeat.apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1)]);
/// ```
#[derive(Debug, Clone)]
pub struct NoRepeatNGram {
    n: usize,
    history: History,
    /// The tokens that would repeat a sequence; `None` if not computed yet.
    banned: Vec<TokenId>,
    searched: bool,
}

impl NoRepeatNGram {
    /// Bans repetitions of `n` tokens.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            history: History::new(),
            banned: Vec::with_capacity(1024),
            searched: false,
        }
    }

    fn search(&mut self) {
        if std::mem::replace(&mut self.searched, true) {
            return;
        }
        self.banned.clear();
        let Some(before) = self.n.checked_sub(1) else {
            return;
        };
        let tokens = self.history.tokens();
        let suffix = &tokens[tokens.len().saturating_sub(before)..];
        let repeats = tokens.windows(self.n).filter(|w| w[..before] == *suffix);
        self.banned.extend(repeats.map(|window| window[before]));
        sort_ids(&mut self.banned);
    }
}

impl Sampler for NoRepeatNGram {
    fn apply(&mut self, candidates: &mut Candidates) {
        self.search();
        candidates.ban(&self.banned);
    }

    fn accept(&mut self, accepted: Accepted) {
        self.history.accept(accepted.token);
        self.searched = false;
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.history.reset(start);
        self.searched = false;
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        self.search();
        tokens.extend(&self.banned);
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

    fn kept(n: usize, seen: &[u32]) -> Vec<u32> {
        let mut sampler = NoRepeatNGram::new(n);
        seen.iter()
            .for_each(|&id| sampler.accept(Accepted::certain(TokenId(id))));
        let mut c = candidates(&[0.0; 5]);
        sampler.apply(&mut c);
        ids(&c)
    }

    #[test]
    fn bans_what_followed_the_same_tokens() {
        assert_eq!(kept(2, &[1, 2, 1, 3, 1]), [0, 1, 4]);
        assert_eq!(kept(3, &[1, 2, 4, 0, 1, 2]), [0, 1, 2, 3]);
        assert_eq!(kept(3, &[2, 2, 2]), [0, 1, 3, 4]);
    }

    #[test]
    fn one_bans_all_that_was_seen_and_zero_nothing() {
        assert_eq!(kept(1, &[1, 4, 1]), [0, 2, 3]);
        assert_eq!(kept(0, &[1, 4, 1]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn too_few_tokens_repeat_nothing() {
        assert_eq!(kept(3, &[1]), [0, 1, 2, 3, 4]);
        assert_eq!(kept(3, &[]), [0, 1, 2, 3, 4]);
        assert_eq!(kept(usize::MAX, &[1, 1]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_ban_on_everything_is_lifted() {
        assert_eq!(kept(1, &[0, 1, 2, 3, 4]), [0, 1, 2, 3, 4]);
    }
}
