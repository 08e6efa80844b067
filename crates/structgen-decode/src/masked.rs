//! Computations on the allowed logits, in place: nothing is copied, and no `-inf` is written.
//!
//! A mask with a list costs one read per token. A mask of bits is processed in groups of words: a group that is allowed
//! as a whole is a plain slice, an empty word is skipped, and in a mixed word the logits that are not allowed become
//! NaN, which every computation here ignores anyway.

use structgen_vocab::{TokenId, TokenMask};

use crate::constraint::AllowedTokens;
use crate::numeric::{self, LaneSum};
use crate::wide::wide;

/// Ids per word of a mask.
const WORD: usize = 64;
/// Words per group.
const GROUP: usize = 16;

/// Returns the allowed token with the largest logit, ignoring `banned` (sorted); among equals, the one with the lowest
/// id.
///
/// NaN and `-inf` are never chosen: returns `None` if the allowed tokens have no other logits.
///
/// ```
/// use structgen_decode::{constraint::PlainMask, samplers::masked_argmax};
/// use structgen_vocab::{TokenId, TokenMask};
///
/// let mut mask = TokenMask::new(4);
/// mask.allow_all(&[TokenId(1), TokenId(3)]);
/// assert_eq!(masked_argmax(&[9.0, 0.5, 9.0, 1.5], &PlainMask::new(mask), &[]), Some(TokenId(3)));
/// ```
#[must_use]
pub fn masked_argmax(
    logits: &[f32],
    allowed: &impl AllowedTokens,
    banned: &[TokenId],
) -> Option<TokenId> {
    let mut best = f32::NEG_INFINITY;
    let mut found = None;
    if let Some(list) = allowed.list() {
        for_each_listed(logits, list, banned, |id, logit| {
            if logit > best {
                (best, found) = (logit, Some(id));
            }
        });
        return found;
    }
    for_each_group(logits, allowed, banned, |base, group| {
        let largest = group.max();
        if largest > best {
            best = largest;
            found = group.position(largest).map(|at| TokenId(base + at));
        }
    });
    found
}

/// Returns the softmax over the allowed tokens, ignoring `banned` (sorted), or `None` if no such token has a logit
/// above `-inf`.
#[must_use]
pub fn masked_softmax(
    logits: &[f32],
    allowed: &impl AllowedTokens,
    banned: &[TokenId],
) -> Option<MaskedSoftmax> {
    let max = max(logits, allowed, banned);
    if max == f32::NEG_INFINITY {
        return None;
    }
    let mut sum = LaneSum::default();
    if let Some(list) = allowed.list() {
        for_each_listed(logits, list, banned, |id, logit| {
            sum.add(id.0, numeric::weight(logit, max));
        });
    } else {
        for_each_group(logits, allowed, banned, |_, group| {
            group.for_each_chunk(|chunk| {
                let mut weights = [0.0; 16];
                for lane in 0..16 {
                    weights[lane] = numeric::weight(chunk[lane], max);
                }
                sum.add_aligned(&weights);
            });
        });
    }
    let total = sum.total();
    Some(MaskedSoftmax { max, total })
}

/// The parameters of a softmax over allowed tokens, which turn a logit into a probability.
///
/// ```
/// use structgen_decode::{constraint::PlainMask, samplers::masked_softmax};
/// use structgen_vocab::TokenMask;
///
/// let softmax = masked_softmax(&[0.0, 0.0], &PlainMask::new(TokenMask::full(2)), &[]).unwrap();
/// assert_eq!(softmax.probability(0.0), 0.5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaskedSoftmax {
    max: f32,
    total: f64,
}

impl MaskedSoftmax {
    /// Returns the largest allowed logit.
    #[must_use]
    pub fn max(&self) -> f32 {
        self.max
    }

    /// Returns the logarithm of the sum of the exponentials of the allowed logits.
    #[must_use]
    pub fn log_sum_exp(&self) -> f64 {
        f64::from(self.max) + numeric::ln(self.total)
    }

    /// Returns the probability of an allowed token with this logit. If there are logits of `+inf`, they share all of
    /// the probability.
    #[must_use]
    pub fn probability(&self, logit: f32) -> f32 {
        (f64::from(numeric::weight(logit, self.max)) / self.total) as f32
    }

    /// Returns the logarithm of the [`probability`](MaskedSoftmax::probability), which is exact even for tiny
    /// probabilities.
    #[must_use]
    pub fn log_prob(&self, logit: f32) -> f32 {
        if self.max < f32::INFINITY {
            let below = f64::from(logit) - f64::from(self.max);
            return (below - numeric::ln(self.total)) as f32;
        }
        if logit == f32::INFINITY {
            -numeric::ln(self.total) as f32
        } else {
            f32::NEG_INFINITY
        }
    }
}

/// Returns the largest allowed logit, or `-inf` if there is none.
fn max(logits: &[f32], allowed: &impl AllowedTokens, banned: &[TokenId]) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    let mut offer = |logit: f32| largest = if logit > largest { logit } else { largest };
    match allowed.list() {
        Some(list) => for_each_listed(logits, list, banned, |_, logit| offer(logit)),
        None => for_each_group(logits, allowed, banned, |_, group| offer(group.max())),
    }
    largest
}

/// Computes the largest allowed logit of every 64 tokens, `-inf` if there is none.
///
/// Neither inlined nor generic, so that the loop's code does not depend on the caller.
#[inline(never)]
pub(crate) fn maxima(
    logits: &[f32],
    allowed: &TokenMask,
    banned: &[TokenId],
    maxima: &mut Vec<f32>,
) {
    maxima.clear();
    maxima.resize(logits.len().div_ceil(WORD), f32::NEG_INFINITY);
    let words = allowed.words();
    let chunks = logits.as_chunks::<WORD>().0;
    let found = &mut maxima[..];
    wide!({
        for ((max, chunk), &word) in found.iter_mut().zip(chunks).zip(words) {
            *max = match word {
                u64::MAX => numeric::max_of_64(chunk),
                0 => f32::NEG_INFINITY,
                _ => numeric::max_of_64(&select(chunk, word)),
            };
        }
    });
    // Recompute words with banned tokens, and the remainder after the last whole chunk.
    let mut again = |at: usize, banned: &[TokenId]| {
        let Some(logits) = logits.get(at * WORD..).filter(|rest| !rest.is_empty()) else {
            return;
        };
        let mut word = words.get(at).copied().unwrap_or(0);
        for id in banned {
            word &= !(1 << (id.index() % WORD));
        }
        let mut chunk = [f32::NAN; WORD];
        let logits = &logits[..logits.len().min(WORD)];
        chunk[..logits.len()].copy_from_slice(logits);
        maxima[at] = numeric::max_of_64(&select(&chunk, word));
    };
    again(chunks.len(), &[]);
    for banned in banned.chunk_by(|a, b| a.index() / WORD == b.index() / WORD) {
        again(banned[0].index() / WORD, banned);
    }
}

/// Copies the allowed logits, with NaN in place of all others.
pub(crate) fn copy(
    logits: &[f32],
    allowed: &impl AllowedTokens,
    banned: &[TokenId],
    copied: &mut Vec<f32>,
) {
    copied.clear();
    copied.extend_from_slice(logits);
    let words = allowed.bits().words();
    let (chunks, tail) = copied.as_chunks_mut::<WORD>();
    let word_of_tail = words.get(chunks.len()).copied().unwrap_or(0);
    wide!({
        let words = words.iter().copied().chain(std::iter::repeat(0));
        for (chunk, word) in chunks.iter_mut().zip(words) {
            match word {
                u64::MAX => {}
                0 => *chunk = [f32::NAN; WORD],
                _ => *chunk = select(chunk, word),
            }
        }
    });
    for (i, logit) in tail.iter_mut().enumerate() {
        if word_of_tail >> i & 1 == 0 {
            *logit = f32::NAN;
        }
    }
    for id in banned {
        if let Some(logit) = copied.get_mut(id.index()) {
            *logit = f32::NAN;
        }
    }
}

fn for_each_listed(
    logits: &[f32],
    list: &[TokenId],
    banned: &[TokenId],
    mut visit: impl FnMut(TokenId, f32),
) {
    for &id in list {
        if let Some(&logit) = logits.get(id.index())
            && (banned.is_empty() || banned.binary_search(&id).is_err())
        {
            visit(id, logit);
        }
    }
}

/// Some words of a mask, not all of them empty, and their logits.
struct Group<'a> {
    chunks: &'a [[f32; WORD]],
    words: &'a [u64],
}

impl Group<'_> {
    fn is_full(&self) -> bool {
        self.words.iter().all(|&word| word == u64::MAX)
    }

    /// Returns the largest allowed logit, or `-inf` if there is none.
    #[inline]
    fn max(&self) -> f32 {
        if self.is_full() {
            return numeric::max(self.chunks.as_flattened());
        }
        let mut lanes = [f32::NEG_INFINITY; 16];
        self.for_each_chunk(|chunk| {
            for lane in 0..16 {
                let logit = chunk[lane];
                lanes[lane] = if logit > lanes[lane] {
                    logit
                } else {
                    lanes[lane]
                };
            }
        });
        numeric::max(&lanes)
    }

    /// Returns the position of the first allowed logit with this value.
    fn position(&self, value: f32) -> Option<u32> {
        for (i, (chunk, &word)) in self.chunks.iter().zip(self.words).enumerate() {
            if word != 0
                && let Some(at) = select(chunk, word).iter().position(|&l| l == value)
            {
                return Some((i * WORD + at) as u32);
            }
        }
        None
    }

    /// Calls `visit` with sixteen logits at a time, with NaN in place of those that are not allowed.
    ///
    /// The first id of each sixteen is a multiple of sixteen. Chunks without an allowed token may be skipped.
    #[inline]
    fn for_each_chunk(&self, mut visit: impl FnMut(&[f32; 16])) {
        if self.is_full() {
            self.chunks
                .as_flattened()
                .as_chunks()
                .0
                .iter()
                .for_each(visit);
            return;
        }
        for (chunk, &word) in self.chunks.iter().zip(self.words) {
            if word != 0 {
                select(chunk, word)
                    .as_chunks()
                    .0
                    .iter()
                    .for_each(&mut visit);
            }
        }
    }
}

/// Returns the logits whose bit is set, and NaN in place of the others.
#[inline(always)]
fn select(chunk: &[f32; WORD], word: u64) -> [f32; WORD] {
    let mut selected = [0.0; WORD];
    for quarter in 0..4 {
        // Test constant bits against one broadcast value: plain x86-64 has no per-lane shift.
        let bits = (word >> (quarter * 16)) as u32;
        for lane in 0..16 {
            let at = quarter * 16 + lane;
            let forbidden = if bits & (1 << lane) == 0 { u32::MAX } else { 0 };
            selected[at] = f32::from_bits(chunk[at].to_bits() | forbidden);
        }
    }
    selected
}

/// Calls `visit` with the first id of each group that has allowed tokens, with `banned` (sorted) removed from its
/// words.
#[inline]
fn for_each_group(
    logits: &[f32],
    allowed: &impl AllowedTokens,
    mut banned: &[TokenId],
    mut visit: impl FnMut(u32, &Group<'_>),
) {
    let all = allowed.bits().words();
    let (chunks, tail) = logits.as_chunks::<WORD>();
    let mut words = [0; GROUP];
    let mut look_at = |first: usize, chunks: &[[f32; WORD]]| {
        let Some(rest) = all.get(first..) else { return };
        let len = chunks.len().min(rest.len());
        let (chunks, words) = (&chunks[..len], &mut words[..len]);
        words.copy_from_slice(&rest[..len]);
        let base = first * WORD;
        while let Some((id, later)) = banned.split_first()
            && id.index() < base + len * WORD
        {
            if let Some(at) = id.index().checked_sub(base) {
                words[at / WORD] &= !(1 << (at % WORD));
            }
            banned = later;
        }
        if words.iter().any(|&word| word != 0) {
            visit(base as u32, &Group { chunks, words });
        }
    };
    for (i, group) in chunks.chunks(GROUP).enumerate() {
        look_at(i * GROUP, group);
    }
    if !tail.is_empty() {
        let mut padded = [f32::NAN; WORD];
        padded[..tail.len()].copy_from_slice(tail);
        look_at(chunks.len(), &[padded]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{constraint::PlainMask, samplers::Candidates};
    use proptest::prelude::*;
    use structgen_vocab::TokenMask;

    /// A few tokens, or whole ranges of them.
    fn bans() -> impl Strategy<Value = std::collections::BTreeSet<u32>> {
        let stretch = (0u32..2600, 1u32..300).prop_map(|(from, n)| from..from + n);
        let stretches = proptest::collection::vec(stretch, 0..6);
        prop_oneof![
            proptest::collection::btree_set(0u32..2600, 0..6),
            stretches.prop_map(|them| them.into_iter().flatten().collect()),
        ]
    }

    /// Logits with ties, zeros of both signs, infinities and NaN; any shape of mask; a few bans.
    fn cases() -> impl Strategy<Value = (Vec<f32>, PlainMask, Vec<TokenId>)> {
        let logit = prop_oneof![
            20 => -8.0f32..8.0,
            20 => (-3i8..3).prop_map(f32::from),
            1 => Just(f32::NAN),
            1 => Just(-f32::NAN),
            1 => Just(f32::NEG_INFINITY),
            1 => Just(-0.0),
        ];
        let word = prop_oneof![
            3 => Just(u64::MAX),
            3 => Just(0),
            3 => any::<u64>(),
            1 => (0u32..64).prop_map(|bit| 1 << bit),
        ];
        (
            proptest::collection::vec(logit, 0..2300),
            proptest::collection::vec(word, 0..40),
            any::<bool>(),
            bans(),
            proptest::option::weighted(0.1, any::<proptest::sample::Index>()),
        )
            .prop_map(|(mut logits, mut words, blocks, banned, infinite)| {
                if blocks {
                    words = words.iter().flat_map(|&word| [word; 17]).take(40).collect();
                }
                if let Some(at) = infinite.filter(|_| !logits.is_empty()) {
                    let at = at.index(logits.len());
                    logits[at] = f32::INFINITY;
                }
                // A width that is not a multiple of the word's, smaller or larger than that of the logits.
                let mut mask = TokenMask::new((words.len() * 64).saturating_sub(7));
                for id in 0..mask.len() {
                    if words[id / 64] >> (id % 64) & 1 == 1 {
                        mask.allow(TokenId(id as u32));
                    }
                }
                let banned = banned.into_iter().map(TokenId).collect();
                (logits, PlainMask::new(mask), banned)
            })
    }

    /// The naive way: write `-inf` for every forbidden token, then compute over all logits.
    fn masked(logits: &[f32], mask: &PlainMask, banned: &[TokenId]) -> Vec<f32> {
        let value = |(i, &logit): (usize, &f32)| {
            let id = TokenId(i as u32);
            if mask.bits().contains(id) && !banned.contains(&id) && !logit.is_nan() {
                logit
            } else {
                f32::NEG_INFINITY
            }
        };
        logits.iter().enumerate().map(value).collect()
    }

    #[test]
    fn bans_count_in_a_last_word_that_is_no_whole_one() {
        // The largest logits are banned, several of them after the last whole word.
        let logits: Vec<f32> = (0..265u16).map(f32::from).collect();
        let mut mask = TokenMask::new(logits.len());
        (0..265).for_each(|id| mask.allow(TokenId(id)));
        let mask = PlainMask::new(mask);
        for first in [200, 256, 258, 263] {
            let banned: Vec<TokenId> = (first..265).map(TokenId).collect();
            let mut fused = Candidates::default();
            let largest = crate::candidates::Largest {
                k: 1,
                temperature: 1.0,
                also: &[],
                left_out: &banned,
            };
            fused.fill_largest(&logits, &mask, &banned, &largest);
            assert_eq!(fused.ids(), [TokenId(first - 1)]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn all_equal_the_full_computation((logits, mask, banned) in cases()) {
            let full = masked(&logits, &mask, &banned);
            let mut expected = None;
            for (i, &logit) in full.iter().enumerate() {
                if logit > expected.map_or(f32::NEG_INFINITY, |(_, best)| best) {
                    expected = Some((TokenId(i as u32), logit));
                }
            }
            prop_assert_eq!(masked_argmax(&logits, &mask, &banned), expected.map(|(id, _)| id));

            let softmax = masked_softmax(&logits, &mask, &banned);
            prop_assert_eq!(softmax.map(|s| s.log_sum_exp().to_bits()), numeric::log_sum_exp(&full).map(f64::to_bits));
            let mut candidates = Candidates::default();
            candidates.fill(&logits, &mask, &banned);
            prop_assert_eq!(softmax.is_none(), candidates.is_empty());
            for i in (0..candidates.len()).step_by(97) {
                let (id, logit) = (candidates.ids()[i], candidates.logits()[i]);
                let expected = candidates.log_prob(id).unwrap();
                prop_assert_eq!(softmax.unwrap().log_prob(logit).to_bits(), expected.to_bits());
            }
        }

        #[test]
        fn the_largest_few_equal_filling_and_truncating(
            (logits, mask, banned) in cases(),
            k in 1usize..100,
            temperature in prop_oneof![Just(1.0f32), 0.1f32..3.0, Just(1e-38), Just(1e38)],
        ) {
            use crate::samplers::{Sampler, Temperature};
            let mut expected = Candidates::default();
            expected.fill(&logits, &mask, &banned);
            Temperature::new(temperature).apply(&mut expected);
            expected.keep_largest(k);
            let mut fused = Candidates::default();
            let largest = crate::candidates::Largest { k, temperature, also: &[], left_out: &banned };
            fused.fill_largest(&logits, &mask, &banned, &largest);
            if !logits.contains(&f32::INFINITY) && mask.list().is_none() {
                prop_assert!(fused.len() <= k);
            }
            Temperature::new(temperature).apply(&mut fused);
            fused.keep_largest(k);
            prop_assert_eq!(fused.ids(), expected.ids());
            let bits = |c: &Candidates| c.logits().iter().map(|l| l.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&fused), bits(&expected));
        }
    }
}
