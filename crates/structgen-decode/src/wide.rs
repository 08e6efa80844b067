//! Loops with the widest registers that the processor has.
//!
//! A program is compiled for the oldest processors; `pulp` compiles a closure for newer ones, too, and chooses when it runs. Each of these
//! loops does the same operations in the same order whatever the width, so that results have the same bits everywhere.

#![expect(
    clippy::needless_range_loop,
    reason = "loops of constant length over lanes are unrolled and vectorised; zipped iterators were not"
)]

use structgen_vocab::TokenId;

use crate::numeric::{self, LaneSum};

/// A closure that owns this can be called only once. So it is called itself, and becomes part of what is compiled for newer processors; one that could be called again is
/// called through a function of its own, which is not.
pub(crate) struct Once;

impl Once {
    #[inline(always)]
    pub(crate) fn spend(self) {}
}

/// Runs a loop with the widest registers.
macro_rules! wide {
    ($loop:block) => {{
        let once = $crate::wide::Once;
        pulp::Arch::new().dispatch(
            #[inline(always)]
            move || {
                once.spend();
                $loop
            },
        )
    }};
}
pub(crate) use wide;

/// The number or zero, without a branch: those are what keeps loops from being vectorised.
#[inline(always)]
fn where_true(holds: bool, number: f32) -> f32 {
    f32::from_bits(number.to_bits() & u32::from(holds).wrapping_neg())
}

/// Logits whose weights are added in single precision before they go into a sum in double precision.
const BLOCK: usize = 512;

/// The weights of a softmax whose largest logit is `max`, in `weights`.
pub(crate) fn weigh(logits: &[f32], max: f32, weights: &mut Vec<f32>) {
    weights.resize(logits.len(), 0.0);
    let weights = &mut weights[..];
    wide!({
        for (weight, &logit) in weights.iter_mut().zip(logits) {
            *weight = numeric::weight(logit, max);
        }
    });
}

/// The sum of the weights, in lanes by id.
pub(crate) fn sum_by_id(ids: &[TokenId], weights: &[f32]) -> f64 {
    wide!({
        let mut sum = LaneSum::default();
        let mut i = 0;
        while i < ids.len() {
            if let Some(run) = weights[i..].first_chunk::<16>()
                && ids[i].0.is_multiple_of(16)
                && ids[i + 15].0 == ids[i].0 + 15
            {
                sum.add_aligned(run);
                i += 16;
            } else {
                sum.add(ids[i].0, weights[i]);
                i += 1;
            }
        }
        sum.total()
    })
}

/// The sum of the weights, whose places are ids: equal to [`sum_by_id`] of those above zero.
pub(crate) fn sum(weights: &[f32]) -> f64 {
    wide!({
        let mut sum = LaneSum::default();
        let (chunks, rest) = weights.as_chunks::<16>();
        for chunk in chunks {
            sum.add_aligned(chunk);
        }
        for (i, &weight) in rest.iter().enumerate() {
            sum.add(i as u32, weight);
        }
        sum.total()
    })
}

/// The largest logit, NaN left out; `-inf` where there is none.
pub(crate) fn max(logits: &[f32]) -> f32 {
    wide!({ numeric::max(logits) })
}

/// Changes all logits alike.
pub(crate) fn map(logits: &mut [f32], change: impl Fn(f32) -> f32) {
    wide!({
        for logit in logits {
            *logit = change(*logit);
        }
    });
}

/// Calls `visit` with the places of logits that are at least `smallest`.
pub(crate) fn for_each_from(logits: &[f32], smallest: f32, mut visit: impl FnMut(usize)) {
    let visit = &mut visit;
    wide!({
        for (at, chunk) in logits.chunks(64).enumerate() {
            if numeric::max(chunk) >= smallest {
                for (i, &logit) in chunk.iter().enumerate() {
                    if logit >= smallest {
                        visit(at * 64 + i);
                    }
                }
            }
        }
    });
}

/// Leaves the weights of logits above `smallest`, and of those that equal it up to the place; the others become zero.
pub(crate) fn keep(logits: &[f32], weights: &mut [f32], (smallest, place): (f32, usize)) {
    let (before, behind) = weights.split_at_mut(weights.len().min(place.saturating_add(1)));
    let (logits, logits_behind) = logits.split_at(before.len());
    wide!({
        for (weight, &logit) in before.iter_mut().zip(logits) {
            *weight = if logit >= smallest { *weight } else { 0.0 };
        }
        for (weight, &logit) in behind.iter_mut().zip(logits_behind) {
            *weight = if logit > smallest { *weight } else { 0.0 };
        }
    });
}

/// Nearly the sums of the weights of what has a logit of at least each threshold: additions are in single precision for a while.
pub(crate) fn masses_from(logits: &[f32], weights: &[f32], thresholds: [f32; 4]) -> [f64; 4] {
    #[inline(always)]
    fn add(lanes: &mut [f32; 16], logits: &[f32; 16], weights: &[f32; 16], threshold: f32) {
        for lane in 0..16 {
            lanes[lane] += where_true(logits[lane] >= threshold, weights[lane]);
        }
    }
    wide!({
        let mut totals = [0.0; 4];
        let blocks = logits.chunks(BLOCK).zip(weights.chunks(BLOCK));
        for (logits, weights) in blocks {
            let [mut a, mut b, mut c, mut d] = [[0.0f32; 16]; 4];
            let (chunks, rest) = logits.as_chunks::<16>();
            let (weights, weights_of_rest) = weights.as_chunks::<16>();
            for (logits, weights) in chunks.iter().zip(weights) {
                add(&mut a, logits, weights, thresholds[0]);
                add(&mut b, logits, weights, thresholds[1]);
                add(&mut c, logits, weights, thresholds[2]);
                add(&mut d, logits, weights, thresholds[3]);
            }
            for ((total, lanes), threshold) in totals.iter_mut().zip([a, b, c, d]).zip(thresholds) {
                let mut sum = lanes.iter().sum::<f32>();
                for (&logit, &weight) in rest.iter().zip(weights_of_rest) {
                    sum += where_true(logit >= threshold, weight);
                }
                *total += f64::from(sum);
            }
        }
        totals
    })
}

/// The place of the `n`-th logit, counted from one, that equals `value`; where there are fewer, the end.
pub(crate) fn nth_equal(logits: &[f32], value: f32, n: usize) -> usize {
    wide!({
        let mut left = n;
        for (at, chunk) in logits.chunks(64).enumerate() {
            let mut equal = 0;
            for &logit in chunk {
                equal += usize::from(logit == value);
            }
            if equal < left {
                left -= equal;
                continue;
            }
            for (i, &logit) in chunk.iter().enumerate() {
                left -= usize::from(logit == value);
                if left == 0 {
                    return at * 64 + i;
                }
            }
        }
        logits.len()
    })
}

/// The sum of the weights of what has a logit of at least `high`, and how many these are; `visit` is called with the places of logits
/// from `low` to below `high`.
pub(crate) fn split(
    logits: &[f32],
    weights: &[f32],
    (low, high): (f32, f32),
    mut visit: impl FnMut(usize),
) -> (f64, usize) {
    let visit = &mut visit;
    wide!({
        let mut lanes = [0.0f64; 16];
        let mut counts = [0u32; 16];
        let (chunks, rest) = logits.as_chunks::<16>();
        let (weights, weights_of_rest) = weights.as_chunks::<16>();
        for (at, (logits, weights)) in chunks.iter().zip(weights).enumerate() {
            let mut between = 0u32;
            for lane in 0..16 {
                let above = logits[lane] >= high;
                lanes[lane] += f64::from(where_true(above, weights[lane]));
                counts[lane] += u32::from(above);
                between |= u32::from(logits[lane] >= low) & u32::from(!above);
            }
            if between != 0 {
                for lane in 0..16 {
                    if logits[lane] >= low && logits[lane] < high {
                        visit(at * 16 + lane);
                    }
                }
            }
        }
        let first = chunks.len() * 16;
        for (i, (&logit, &weight)) in rest.iter().zip(weights_of_rest).enumerate() {
            if logit >= high {
                lanes[i] += f64::from(weight);
                counts[i] += 1;
            } else if logit >= low {
                visit(first + i);
            }
        }
        let count: u32 = counts.iter().sum();
        (lanes.iter().sum(), count as usize)
    })
}
