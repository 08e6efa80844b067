//! The allowed tokens of one step with their logits, in buffers reused by every step.

mod nucleus;
mod select;

pub(crate) use select::logit_of;

use structgen_vocab::TokenId;

use crate::numeric::{self, LaneSum};
use crate::{constraint::AllowedTokens, rng::SequenceRng, temperature::Temperature};
use crate::{masked, wide};

use select::Nucleus;

/// Allowed tokens and their logits, sorted by id.
///
/// Candidates are filled from a mask, changed by samplers, and drawn from. They never include tokens outside the mask,
/// or tokens whose logit is `-inf` or NaN. The order by id never changes, so sums and draws do not depend on how the
/// candidates were filled.
///
/// ```
/// use structgen_decode::{constraint::PlainMask, samplers::Candidates};
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
    /// The sum of the weights.
    total: f64,
    lifted: usize,
    /// The number of the model's logits, allowed or not.
    width: usize,
}

/// Capacity that is always reserved, in candidates.
const ROOM: usize = 1024;

/// The maximum number of adjacent logits that a division is expected to make equal.
const TIED: usize = 16;

/// Candidates per block of a draw.
const DRAWN: usize = 512;

/// Which candidates [`Candidates::fill_largest`] must include.
pub(crate) struct Largest<'a> {
    /// The number of largest logits, compared after division by `temperature`.
    pub(crate) k: usize,
    pub(crate) temperature: f32,
    /// Sorted tokens to include whatever their logits, if they are allowed.
    pub(crate) also: &'a [TokenId],
    /// These and the banned ones, sorted.
    pub(crate) left_out: &'a [TokenId],
}

impl Candidates {
    /// Creates candidates from pairs of id and logit; later pairs with the same id are ignored.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (TokenId, f32)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|&(id, _)| id);
        pairs.dedup_by_key(|&mut (id, _)| id);
        let mut candidates = Self::default();
        for (id, logit) in pairs {
            candidates.push(id, logit);
        }
        candidates.width = candidates.ids.last().map_or(0, |id| id.index() + 1);
        candidates
    }

    /// Replaces the candidates with the tokens of `allowed` except `banned`, which is sorted, and their logits.
    ///
    /// Ids at or beyond `logits.len()` have no logit and are skipped.
    pub fn fill(&mut self, logits: &[f32], allowed: &impl AllowedTokens, banned: &[TokenId]) {
        self.clear(logits.len());
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
            let all = logits
                .get(base as usize..)
                .and_then(|l| l.first_chunk::<64>());
            if word == u64::MAX
                && let Some(all) = all
                && all.iter().all(|&logit| logit > f32::NEG_INFINITY)
            {
                self.ids.extend((base..base + 64).map(TokenId));
                self.logits.extend_from_slice(all);
                return;
            }
            while word != 0 {
                let id = base + word.trailing_zeros();
                word &= word - 1;
                if let Some(&logit) = logits.get(id as usize) {
                    self.push(TokenId(id), logit);
                }
            }
        });
    }

    /// Like [`fill`](Candidates::fill), but with only the tokens in `largest`. This suffices if no sampler before a
    /// top-k looks at more.
    ///
    /// The logits are unchanged, and those that are too small are never copied. Division by a temperature can make two
    /// different logits equal, in which case the lower id comes first; the comparison takes this into account.
    pub(crate) fn fill_largest(
        &mut self,
        logits: &[f32],
        allowed: &impl AllowedTokens,
        banned: &[TokenId],
        largest: &Largest<'_>,
    ) {
        self.clear(logits.len());
        if allowed.list().is_some() {
            self.fill(logits, allowed, banned);
            return;
        }
        let Largest { k, left_out, .. } = *largest;
        masked::maxima(logits, allowed.bits(), left_out, &mut self.weights);
        let temperature = Temperature::new(largest.temperature);
        let mut max = 0.0;
        let shift = temperature.shift(|| {
            max = wide::max(&self.weights);
            max
        });
        let infinite = |id: &TokenId| logits.get(id.index()) == Some(&f32::INFINITY);
        if max == f32::INFINITY || largest.also.iter().any(infinite) {
            // A sampler may lower the infinite logit to one that only the division makes infinite: then the temperature
            // needs all logits.
            self.fill(logits, allowed, banned);
            return;
        }
        // The maximum of each group is itself a logit, so the `k`-th largest maximum is at most the `k`-th largest
        // logit.
        let mut threshold = f32::NEG_INFINITY;
        if k <= self.weights.len() {
            self.logits.extend_from_slice(&self.weights);
            let order = |a: &f32, b: &f32| b.total_cmp(a);
            let kth = *self.logits.select_nth_unstable_by(k - 1, order).1;
            self.logits.clear();
            // Smaller logits that a division makes equal to it count as well.
            let quotient = temperature.divide(kth, shift);
            let smaller = std::iter::successors(Some(kth), |logit| Some(logit.next_down()));
            threshold = { smaller.take(TIED) }
                .find(|&logit| temperature.divide(logit, shift) < quotient)
                .unwrap_or(f32::NEG_INFINITY);
        }
        let room = k.saturating_mul(2).max(k.saturating_add(64));
        let words = allowed.bits().words();
        for (at, &max) in self.weights.iter().enumerate() {
            if max < threshold || max == f32::NEG_INFINITY {
                continue;
            }
            let mut word = words[at];
            while word != 0 {
                let id = at * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let Some(&logit) = logits.get(id) else { break };
                let passes = logit >= threshold && logit > f32::NEG_INFINITY;
                if !passes || left_out.binary_search(&TokenId(id as u32)).is_ok() {
                    continue;
                }
                self.keys.push(key(temperature.divide(logit, shift), id));
                if self.keys.len() >= room {
                    let last = *self.keys.select_nth_unstable(k - 1).1;
                    self.keys.truncate(k);
                    // Of equal logits, those with the lowest ids are kept.
                    threshold = logits[(last & u64::from(u32::MAX)) as usize].next_up();
                }
            }
        }
        if k < self.keys.len() {
            self.keys.select_nth_unstable(k - 1);
            self.keys.truncate(k);
        }
        let bits = allowed.bits();
        let also = largest.also.iter().filter(|&&id| bits.contains(id));
        self.keys.extend(also.map(|id| u64::from(id.0)));
        self.keys.sort_unstable_by_key(|&key| key as u32);
        for i in 0..self.keys.len() {
            let id = self.keys[i] as u32;
            if let Some(&logit) = logits.get(id as usize) {
                self.push(TokenId(id), logit);
            }
        }
    }

    fn clear(&mut self, width: usize) {
        self.ids.clear();
        self.logits.clear();
        self.lifted = 0;
        self.width = width;
        // Reserve some more, so that a step with slightly more candidates than the last does not allocate.
        let room = width.min(ROOM);
        self.ids.reserve(room);
        self.logits.reserve(room);
        // Weights are not cleared: they are overwritten, and need not be initialised again.
        self.weights
            .reserve(room.saturating_sub(self.weights.len()));
        self.keys.clear();
        self.keys.reserve(room);
    }

    fn push(&mut self, id: TokenId, logit: f32) {
        if logit > f32::NEG_INFINITY {
            self.ids.push(id);
            self.logits.push(logit);
        }
    }

    /// Returns the tokens, sorted by id.
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// Returns the logits, one per token of [`ids`](Candidates::ids).
    pub fn logits(&self) -> &[f32] {
        &self.logits
    }

    /// Returns the logits, mutably.
    pub fn logits_mut(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    /// Returns the tokens, and their logits mutably.
    pub fn ids_and_logits_mut(&mut self) -> (&[TokenId], &mut [f32]) {
        (&self.ids, &mut self.logits)
    }

    /// Returns the number of the model's logits, including those of forbidden tokens.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the candidate with the largest logit; among equals, the one with the lowest id.
    pub fn largest(&self) -> Option<(TokenId, f32)> {
        let mut best = None;
        for (&id, &logit) in self.ids.iter().zip(&self.logits) {
            if best.is_none_or(|(_, l)| logit > l) && !logit.is_nan() {
                best = Some((id, logit));
            }
        }
        best
    }

    /// Changes the logits of the candidates named in `values`, which is sorted by id.
    pub fn change_logits_of<V: Copy>(
        &mut self,
        values: &[(TokenId, V)],
        change: impl Fn(f32, V) -> f32,
    ) {
        if values.len() < self.len() / 8 {
            for &(id, value) in values {
                if let Ok(i) = self.ids.binary_search(&id) {
                    self.logits[i] = change(self.logits[i], value);
                }
            }
            return;
        }
        if self.len() < values.len() / 8 {
            for (id, logit) in self.ids.iter().zip(&mut self.logits) {
                if let Ok(i) = values.binary_search_by_key(id, |&(id, _)| id) {
                    *logit = change(*logit, values[i].1);
                }
            }
            return;
        }
        let mut rest = values.iter().peekable();
        for (id, logit) in self.ids.iter().zip(&mut self.logits) {
            while rest.next_if(|(other, _)| other < id).is_some() {}
            if let Some(&(_, value)) = rest.next_if(|(other, _)| other == id) {
                *logit = change(*logit, value);
            }
        }
    }

    /// Computes the unnormalised softmax weights, the largest being 1, and returns their sum.
    pub fn weigh(&mut self) -> f64 {
        let max = numeric::max(&self.logits);
        wide::weigh(&self.logits, max, &mut self.weights);
        self.total = wide::sum_by_id(&self.ids, &self.weights);
        self.total
    }

    /// Returns the sum of the weights computed by the last [`weigh`](Candidates::weigh).
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Returns the entropy of the softmax, in nats, or 0 if there is no candidate. Also computes the weights.
    pub fn entropy(&mut self) -> f64 {
        let total = self.weigh();
        if self.is_empty() {
            return 0.0;
        }
        let max = numeric::max(&self.logits);
        // -sum(p ln p) = ln(total) - sum(w (l - max)) / total, which takes one logarithm in total.
        let sum = self.sum_of(|logit, weight| match weight > 0.0 && logit < max {
            true => weight * (logit - max),
            false => 0.0,
        });
        numeric::ln(total) - sum / total
    }

    /// Sums a function of logits and weights, in lanes by id.
    fn sum_of(&self, term: impl Fn(f32, f32) -> f32) -> f64 {
        let mut sum = LaneSum::default();
        let pairs = self.logits.iter().zip(&self.weights);
        for (id, (&logit, &weight)) in self.ids.iter().zip(pairs) {
            sum.add(id.0, term(logit, weight));
        }
        sum.total()
    }

    /// Returns the weights computed by the last [`weigh`](Candidates::weigh), one per token of [`ids`](Candidates::ids)
    /// at that time.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns a candidate's probability by the weights of the last [`weigh`](Candidates::weigh), whose sum was
    /// `total`; `None` if it has no weight.
    pub(crate) fn probability(&self, token: TokenId, total: f64) -> Option<f32> {
        let weight = *self.weights.get(self.ids.binary_search(&token).ok()?)?;
        (weight > 0.0).then(|| (f64::from(weight) / total) as f32)
    }

    /// Returns the log probability of `token` among the candidates.
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

    /// Divides every logit by a temperature.
    pub(crate) fn divide_by(&mut self, temperature: Temperature) {
        if temperature.is_one() {
            return;
        }
        let shift = temperature.shift(|| numeric::max(&self.logits));
        for logit in self.logits_mut() {
            *logit = temperature.divide(*logit, shift);
        }
    }

    /// Fills, applies a [`Temperature`] and top-p, and [draws](Candidates::draw), without building the list of
    /// candidates, which may contain nearly all tokens. If the nucleus is small or the logits are not finite, it builds
    /// the list and draws from that.
    pub(crate) fn draw_nucleus(
        &mut self,
        logits: &[f32],
        allowed: &impl AllowedTokens,
        banned: &[TokenId],
        (temperature, p, min_keep): (f32, f32, usize),
        rng: &mut SequenceRng,
    ) -> Option<(TokenId, f32)> {
        self.clear(logits.len());
        // Until the list is built, indices are token ids.
        masked::copy(logits, allowed, banned, &mut self.logits);
        let temperature = Temperature::new(temperature);
        let shift = temperature.shift(|| wide::max(&self.logits));
        if !temperature.is_one() {
            wide::map(&mut self.logits, |logit| temperature.divide(logit, shift));
        }
        let max = wide::max(&self.logits);
        if !max.is_finite() {
            self.fill(logits, allowed, banned);
            self.divide_by(temperature);
            self.keep_mass(p, min_keep);
            return self.draw(rng);
        }
        let total = wide::weigh_and_sum(&self.logits, max, &mut self.weights);
        let mass = (f64::from(p) * total, total);
        let nucleus = self.nucleus_of(mass, min_keep);
        if nucleus.len <= DRAWN {
            self.keys.clear();
            wide::for_each_from(&self.logits, nucleus.smallest, |id| {
                let logit = self.logits[id];
                if nucleus.contains(id, logit) && logit > f32::NEG_INFINITY {
                    self.keys.push(u64::from(logit.to_bits()) << 32 | id as u64);
                }
            });
            self.logits.clear();
            for i in 0..self.keys.len() {
                let key = self.keys[i];
                self.push(TokenId(key as u32), f32::from_bits((key >> 32) as u32));
            }
            return self.draw(rng);
        }
        let target = rng.uniform() * nucleus.mass;
        let (start, sum) = self.block_of(&nucleus, target);
        let weight = |id: usize| match nucleus.contains(id, self.logits[id]) {
            true => self.weights[id],
            false => 0.0,
        };
        let found = place_of(self.weights.len(), weight, (start, sum), target);
        let drawn = found.map(|id| {
            let probability = f64::from(self.weights[id]) / nucleus.mass;
            (TokenId(id as u32), probability as f32)
        });
        self.clear(logits.len());
        drawn
    }

    /// Returns the start of the block of candidates in which the running sum of the nucleus' weights passes the target,
    /// and the sum before it.
    fn block_of(&self, nucleus: &Nucleus, target: f64) -> (usize, f64) {
        // Of the logits equal to the smallest, only those up to its index belong to the nucleus.
        let behind = nucleus.place.saturating_add(1).min(self.logits.len());
        let (logits, logits_behind) = self.logits.split_at(behind);
        let (weights, weights_behind) = self.weights.split_at(behind);
        let smallest = nucleus.smallest;
        let (start, sum) = wide::block_that_passes(logits, weights, smallest, (0.0, target));
        if start < behind {
            return (start, sum);
        }
        let sums = (sum, target);
        let (start, sum) =
            wide::block_that_passes(logits_behind, weights_behind, smallest.next_up(), sums);
        (behind + start, sum)
    }

    /// Draws a candidate from the softmax; returns it with its probability, or `None` if no candidate has any weight.
    ///
    /// Uses one random number.
    pub fn draw(&mut self, rng: &mut SequenceRng) -> Option<(TokenId, f32)> {
        let total = self.weigh();
        let target = rng.uniform() * total;
        let (mut sum, mut start) = (0.0, 0);
        if self.len() > DRAWN {
            // A running sum is sequential and slow: skip most candidates in blocks of ids, whose sums are computed in
            // parallel lanes.
            while start < self.len() {
                let block = self.ids[start].index() / DRAWN;
                let rest = &self.ids[start..];
                let len = rest.partition_point(|id| id.index() / DRAWN == block);
                let of_block = wide::sum_by_id(&rest[..len], &self.weights[start..start + len]);
                if sum + of_block > target {
                    break;
                }
                sum += of_block;
                start += len;
            }
        }
        let weight = |i: usize| self.weights[i];
        let found = place_of(self.len(), weight, (start, sum), target)?;
        let probability = (f64::from(self.weights[found]) / total) as f32;
        Some((self.ids[found], probability))
    }
}

/// Returns the index, from `start` with `sum` before it, at which the running sum of `len` weights passes `target`.
///
/// If the sum falls short of the target by rounding, returns the last index with a weight.
fn place_of(
    len: usize,
    weight: impl Fn(usize) -> f32,
    (start, mut sum): (usize, f64),
    target: f64,
) -> Option<usize> {
    let mut found = None;
    for i in start..len {
        if weight(i) > 0.0 {
            sum += f64::from(weight(i));
            found = Some(i);
            if sum > target {
                return found;
            }
        }
    }
    found.or_else(|| (0..start).rev().find(|&i| weight(i) > 0.0))
}

/// Calls `visit` with the first id and the bits of each word that is not empty, without the `banned` ids, which are
/// sorted.
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

/// Returns a key that sorts by falling logit, then by rising index; NaN sorts last, and both zeros are equal.
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
pub(crate) mod tests;
