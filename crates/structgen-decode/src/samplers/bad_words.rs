use structgen_vocab::TokenId;

use super::SequenceStart;
use super::history::{History, sort_ids};
use crate::samplers::{Accepted, Candidates, Sampler};

/// Removes the last token of every banned sequence if its other tokens have just been generated.
///
/// The processor `NoBadWords` of transformers. A sequence may start in the prompt; a sequence of one token is never
/// allowed. Sequences consist of tokens: the same text in other tokens is another sequence. If nothing would be left,
/// the ban is lifted for the step, and counted ([`Candidates::lifted_bans`]).
///
/// ```
/// use structgen_decode::samplers::{Accepted, BadWords, Candidates, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut bad = BadWords::new(vec![vec![TokenId(7), TokenId(2)]]);
/// bad.accept(Accepted::certain(TokenId(7)));
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(2), 9.0)]);
/// bad.apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1)]);
/// ```
#[derive(Debug, Clone)]
pub struct BadWords {
    sequences: Vec<Vec<TokenId>>,
    history: History,
    banned: Vec<TokenId>,
}

impl BadWords {
    /// Bans these sequences; empty ones ban nothing.
    pub fn new(sequences: Vec<Vec<TokenId>>) -> Self {
        Self {
            banned: Vec::with_capacity(sequences.len()),
            sequences,
            history: History::new(),
        }
    }
}

impl Sampler for BadWords {
    fn apply(&mut self, candidates: &mut Candidates) {
        self.banned.clear();
        for sequence in &self.sequences {
            if let Some((&last, before)) = sequence.split_last()
                && self.history.tokens().ends_with(before)
            {
                self.banned.push(last);
            }
        }
        sort_ids(&mut self.banned);
        candidates.ban(&self.banned);
    }

    fn accept(&mut self, accepted: Accepted) {
        self.history.accept(accepted.token);
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.history.reset(start);
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        tokens.extend(self.sequences.iter().filter_map(|s| s.last()));
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

    fn kept(sequences: &[&[u32]], seen: &[u32]) -> Vec<u32> {
        let tokens = |ids: &[u32]| ids.iter().copied().map(TokenId).collect::<Vec<_>>();
        let mut sampler = BadWords::new(sequences.iter().map(|s| tokens(s)).collect());
        sampler.reset(SequenceStart {
            prompt: &tokens(seen),
            prefilled: 0,
            eos: &[],
        });
        let mut c = candidates(&[0.0; 4]);
        sampler.apply(&mut c);
        ids(&c)
    }

    #[test]
    fn bans_the_last_token_behind_the_others() {
        assert_eq!(kept(&[&[1, 2]], &[0, 1]), [0, 1, 3]);
        assert_eq!(kept(&[&[1, 2]], &[1, 0]), [0, 1, 2, 3]);
        assert_eq!(kept(&[&[3], &[1, 2], &[0, 1, 2]], &[0, 1]), [0, 1]);
    }

    #[test]
    fn longer_sequences_than_there_are_tokens_and_empty_ones_ban_nothing() {
        assert_eq!(kept(&[&[0, 1, 2], &[]], &[1]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_ban_on_everything_is_lifted() {
        assert_eq!(kept(&[&[0], &[1], &[2], &[3]], &[]), [0, 1, 2, 3]);
    }
}
