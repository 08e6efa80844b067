//! Loops that use the widest vector registers of the processor.
//!
//! A program is compiled for the oldest processors; `pulp` also compiles a closure for newer ones, and chooses at run
//! time. Each of these loops does the same operations in the same order whatever the width, so that results have the
//! same bits everywhere.

use structgen_vocab::TokenId;

use crate::numeric::{self, LaneSum};

/// A closure that owns this can be called only once. The compiler therefore inlines it into the code compiled for newer
/// processors; a closure that could be called again would stay a separate function, which is not.
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

/// Returns the number or zero, without a branch, since branches prevent vectorisation.
#[inline(always)]
fn where_true(holds: bool, number: f32) -> f32 {
    f32::from_bits(number.to_bits() & u32::from(holds).wrapping_neg())
}

/// Number of logits whose weights are added in single precision before the sum continues in double precision.
const BLOCK: usize = 512;

/// Computes the weights of a softmax whose largest logit is `max`, into `weights`.
pub(crate) fn weigh(logits: &[f32], max: f32, weights: &mut Vec<f32>) {
    weights.resize(logits.len(), 0.0);
    let weights = &mut weights[..];
    wide!({
        for (weight, &logit) in weights.iter_mut().zip(logits) {
            *weight = numeric::weight(logit, max);
        }
    });
}

/// Computes the weights like [`weigh`], and returns their [`sum`].
pub(crate) fn weigh_and_sum(logits: &[f32], max: f32, weights: &mut Vec<f32>) -> f64 {
    weights.resize(logits.len(), 0.0);
    let weights = &mut weights[..];
    wide!({
        let mut sum = LaneSum::default();
        for (weights, logits) in weights.chunks_mut(BLOCK).zip(logits.chunks(BLOCK)) {
            for (weight, &logit) in weights.iter_mut().zip(logits) {
                *weight = numeric::weight(logit, max);
            }
            sum.add_all(weights);
        }
        sum.total()
    })
}

/// Returns the sum of the weights, in lanes by id.
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

/// Returns the sum of weights whose indices are ids: equal to [`sum_by_id`] of those above zero.
pub(crate) fn sum(weights: &[f32]) -> f64 {
    wide!({
        let mut sum = LaneSum::default();
        sum.add_all(weights);
        sum.total()
    })
}

/// Returns the largest logit, ignoring NaN; `-inf` if there is none.
pub(crate) fn max(logits: &[f32]) -> f32 {
    wide!({ numeric::max(logits) })
}

/// Applies a function to all logits.
pub(crate) fn map(logits: &mut [f32], change: impl Fn(f32) -> f32) {
    wide!({
        for logit in logits {
            *logit = change(*logit);
        }
    });
}

/// Calls `visit` with the indices of logits that are at least `smallest`.
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

/// Returns the start of the block in which the sum of the weights, added to an initial sum, passes `target`, and the
/// sum before it; if it does not, the end and the total. Only weights of logits that are at least `smallest` count.
pub(crate) fn block_that_passes(
    logits: &[f32],
    weights: &[f32],
    smallest: f32,
    (mut sum, target): (f64, f64),
) -> (usize, f64) {
    wide!({
        let blocks = logits.chunks(BLOCK).zip(weights.chunks(BLOCK));
        for (at, (logits, weights)) in blocks.enumerate() {
            let (runs, rest) = logits.as_chunks::<16>();
            let (weights, weights_of_rest) = weights.as_chunks::<16>();
            let mut lanes = [0.0f64; 16];
            for (logits, weights) in runs.iter().zip(weights) {
                for lane in 0..16 {
                    let weight = where_true(logits[lane] >= smallest, weights[lane]);
                    lanes[lane] += f64::from(weight);
                }
            }
            let mut of_block = lanes.iter().sum::<f64>();
            for (&logit, &weight) in rest.iter().zip(weights_of_rest) {
                of_block += f64::from(where_true(logit >= smallest, weight));
            }
            if sum + of_block > target {
                return (at * BLOCK, sum);
            }
            sum += of_block;
        }
        (logits.len(), sum)
    })
}

/// Approximates, for each threshold, the sum of the weights whose logits are at least that: the sums are in single
/// precision within a block.
pub(crate) fn masses_from(logits: &[f32], weights: &[f32], thresholds: [f32; 4]) -> [f64; 4] {
    wide!({
        let mut totals = [0.0; 4];
        let blocks = logits.chunks(BLOCK).zip(weights.chunks(BLOCK));
        for (logits, weights) in blocks {
            let (chunks, rest) = logits.as_chunks::<16>();
            let (weights, weights_of_rest) = weights.as_chunks::<16>();
            // One threshold after another over a loaded block: a loop over all four at once did not vectorise well.
            for (total, threshold) in totals.iter_mut().zip(thresholds) {
                let mut lanes = [0.0f32; 16];
                for (logits, weights) in chunks.iter().zip(weights) {
                    for lane in 0..16 {
                        lanes[lane] += where_true(logits[lane] >= threshold, weights[lane]);
                    }
                }
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

/// Returns the index of the `n`-th logit, counted from one, that equals `value`, or the length if there are fewer.
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

/// Returns the sum of the weights whose logits are at least `high`, and their number. Calls `visit` with the indices of
/// logits from `low` to below `high`.
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
        let blocks = logits.chunks(BLOCK).zip(weights.chunks(BLOCK));
        for (at, (logits, weights)) in blocks.enumerate() {
            // Nothing is called within this loop, so that its sums stay in registers; runs with something to visit are
            // noted.
            let (mut sums, mut numbers) = (lanes, counts);
            let mut noted = [0u32; BLOCK / 16];
            let (runs, rest) = logits.as_chunks::<16>();
            let (weights, weights_of_rest) = weights.as_chunks::<16>();
            for ((logits, weights), noted) in runs.iter().zip(weights).zip(&mut noted) {
                let mut between = 0u32;
                for lane in 0..16 {
                    let above = logits[lane] >= high;
                    sums[lane] += f64::from(where_true(above, weights[lane]));
                    numbers[lane] += u32::from(above);
                    between |= u32::from(logits[lane] >= low) & u32::from(!above);
                }
                *noted = between;
            }
            (lanes, counts) = (sums, numbers);
            for (run, &noted) in noted.iter().enumerate() {
                if noted == 0 {
                    continue;
                }
                let mut between = 0u32;
                for (lane, &logit) in runs[run].iter().enumerate() {
                    between |= (u32::from(logit >= low) & u32::from(logit < high)) << lane;
                }
                while between != 0 {
                    visit(at * BLOCK + run * 16 + between.trailing_zeros() as usize);
                    between &= between - 1;
                }
            }
            for (i, (&logit, &weight)) in rest.iter().zip(weights_of_rest).enumerate() {
                if logit >= high {
                    lanes[i] += f64::from(weight);
                    counts[i] += 1;
                } else if logit >= low {
                    visit(at * BLOCK + runs.len() * 16 + i);
                }
            }
        }
        let count: u32 = counts.iter().sum();
        (lanes.iter().sum(), count as usize)
    })
}
