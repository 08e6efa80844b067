//! Where, among many candidates, a mass is reached: found by sums over all of them and an estimate from a few.

use super::key;
use crate::wide;

/// Fewer candidates than this are looked at one by one.
const MANY: usize = 4096;
/// Candidates that are sorted for the estimate.
const SAMPLE: usize = 512;
/// The bounds are near enough when so many of the sample lie between them.
const NEAR: usize = 4;
/// How far the first guesses are from the estimate, in places of the sample.
const GUESS: usize = 12;
/// How often all candidates are looked at, for four bounds each time.
const PASSES: usize = 4;
/// Sums in single precision are nearer to the truth than this share.
const ERROR: f64 = 1e-4;

/// Two bounds, between which is the logit with which the mass is reached, out of the `total` of all weights: what is at the upper one or above it is in any case part of the
/// shortest prefix with the mass, and what is below the lower one is not.
///
/// The lower bound counts as between them, the upper one does not.
pub(super) fn bounds(
    logits: &[f32],
    weights: &[f32],
    (mass, total): (f64, f64),
    min_keep: usize,
) -> (f32, f32) {
    let everything = (f32::NEG_INFINITY, f32::INFINITY);
    if logits.len() < MANY || min_keep > 1 || mass.is_nan() || mass <= 0.0 {
        return everything;
    }
    // An odd stride meets every residue of a regular mask.
    let stride = (logits.len() / SAMPLE - 1) | 1;
    let mut sample = [0u64; SAMPLE];
    for (i, sampled) in sample.iter_mut().enumerate() {
        *sampled = key(logits[i * stride], i * stride);
    }
    sample.sort_unstable();
    let place = |i: usize| (sample[i] & u64::from(u32::MAX)) as usize;
    let logit = |i: usize| logits[place(i)];
    // What is not allowed is NaN, and sorts last.
    let valid = (0..SAMPLE).take_while(|&i| logit(i) > f32::NEG_INFINITY);
    let valid = valid.count();
    // Whether so much is more than the mass, or less; nothing where it is too near to tell.
    let reaches = |found: f64| {
        let share = found / mass - 1.0;
        (share.abs() >= ERROR).then_some(share > 0.0)
    };
    // The prefix ends behind the sample's number `first - 1`, and not behind `low`; what these have.
    let (mut first, mut low) = (0, valid);
    let (mut mass_above, mut mass_low) = (0.0, total);
    for pass in 0..PASSES {
        if low - first < NEAR {
            break;
        }
        // The sample stands for what is between.
        let weight = |i: usize| f64::from(weights[place(i)]);
        let share = (mass - mass_above) / (mass_low - mass_above);
        let target = share * (first..low).map(weight).sum::<f64>();
        let mut sum = 0.0;
        let before = (first..low).take_while(|&i| {
            sum += weight(i);
            sum < target
        });
        let estimate = first + before.count();
        let step = match pass {
            0 => GUESS,
            _ => ((low - first) / 6).max(1),
        };
        let lowest = if pass == 0 { 0 } else { (first + low) / 2 };
        let at = [
            lowest,
            estimate.saturating_sub(step),
            estimate,
            estimate + step,
        ];
        let at = at.map(|i| i.clamp(first, low - 1));
        let found = wide::masses_from(logits, weights, at.map(logit));
        let before = (first, low);
        for (i, found) in at.into_iter().zip(found) {
            match reaches(found) {
                Some(true) if i < low => (low, mass_low) = (i, found),
                Some(false) if i >= first => (first, mass_above) = (i + 1, found),
                _ => {}
            }
        }
        if (first, low) == before {
            break;
        }
    }
    let lowest = if low < valid {
        logit(low)
    } else {
        f32::NEG_INFINITY
    };
    if first > 0 {
        return (lowest, logit(first - 1));
    }
    // Many may be the largest together.
    let above = lowest.next_up();
    let [found, ..] = wide::masses_from(logits, weights, [above; 4]);
    match reaches(found) {
        Some(false) => (lowest, above),
        _ => (lowest, f32::INFINITY),
    }
}
