//! Selects which candidates to keep: the largest, those that carry a mass, those above a threshold, those not banned.

use structgen_vocab::TokenId;

use super::{Candidates, key, nucleus};
use crate::{numeric, wide};

/// Ranges of candidates up to this length are sorted.
const SORTED: usize = 64;
/// More candidates than this between guessed bounds are too many: they are probably equal, and computed bounds handle
/// equals together.
const MOST_BETWEEN: usize = 8192;
/// Candidates that are dropped together if none of them is kept.
const BLOCK: usize = 32;

/// A prefix of the candidates, ordered by falling logit and rising index.
pub(super) struct Nucleus {
    /// The last candidate's logit.
    pub(super) smallest: f32,
    /// The last candidate's index.
    pub(super) place: usize,
    pub(super) len: usize,
    /// The sum of its candidates' weights.
    pub(super) mass: f64,
}

impl Nucleus {
    pub(super) fn contains(&self, place: usize, logit: f32) -> bool {
        logit > self.smallest || logit == self.smallest && place <= self.place
    }
}

impl Candidates {
    /// Keeps the `k` candidates with the largest logits; among equals, those with the lowest ids.
    pub fn keep_largest(&mut self, k: usize) {
        if k >= self.len() {
            return;
        }
        if k == 0 {
            self.ids.clear();
            self.logits.clear();
            return;
        }
        self.fill_keys(|logit| logit);
        let last = *self.keys.select_nth_unstable(k - 1).1;
        self.retain(|i, logit| key(logit, i) <= last);
    }

    /// Keeps the candidates whose logits are among the `k` largest, and all that are equal to the `k`-th.
    pub fn keep_from_kth(&mut self, k: usize) {
        if k == 0 || k >= self.len() {
            self.keep_largest(k);
            return;
        }
        self.fill_keys(|logit| logit);
        let kth = index(*self.keys.select_nth_unstable(k - 1).1);
        let smallest = self.logits[kth];
        self.retain(|_, logit| logit >= smallest);
    }

    /// Keeps the shortest prefix, ordered by falling logit and rising id, that has at least the share `p` of the
    /// softmax's mass and at least `min_keep` candidates.
    pub fn keep_mass(&mut self, p: f32, min_keep: usize) {
        let total = self.weigh();
        let min_keep = min_keep.max(1);
        if self.len() <= min_keep {
            return;
        }
        let mass = (f64::from(p) * total, total);
        let nucleus = self.nucleus_of(mass, min_keep);
        if nucleus.len < self.len() {
            self.retain(|i, logit| nucleus.contains(i, logit));
        }
    }

    /// Returns the shortest prefix with at least `mass`, out of the `total` of all weights, and at least `min_keep`
    /// candidates.
    pub(super) fn nucleus_of(&mut self, (mass, total): (f64, f64), min_keep: usize) -> Nucleus {
        let guess = nucleus::guess(&self.logits, &self.weights, (mass, total), min_keep);
        if let Some((low, high)) = guess
            && let Some(found) = self.last_between((low, high), mass)
        {
            return found;
        }
        let bounds = nucleus::bounds(&self.logits, &self.weights, (mass, total), min_keep);
        if bounds.1 == bounds.0.next_up() {
            return self.last_of_equal(mass, bounds).0;
        }
        self.keys.clear();
        let start = if bounds == nucleus::EVERYTHING {
            // There may be only a few, for which a vectorised loop costs more to set up than it saves.
            let numbers = self.logits.iter().enumerate().filter(|(_, l)| !l.is_nan());
            self.keys.extend(numbers.map(|(i, &logit)| key(logit, i)));
            (0.0, 0)
        } else {
            wide::split(&self.logits, &self.weights, bounds, |i| {
                self.keys.push(key(self.logits[i], i));
            })
        };
        let (last, (found, len)) =
            last_of_mass(&mut self.keys, &self.weights, start, mass, min_keep);
        if last == u64::MAX {
            return Nucleus {
                smallest: f32::NEG_INFINITY,
                place: usize::MAX,
                len: self.logits.len(),
                mass: total,
            };
        }
        self.nucleus_to(last, found, len)
    }

    fn nucleus_to(&self, last: u64, mass: f64, len: usize) -> Nucleus {
        Nucleus {
            smallest: self.logits[index(last)],
            place: index(last),
            len,
            mass,
        }
    }

    /// Finds the nucleus between guessed bounds; returns `None` if it does not end there, or if too many candidates lie
    /// between them.
    fn last_between(&mut self, bounds: (f32, f32), mass: f64) -> Option<Nucleus> {
        if bounds.1 == bounds.0.next_up() {
            let (last, is_there) = self.last_of_equal(mass, bounds);
            return is_there.then_some(last);
        }
        self.keys.clear();
        let start = wide::split(&self.logits, &self.weights, bounds, |i| {
            if self.keys.len() < MOST_BETWEEN {
                self.keys.push(key(self.logits[i], i));
            }
        });
        if start.0 >= mass || self.keys.len() == MOST_BETWEEN {
            return None;
        }
        let (last, (sum, len)) = last_of_mass(&mut self.keys, &self.weights, start, mass, 1);
        (sum >= mass).then(|| self.nucleus_to(last, sum, len))
    }

    /// Finds the nucleus if it ends among the candidates whose logit is the lower bound, which all weigh the same. Also
    /// returns whether it does end there.
    fn last_of_equal(&self, mass: f64, (logit, above): (f32, f32)) -> (Nucleus, bool) {
        let split = wide::split(&self.logits, &self.weights, (above, above), |_| {});
        let (sum, before) = split;
        let first = wide::nth_equal(&self.logits, logit, 1);
        let weight = self
            .weights
            .get(first)
            .map_or(0.0, |&weight| f64::from(weight));
        let missing = ((mass - sum) / weight).ceil();
        let count = if missing >= 1.0 { missing as usize } else { 1 };
        let place = wide::nth_equal(&self.logits, logit, count);
        let is_there = sum < mass && place < self.logits.len();
        let nucleus = Nucleus {
            smallest: logit,
            place,
            len: before + count,
            mass: sum + count as f64 * weight,
        };
        (nucleus, is_there)
    }

    /// Like [`keep_mass`](Candidates::keep_mass), but ordered by falling rank instead of logit. The mass is in units of
    /// the weights, which must have been computed.
    pub(crate) fn keep_mass_by(&mut self, mass: f64, min_keep: usize, rank: impl Fn(f32) -> f32) {
        if self.len() <= min_keep.max(1) {
            return;
        }
        self.fill_keys(&rank);
        let (last, _) = last_of_mass(
            &mut self.keys,
            &self.weights,
            (0.0, 0),
            mass,
            min_keep.max(1),
        );
        self.retain(|i, logit| key(rank(logit), i) <= last);
    }

    /// Keeps the candidates whose logit is at least `threshold`, or the `min_keep` largest if those are more.
    pub fn keep_from(&mut self, threshold: f64, min_keep: usize) {
        let threshold = at_least(threshold);
        let kept = self.logits.iter().filter(|&&l| l >= threshold).count();
        if kept < min_keep.max(1) {
            self.keep_largest(min_keep.max(1));
        } else if kept < self.len() {
            self.retain(|_, logit| logit >= threshold);
        }
    }

    /// Removes the candidates with these ids, which are sorted. If that would leave nothing, the ban is lifted, and
    /// counted.
    pub fn ban(&mut self, ids: &[TokenId]) {
        let found = |id: &&TokenId| self.ids.binary_search(id).is_ok();
        let Some(first) = ids.iter().find(found) else {
            return;
        };
        if ids.iter().filter(found).count() == self.len() {
            self.lifted += 1;
            return;
        }
        // Candidates before the first banned one stay in place; those between two are moved as a whole.
        let mut kept = self.ids.partition_point(|id| id < first);
        let mut from = kept;
        for id in ids {
            let Ok(at) = self.ids[from..].binary_search(id) else {
                continue;
            };
            self.ids.copy_within(from..from + at, kept);
            self.logits.copy_within(from..from + at, kept);
            kept += at;
            from += at + 1;
        }
        let rest = self.len() - from;
        self.ids.copy_within(from.., kept);
        self.logits.copy_within(from.., kept);
        self.ids.truncate(kept + rest);
        self.logits.truncate(kept + rest);
    }

    /// Keeps only the candidate with this id. If it is not a candidate, nothing is removed, and this counts as a lifted
    /// ban.
    pub fn force(&mut self, id: TokenId) {
        match self.ids.binary_search(&id) {
            Ok(at) => {
                self.ids.swap(0, at);
                self.logits.swap(0, at);
                self.ids.truncate(1);
                self.logits.truncate(1);
            }
            Err(_) => self.lifted += 1,
        }
    }

    /// Returns the number of bans lifted since the candidates were filled, because they would have left nothing.
    pub fn lifted_bans(&self) -> usize {
        self.lifted
    }

    /// Returns the `n` largest candidates as logit and id, largest first.
    pub fn sorted_head(&mut self, n: usize) -> &[(f32, TokenId)] {
        self.fill_keys(|logit| logit);
        let n = n.min(self.len());
        if n < self.len() && n > 0 {
            self.keys.select_nth_unstable(n - 1);
        }
        self.keys[..n].sort_unstable();
        self.head.clear();
        for &key in &self.keys[..n] {
            let i = index(key);
            self.head.push((self.logits[i], self.ids[i]));
        }
        &self.head
    }

    /// Keeps the candidates for which `keep` returns true, given index and logit.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize, f32) -> bool) {
        let n = self.ids.len();
        let (ids, logits) = (&mut self.ids[..], &mut self.logits[..n]);
        let mut kept = 0;
        for start in (0..n).step_by(BLOCK) {
            let end = n.min(start + BLOCK);
            let mut any = false;
            for (i, &logit) in (start..).zip(&logits[start..end]) {
                any |= keep(i, logit);
            }
            if !any {
                continue;
            }
            for i in start..end {
                let (id, logit) = (ids[i], logits[i]);
                let stays = keep(i, logit);
                ids[kept] = id;
                logits[kept] = logit;
                kept += usize::from(stays);
            }
        }
        self.ids.truncate(kept);
        self.logits.truncate(kept);
    }

    fn fill_keys(&mut self, rank: impl Fn(f32) -> f32) {
        self.keys.clear();
        let keys = self.logits.iter().enumerate();
        self.keys.extend(keys.map(|(i, &l)| key(rank(l), i)));
    }
}

/// Finds the shortest prefix of the keys, in rising order, whose weights sum to at least `mass` and that has at least
/// `min_keep` keys. Returns its last key, the sum and the number of keys; both counts start from what precedes all
/// keys. If there is no such prefix, the last key is that of all of them.
///
/// Bisects the range in which the prefix ends, which takes linear time, unlike sorting.
fn last_of_mass(
    keys: &mut [u64],
    weights: &[f32],
    (mut sum, mut before): (f64, usize),
    mass: f64,
    min_keep: usize,
) -> (u64, (f64, usize)) {
    let mut range = keys;
    while range.len() > SORTED {
        let half = range.len() / 2;
        range.select_nth_unstable(half);
        let (low, high) = range.split_at_mut(half);
        let with_low = sum + low.iter().map(|&key| weight(weights, key)).sum::<f64>();
        if with_low >= mass && before + half >= min_keep {
            range = low;
        } else {
            (before, sum) = (before + half, with_low);
            range = high;
        }
    }
    range.sort_unstable();
    let mut last = u64::MAX;
    for &key in &*range {
        last = key;
        (before, sum) = (before + 1, sum + weight(weights, key));
        if sum >= mass && before >= min_keep {
            break;
        }
    }
    (last, (sum, before))
}

fn weight(weights: &[f32], key: u64) -> f64 {
    f64::from(weights[index(key)])
}

/// Returns the index that a key encodes.
pub(super) fn index(key: u64) -> usize {
    (key & u64::from(u32::MAX)) as usize
}

/// Returns the smallest `f32` that is at least `threshold`.
fn at_least(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    if f64::from(nearest) < threshold {
        nearest.next_up()
    } else {
        nearest
    }
}

/// Returns the smallest logit with a probability of at least `p`, for a softmax whose largest logit is `max` and whose
/// weights sum to `total`.
pub(crate) fn logit_of(p: f64, max: f32, total: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    f64::from(max) + numeric::ln(p) + numeric::ln(total)
}
