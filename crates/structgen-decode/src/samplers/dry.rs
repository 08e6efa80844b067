use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::SequenceStart;
use super::history::{History, sort_ids};
use crate::{
    numeric,
    samplers::{Accepted, Candidates, Sampler},
};

/// The largest exponent times `ln(base)`: beyond it the penalty exceeds the range of `f32`.
const LARGEST: f64 = 88.722_839_1;

/// How the DRY sampler penalises repetition. The defaults are llama.cpp's, without breakers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DryParams {
    /// The penalty of a repetition of `allowed_length` tokens, in logit units; zero is off.
    pub multiplier: f32,
    /// The factor by which each further token multiplies the penalty; at least one.
    pub base: f32,
    /// Repetitions of fewer tokens are not penalised.
    pub allowed_length: usize,
    /// The number of last tokens to search; 0 means all.
    pub range: usize,
    /// Token sequences that no repetition extends across, such as line breaks.
    pub breakers: Vec<Vec<u32>>,
}

impl Default for DryParams {
    fn default() -> Self {
        Self {
            multiplier: 0.8,
            base: 1.75,
            allowed_length: 2,
            range: 0,
            breakers: Vec::new(),
        }
    }
}

/// Subtracts `m * base^(len - allowed)` from the logits of tokens that would continue a repetition of `len` tokens.
///
/// "Don't repeat yourself", by p-e-w (text-generation-webui #5677), with the details of llama.cpp: `len` is the length
/// of the longest suffix of prompt and output that has occurred before, followed by the token. Repetitions shorter than
/// `allowed` are free. No suffix extends beyond the last breaker, and a breaker of one token is never penalised. The
/// exponent is capped at the range of `f32`. A step is linear in the range (Z-algorithm, Gusfield 1997).
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, Dry, DryParams, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut dry = Dry::new(&DryParams { multiplier: 1.0, base: 2.0, allowed_length: 1, ..DryParams::default() });
/// for token in [5, 6, 2, 5, 6] {
///     dry.accept(Accepted::certain(TokenId(token)));
/// }
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.0), (TokenId(2), 0.0)]);
/// dry.apply(&mut candidates);
/// assert_eq!(candidates.logits(), [0.0, -2.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Dry {
    multiplier: f32,
    base: f32,
    allowed: usize,
    range: usize,
    max_exponent: usize,
    breakers: Vec<Vec<TokenId>>,
    /// Breakers of one token, sorted.
    single: Vec<TokenId>,
    history: History,
    /// For each position, counted from the end, how many tokens before it equal the last ones.
    repeats: Vec<usize>,
    /// The tokens that would continue a repetition, with its length; `None` if not computed yet.
    found: Vec<(TokenId, usize)>,
    searched: bool,
}

impl Dry {
    /// Creates a sampler with parameters that [`SamplingParams::validate`](crate::SamplingParams::validate) accepts.
    pub fn new(params: &DryParams) -> Self {
        let breakers = params.breakers.iter().filter(|tokens| !tokens.is_empty());
        let breakers: Vec<Vec<TokenId>> = breakers
            .map(|tokens| tokens.iter().copied().map(TokenId).collect())
            .collect();
        let single = breakers.iter().filter(|tokens| tokens.len() == 1);
        let mut single = single.flatten().copied().collect();
        sort_ids(&mut single);
        let base = f64::from(params.base);
        let max_exponent = if base > 1.000_001 {
            (LARGEST / numeric::ln(base)) as usize
        } else {
            usize::MAX
        };
        Self {
            multiplier: params.multiplier,
            base: params.base,
            allowed: params.allowed_length,
            range: params.range,
            max_exponent,
            breakers,
            single,
            history: History::new(),
            repeats: Vec::with_capacity(4096),
            found: Vec::with_capacity(1024),
            searched: false,
        }
    }

    /// Returns the last tokens, as many as are searched.
    fn recent(&self) -> &[TokenId] {
        let tokens = self.history.tokens();
        match self.range {
            0 => tokens,
            range => &tokens[tokens.len().saturating_sub(range)..],
        }
    }

    /// Finds the tokens that would continue a repetition, each with the longest one.
    fn search(&mut self) {
        if std::mem::replace(&mut self.searched, true) {
            return;
        }
        self.found.clear();
        let mut repeats = std::mem::take(&mut self.repeats);
        let mut found = std::mem::take(&mut self.found);
        let tokens = self.recent();
        if tokens.len() > self.allowed {
            let limit = self.since_breaker(tokens);
            if limit >= self.allowed {
                suffixes(tokens, &mut repeats);
                let last = tokens.len() - 1;
                for (k, &len) in repeats.iter().enumerate().skip(1) {
                    if len.min(limit) >= self.allowed {
                        found.push((tokens[last + 1 - k], len.min(limit)));
                    }
                }
                found.sort_unstable_by_key(|&(token, len)| (token, std::cmp::Reverse(len)));
                found.dedup_by_key(|&mut (token, _)| token);
                found.retain(|(token, _)| self.single.binary_search(token).is_err());
            }
        }
        self.repeats = repeats;
        self.found = found;
    }

    /// Returns the number of tokens after the last breaker.
    fn since_breaker(&self, tokens: &[TokenId]) -> usize {
        for start in (0..tokens.len()).rev() {
            let here = self
                .breakers
                .iter()
                .filter(|b| tokens[start..].starts_with(b));
            if let Some(longest) = here.map(Vec::len).max() {
                return tokens.len() - start - longest;
            }
        }
        tokens.len()
    }
}

impl Sampler for Dry {
    fn apply(&mut self, candidates: &mut Candidates) {
        self.search();
        let (allowed, max_exponent) = (self.allowed, self.max_exponent);
        let (multiplier, base) = (f64::from(self.multiplier), f64::from(self.base));
        candidates.change_logits_of(&self.found, |logit, len| {
            let exponent = (len - allowed).min(max_exponent);
            logit - (multiplier * numeric::power(base, exponent)) as f32
        });
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
        tokens.extend(self.found.iter().map(|&(token, _)| token));
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// Computes for each `k` how many tokens, ending `k` positions before the last, equal the last ones: the Z-algorithm,
/// from the end.
fn suffixes(tokens: &[TokenId], z: &mut Vec<usize>) {
    let n = tokens.len();
    let at = |i: usize| tokens[n - 1 - i];
    z.clear();
    z.resize(n, 0);
    // The match that extends farthest starts at `left` and ends before `right`.
    let (mut left, mut right) = (0, 0);
    for k in 1..n {
        let mut len = if k < right {
            z[k - left].min(right - k)
        } else {
            0
        };
        while k + len < n && at(len) == at(k + len) {
            len += 1;
        }
        if k + len > right {
            (left, right) = (k, k + len);
        }
        z[k] = len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;

    fn params() -> DryParams {
        DryParams {
            multiplier: 1.0,
            base: 2.0,
            ..DryParams::default()
        }
    }

    fn penalties(params: &DryParams, seen: &[u32]) -> Vec<f32> {
        let mut sampler = Dry::new(params);
        seen.iter()
            .for_each(|&id| sampler.accept(Accepted::certain(TokenId(id))));
        let mut c = candidates(&[0.0; 6]);
        sampler.apply(&mut c);
        c.logits().iter().map(|l| 0.0 - l).collect()
    }

    #[test]
    fn the_longest_repetition_counts() {
        // "1 2 3" occurs before followed by 4, "2 3" by 5, and "3" by nothing new.
        let seen = [1, 2, 3, 4, 0, 2, 3, 5, 1, 2, 3];
        assert_eq!(penalties(&params(), &seen), [0.0, 0.0, 0.0, 0.0, 2.0, 1.0]);
    }

    #[test]
    fn a_repetition_may_overlap_itself() {
        assert_eq!(penalties(&params(), &[3, 3, 3, 3])[3], 2.0);
    }

    #[test]
    fn breakers_end_a_repetition_and_are_free() {
        let with = |breakers: &[&[u32]]| DryParams {
            breakers: breakers.iter().map(|b| b.to_vec()).collect(),
            ..params()
        };
        let seen = [1, 2, 3, 4, 1, 2, 3];
        assert_eq!(penalties(&params(), &seen)[4], 2.0);
        assert_eq!(penalties(&with(&[&[1]]), &seen)[4], 1.0);
        assert_eq!(penalties(&with(&[&[1, 2]]), &seen)[4], 0.0);
        assert_eq!(penalties(&with(&[&[4]]), &seen)[4], 0.0);
        assert_eq!(penalties(&with(&[&[], &[5]]), &seen)[4], 2.0);
    }

    #[test]
    fn the_range_bounds_the_search() {
        let near = |range| penalties(&DryParams { range, ..params() }, &[1, 2, 3, 4, 1, 2, 3])[4];
        assert_eq!(near(7), 2.0);
        assert_eq!(near(6), 1.0);
        assert_eq!(near(2), 0.0);
    }

    #[test]
    fn long_repetitions_stay_finite() {
        let seen = [1; 3000];
        assert!(penalties(&params(), &seen)[1].is_finite());
        let flat = DryParams {
            base: 1.0,
            ..params()
        };
        assert_eq!(penalties(&flat, &seen)[1], 1.0);
    }

    #[test]
    fn the_z_algorithm_equals_the_definition() {
        let mut state = 1u32;
        for n in 0..60 {
            let tokens: Vec<TokenId> = (0..n)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    TokenId((state >> 24) % 3)
                })
                .collect();
            let mut z = Vec::new();
            suffixes(&tokens, &mut z);
            let back: Vec<_> = tokens.iter().rev().collect();
            for k in 1..n {
                let same = back.iter().zip(&back[k..]).take_while(|(a, b)| a == b);
                assert_eq!(z[k], same.count());
            }
        }
    }
}
