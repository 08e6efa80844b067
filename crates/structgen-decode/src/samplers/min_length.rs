use structgen_vocab::TokenId;

use super::SequenceStart;
use super::history::sort_ids;
use crate::samplers::{Accepted, Candidates, Sampler};

/// Removes the end-of-sequence tokens until prompt and output, or the output alone, have a minimum number of tokens.
///
/// The processors `MinLength` and `MinNewTokensLength` of transformers. If the constraint allows only the end, the ban
/// is lifted for the step, and counted ([`Candidates::lifted_bans`]).
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, MinLength, Sampler, SequenceStart};
/// use structgen_vocab::TokenId;
///
/// let mut min = MinLength::new(0, 1);
/// min.reset(SequenceStart { prompt: &[], prefilled: 0, eos: &[TokenId(9)] });
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(9), 3.0)]);
/// min.apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1)]);
/// ```
#[derive(Debug, Clone)]
pub struct MinLength {
    min_length: usize,
    min_new_tokens: usize,
    prompt: usize,
    tokens: usize,
    eos: Vec<TokenId>,
}

impl MinLength {
    /// Requires `min_length` tokens of prompt and output together, and `min_new_tokens` of output.
    pub fn new(min_length: usize, min_new_tokens: usize) -> Self {
        Self {
            min_length,
            min_new_tokens,
            prompt: 0,
            tokens: 0,
            eos: Vec::new(),
        }
    }
}

impl Sampler for MinLength {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.prompt + self.tokens < self.min_length || self.tokens < self.min_new_tokens {
            candidates.ban(&self.eos);
        }
    }

    fn accept(&mut self, _: Accepted) {
        self.tokens += 1;
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.prompt = start.prompt.len();
        self.tokens = 0;
        self.eos.clear();
        self.eos.extend_from_slice(start.eos);
        sort_ids(&mut self.eos);
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        tokens.extend(&self.eos);
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, token};

    fn kept(sampler: &mut MinLength, logits: &[f32]) -> (Vec<u32>, usize) {
        let mut c = candidates(logits);
        sampler.apply(&mut c);
        sampler.accept(Accepted::certain(token(0)));
        (ids(&c), c.lifted_bans())
    }

    fn start(sampler: &mut MinLength) {
        sampler.reset(SequenceStart {
            prompt: &[token(5)],
            prefilled: 0,
            eos: &[token(2), token(1)],
        });
    }

    #[test]
    fn the_whole_length_counts_the_prompt() {
        let mut sampler = MinLength::new(2, 0);
        start(&mut sampler);
        assert_eq!(kept(&mut sampler, &[0.0; 3]), (vec![0], 0));
        assert_eq!(kept(&mut sampler, &[0.0; 3]), (vec![0, 1, 2], 0));
    }

    #[test]
    fn new_tokens_do_not() {
        let mut sampler = MinLength::new(0, 2);
        start(&mut sampler);
        let lens: Vec<_> = (0..3)
            .map(|_| kept(&mut sampler, &[0.0; 3]).0.len())
            .collect();
        assert_eq!(lens, [1, 1, 3]);
    }

    #[test]
    fn where_only_the_end_is_left_it_stays() {
        let mut sampler = MinLength::new(0, 2);
        start(&mut sampler);
        let mut c = Candidates::from_pairs([(token(1), 1.0)]);
        sampler.apply(&mut c);
        assert_eq!((ids(&c), c.lifted_bans()), (vec![1], 1));
    }
}
