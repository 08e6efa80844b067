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

/// Logits whose weights are added in single precision before they go into a sum in double precision.
const BLOCK: usize = 512;

/// The weights of a softmax whose largest logit is `max`, in `weights`.
pub(crate) fn weigh(logits: &[f32], max: f32, weights: &mut Vec<f32>) {
    weights.resize(logits.len(), 0.0);
    let weights = &mut weights[..];
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (weight, &logit) in weights.iter_mut().zip(logits) {
                *weight = numeric::weight(logit, max);
            }
        },
    );
}

/// The sum of the weights, in lanes by id.
pub(crate) fn sum_by_id(ids: &[TokenId], weights: &[f32]) -> f64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
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
        },
    )
}

/// The sum of the weights, whose places are ids: equal to [`sum_by_id`] of those above zero.
pub(crate) fn sum(weights: &[f32]) -> f64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut sum = LaneSum::default();
            let (chunks, rest) = weights.as_chunks::<16>();
            for chunk in chunks {
                sum.add_aligned(chunk);
            }
            for (i, &weight) in rest.iter().enumerate() {
                sum.add(i as u32, weight);
            }
            sum.total()
        },
    )
}

/// The largest logit, NaN left out; `-inf` where there is none.
pub(crate) fn max(logits: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || numeric::max(logits),
    )
}

/// Changes all logits alike.
pub(crate) fn map(logits: &mut [f32], change: impl Fn(f32) -> f32) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for logit in logits {
                *logit = change(*logit);
            }
        },
    );
}

/// Calls `visit` with the places of logits that are at least `smallest`.
pub(crate) fn for_each_from(logits: &[f32], smallest: f32, mut visit: impl FnMut(usize)) {
    let visit = &mut visit;
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            for (at, chunk) in logits.chunks(64).enumerate() {
                if numeric::max(chunk) >= smallest {
                    for (i, &logit) in chunk.iter().enumerate() {
                        if logit >= smallest {
                            visit(at * 64 + i);
                        }
                    }
                }
            }
        },
    );
}

/// Leaves the weights of logits above `smallest`, and of those that equal it up to the place; the others become zero.
pub(crate) fn keep(logits: &[f32], weights: &mut [f32], (smallest, place): (f32, usize)) {
    let (before, behind) = weights.split_at_mut(weights.len().min(place.saturating_add(1)));
    let (logits, logits_behind) = logits.split_at(before.len());
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (weight, &logit) in before.iter_mut().zip(logits) {
                *weight = if logit >= smallest { *weight } else { 0.0 };
            }
            for (weight, &logit) in behind.iter_mut().zip(logits_behind) {
                *weight = if logit > smallest { *weight } else { 0.0 };
            }
        },
    );
}

/// Nearly the sum of the weights of what has a logit of at least `threshold`: additions are in single precision for a while.
pub(crate) fn mass_from(logits: &[f32], weights: &[f32], threshold: f32) -> f64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut total = 0.0;
            let blocks = logits.chunks(BLOCK).zip(weights.chunks(BLOCK));
            for (logits, weights) in blocks {
                let mut lanes = [0.0f32; 16];
                let (chunks, rest) = logits.as_chunks::<16>();
                let (weights, weights_of_rest) = weights.as_chunks::<16>();
                for (logits, weights) in chunks.iter().zip(weights) {
                    for lane in 0..16 {
                        let counts = logits[lane] >= threshold;
                        lanes[lane] += if counts { weights[lane] } else { 0.0 };
                    }
                }
                for (&logit, &weight) in rest.iter().zip(weights_of_rest) {
                    lanes[0] += if logit >= threshold { weight } else { 0.0 };
                }
                total += f64::from(lanes.iter().sum::<f32>());
            }
            total
        },
    )
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
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            let mut lanes = [0.0f64; 16];
            let mut counts = [0u32; 16];
            let (chunks, rest) = logits.as_chunks::<16>();
            let (weights, weights_of_rest) = weights.as_chunks::<16>();
            for (at, (logits, weights)) in chunks.iter().zip(weights).enumerate() {
                let mut between = 0u32;
                for lane in 0..16 {
                    let above = logits[lane] >= high;
                    lanes[lane] += f64::from(if above { weights[lane] } else { 0.0 });
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
        },
    )
}
