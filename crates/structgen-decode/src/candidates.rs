//! The allowed tokens of one step with their logits, in buffers that are used again step after step.

use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use crate::masked;
use crate::numeric::{self, LaneSum};
use crate::{AllowedTokens, SequenceRng, Temperature};

/// Allowed tokens and their logits, lowest id first.
///
/// Filled from a mask, changed by samplers, drawn from. Tokens outside the mask and tokens whose logit is `-inf` or NaN
/// are not in it. The order by id never changes, so that sums and draws do not depend on how the tokens got here.
///
/// ```
/// use structgen_decode::{Candidates, PlainMask};
/// use structgen_vocab::{TokenId, TokenMask};
///
/// let mut mask = TokenMask::new(4);
/// mask.allow_all(&[TokenId(1), TokenId(3)]);
/// let mut candidates = Candidates::default();
/// candidates.fill(&[9.0, 0.5, 9.0, 1.5], &PlainMask::new(mask), &[]);
/// assert_eq!(candidates.ids(), [TokenId(1), TokenId(3)]);
/// assert_eq!(candidates.largest(), Some((TokenId(3), 1.5)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    ids: Vec<TokenId>,
    logits: Vec<f32>,
    weights: Vec<f32>,
    keys: Vec<u64>,
    head: Vec<(f32, TokenId)>,
}

impl Candidates {
    /// Candidates from pairs of id and logit; later pairs of the same id are left out.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (TokenId, f32)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|&(id, _)| id);
        pairs.dedup_by_key(|&mut (id, _)| id);
        let mut candidates = Self::default();
        for (id, logit) in pairs {
            candidates.push(id, logit);
        }
        candidates
    }

    /// Replaces the candidates by the tokens of `allowed` less `banned`, which is sorted, with their logits.
    ///
    /// Ids at or beyond `logits.len()` have no logit and are left out.
    pub fn fill(&mut self, logits: &[f32], allowed: &impl AllowedTokens, banned: &[TokenId]) {
        self.ids.clear();
        self.logits.clear();
        if let Some(list) = allowed.list() {
            for &id in list {
                if let Some(&logit) = logits.get(id.index())
                    && banned.binary_search(&id).is_err()
                {
                    self.push(id, logit);
                }
            }
            return;
        }
        for_each_word(allowed, banned, |base, mut word| {
            while word != 0 {
                let id = base + word.trailing_zeros();
                word &= word - 1;
                if let Some(&logit) = logits.get(id as usize) {
                    self.push(TokenId(id), logit);
                }
            }
        });
    }

    /// [`fill`](Candidates::fill), then [`keep_largest`](Candidates::keep_largest) by what `temperature` will make of the logits.
    ///
    /// The logits stay as they are, and those that are too small are never copied. Dividing by a temperature can make two
    /// different logits equal, and then the lower id goes first: therefore it is counted in.
    pub(crate) fn fill_largest(
        &mut self,
        logits: &[f32],
        allowed: &impl AllowedTokens,
        banned: &[TokenId],
        k: usize,
        temperature: f32,
    ) {
        self.ids.clear();
        self.logits.clear();
        self.keys.clear();
        if k == 0 {
            return;
        }
        let temperature = Temperature::new(temperature);
        let mut max = 0.0;
        let shift = temperature.shift(|| {
            max = masked::max(logits, allowed, banned);
            max
        });
        if max == f32::INFINITY {
            // The infinite logit may fall to one that becomes infinite: then the temperature has to see them all.
            self.fill(logits, allowed, banned);
            return;
        }
        let room = k.saturating_mul(2).max(k + 64);
        let mut threshold = f32::NEG_INFINITY;
        masked::for_each_above(logits, allowed, banned, |id, logit| {
            self.keys
                .push(key(temperature.divide(logit, shift), id.index()));
            if self.keys.len() >= room {
                let last = *self.keys.select_nth_unstable(k - 1).1;
                self.keys.truncate(k);
                threshold = logits[(last & u64::from(u32::MAX)) as usize];
            }
            threshold
        });
        if k < self.keys.len() {
            self.keys.select_nth_unstable(k - 1);
            self.keys.truncate(k);
        }
        self.keys.sort_unstable_by_key(|&key| key as u32);
        for i in 0..self.keys.len() {
            let id = self.keys[i] as u32;
            self.push(TokenId(id), logits[id as usize]);
        }
    }

    fn push(&mut self, id: TokenId, logit: f32) {
        if logit > f32::NEG_INFINITY {
            self.ids.push(id);
            self.logits.push(logit);
        }
    }

    /// The tokens, lowest id first.
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// The logits, one for each of [`ids`](Candidates::ids).
    pub fn logits(&self) -> &[f32] {
        &self.logits
    }

    /// The logits, to change.
    pub fn logits_mut(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    /// How many candidates there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The candidate with the largest logit; of equal ones, the one with the lowest id.
    pub fn largest(&self) -> Option<(TokenId, f32)> {
        let mut best = None;
        for (&id, &logit) in self.ids.iter().zip(&self.logits) {
            if best.is_none_or(|(_, l)| logit > l) && !logit.is_nan() {
                best = Some((id, logit));
            }
        }
        best
    }

    /// Keeps the `k` candidates with the largest logits; of equal ones, those with the lowest ids.
    pub fn keep_largest(&mut self, k: usize) {
        if k >= self.len() {
            return;
        }
        if k == 0 {
            self.ids.clear();
            self.logits.clear();
            return;
        }
        self.fill_keys();
        let threshold = *self.keys.select_nth_unstable(k - 1).1;
        let mut kept = 0;
        for i in 0..self.ids.len() {
            if key(self.logits[i], i) <= threshold {
                self.ids[kept] = self.ids[i];
                self.logits[kept] = self.logits[i];
                kept += 1;
            }
        }
        self.ids.truncate(kept);
        self.logits.truncate(kept);
    }

    /// Keeps the candidates for which `keep` holds, or all of them if it holds for none.
    pub fn retain_unless_empty(&mut self, keep: impl Fn(TokenId) -> bool) {
        if !self.ids.iter().any(|&id| keep(id)) {
            return;
        }
        let mut kept = 0;
        for i in 0..self.ids.len() {
            if keep(self.ids[i]) {
                self.ids[kept] = self.ids[i];
                self.logits[kept] = self.logits[i];
                kept += 1;
            }
        }
        self.ids.truncate(kept);
        self.logits.truncate(kept);
    }

    /// Replaces the logit of every candidate that `values` names.
    pub fn change_logits_of<V: Copy>(
        &mut self,
        values: &BTreeMap<TokenId, V>,
        change: impl Fn(f32, V) -> f32,
    ) {
        for (id, &value) in values {
            if let Ok(i) = self.ids.binary_search(id) {
                self.logits[i] = change(self.logits[i], value);
            }
        }
    }

    /// Computes the softmax's unnormalised weights, the largest being one, and returns their sum.
    pub fn weigh(&mut self) -> f64 {
        let max = numeric::max(&self.logits);
        self.weights.clear();
        self.weights
            .extend(self.logits.iter().map(|&l| numeric::weight(l, max)));
        let mut sum = LaneSum::default();
        for (id, &weight) in self.ids.iter().zip(&self.weights) {
            sum.add(id.0, weight);
        }
        sum.total()
    }

    /// The weights of the last [`weigh`](Candidates::weigh), one for each of [`ids`](Candidates::ids) as they were then.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The `n` largest candidates of the last [`weigh`](Candidates::weigh), largest first, as weight and id.
    pub fn sorted_head(&mut self, n: usize) -> &[(f32, TokenId)] {
        self.fill_keys();
        let n = n.min(self.len());
        if n < self.len() && n > 0 {
            self.keys.select_nth_unstable(n - 1);
        }
        self.keys[..n].sort_unstable();
        self.head.clear();
        for &key in &self.keys[..n] {
            let i = (key & u64::from(u32::MAX)) as usize;
            self.head.push((self.weights[i], self.ids[i]));
        }
        &self.head
    }

    /// The log probability of `token` among the candidates, before any sampler if called before them.
    pub fn log_prob(&mut self, token: TokenId) -> Option<f32> {
        let i = self.ids.binary_search(&token).ok()?;
        let total = self.weigh();
        let max = numeric::max(&self.logits);
        if max == f32::INFINITY {
            return Some(if self.weights[i] > 0.0 {
                -numeric::ln(total) as f32
            } else {
                f32::NEG_INFINITY
            });
        }
        Some((f64::from(self.logits[i]) - f64::from(max) - numeric::ln(total)) as f32)
    }

    /// Draws a candidate in proportion to its softmax; returns it with its probability.
    ///
    /// One random number is spent. Nothing is returned where no candidate has any weight.
    pub fn draw(&mut self, rng: &mut SequenceRng) -> Option<(TokenId, f32)> {
        let total = self.weigh();
        let target = rng.uniform() * total;
        let mut sum = 0.0;
        let mut drawn = None;
        for (i, &weight) in self.weights.iter().enumerate() {
            if weight > 0.0 {
                sum += f64::from(weight);
                drawn = Some(i);
                if sum > target {
                    break;
                }
            }
        }
        // Where rounding leaves the sum short of the target, the last candidate with weight is the one.
        drawn.map(|i| (self.ids[i], (f64::from(self.weights[i]) / total) as f32))
    }

    fn fill_keys(&mut self) {
        self.keys.clear();
        self.keys
            .extend(self.logits.iter().enumerate().map(|(i, &l)| key(l, i)));
    }
}

/// Calls `visit` with the first id and the bits of each word that has any, less the `banned` ids, which are sorted.
fn for_each_word(
    allowed: &impl AllowedTokens,
    banned: &[TokenId],
    mut visit: impl FnMut(u32, u64),
) {
    let mut banned = banned.iter().peekable();
    for (i, &word) in allowed.bits().words().iter().enumerate() {
        let mut word = word;
        let base = (i * 64) as u32;
        while let Some(&&id) = banned.peek()
            && id.0 < base + 64
        {
            word &= !(1 << (id.0 - base));
            banned.next();
        }
        if word != 0 {
            visit(base, word);
        }
    }
}

/// A number that sorts by falling logit, then by rising index; NaN sorts last and the two zeros alike.
fn key(logit: f32, index: usize) -> u64 {
    let bits = (logit + 0.0).to_bits();
    let rising = if bits >> 31 == 1 {
        !bits
    } else {
        bits | 0x8000_0000
    };
    let falling = if logit.is_nan() { u32::MAX } else { !rising };
    (u64::from(falling) << 32) | index as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{PlainMask, masked_argmax as argmax};
    use structgen_vocab::TokenMask;

    pub(crate) fn candidates(logits: &[f32]) -> Candidates {
        Candidates::from_pairs(
            logits
                .iter()
                .enumerate()
                .map(|(i, &l)| (TokenId(i as u32), l)),
        )
    }

    pub(crate) fn ids(candidates: &Candidates) -> Vec<u32> {
        candidates.ids().iter().map(|id| id.0).collect()
    }

    pub(crate) fn log(probabilities: &[f64]) -> Vec<f32> {
        probabilities.iter().map(|p| p.ln() as f32).collect()
    }

    fn mask(width: usize, allowed: impl Fn(u32) -> bool) -> PlainMask {
        let mut mask = TokenMask::new(width);
        for id in (0..width as u32).filter(|&id| allowed(id)) {
            mask.allow(TokenId(id));
        }
        PlainMask::new(mask)
    }

    fn noise(n: usize) -> Vec<f32> {
        (0..n)
            .map(|i| ((i as u32).wrapping_mul(2_654_435_761) >> 20) as f32 / 100.0)
            .collect()
    }

    #[test]
    fn filling_skips_forbidden_banned_infinite_and_missing_tokens() {
        let mut c = Candidates::default();
        let logits = [1.0, f32::NAN, f32::NEG_INFINITY, 4.0, 5.0, 6.0];
        c.fill(&logits, &mask(70, |id| id != 5), &[TokenId(3)]);
        assert_eq!(ids(&c), [0, 4]);
    }

    #[test]
    fn argmax_equals_the_largest_candidate_for_lists_and_bits() {
        let logits = noise(1000);
        for modulus in [1, 2, 3, 200, 999] {
            let mask = mask(1000, |id| id % modulus == 0);
            for banned in [vec![], vec![TokenId(0), TokenId(600)]] {
                let mut c = Candidates::default();
                c.fill(&logits, &mask, &banned);
                let expected = c.largest().map(|(id, _)| id);
                assert_eq!(argmax(&logits, &mask, &banned), expected);
            }
        }
    }

    #[test]
    fn argmax_of_nothing_but_infinities_is_none() {
        let logits = [f32::NAN, f32::NEG_INFINITY, 3.0];
        assert_eq!(argmax(&logits, &mask(3, |id| id < 2), &[]), None);
        assert_eq!(argmax(&logits, &mask(3, |_| true), &[]), Some(TokenId(2)));
    }

    #[test]
    fn keep_largest_equals_a_stable_sort() {
        let logits: Vec<f32> = noise(500).iter().map(|l| l.round()).collect();
        let mut order: Vec<usize> = (0..500).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        for k in [1, 2, 40, 499, 500] {
            let mut expected: Vec<u32> = order[..k].iter().map(|&i| i as u32).collect();
            expected.sort_unstable();
            let mut c = candidates(&logits);
            c.keep_largest(k);
            assert_eq!(ids(&c), expected);
        }
    }

    #[test]
    fn draws_follow_the_softmax() {
        let mut c = candidates(&log(&[0.5, 0.3, 0.2]));
        let mut rng = SequenceRng::new(5, 0);
        let mut counts = [0u32; 3];
        for _ in 0..20_000 {
            let (id, p) = c.draw(&mut rng).unwrap();
            assert!((p - [0.5, 0.3, 0.2][id.index()]).abs() < 1e-6);
            counts[id.index()] += 1;
        }
        // Chi-squared with two degrees of freedom: 13.8 is passed by chance once in a thousand seeds.
        let chi: f64 = counts
            .iter()
            .zip([10_000.0, 6_000.0, 4_000.0])
            .map(|(&n, e)| (f64::from(n) - e).powi(2) / e)
            .sum();
        assert!(chi < 13.8, "{counts:?}");
    }

    #[test]
    fn an_infinite_logit_takes_everything() {
        let mut c = candidates(&[1.0, f32::INFINITY, f32::INFINITY]);
        let mut rng = SequenceRng::new(0, 0);
        for _ in 0..20 {
            let (id, p) = c.draw(&mut rng).unwrap();
            assert!(id.0 > 0);
            assert_eq!(p, 0.5);
        }
        assert_eq!(c.log_prob(TokenId(0)), Some(f32::NEG_INFINITY));
    }

    #[test]
    fn log_prob_is_normalised_over_the_candidates() {
        let mut c = candidates(&log(&[0.1, 0.3, 0.1]));
        let p = c.log_prob(TokenId(1)).unwrap();
        assert!((p - 0.6f32.ln()).abs() < 1e-6, "{p}");
        assert_eq!(c.log_prob(TokenId(9)), None);
    }
}
