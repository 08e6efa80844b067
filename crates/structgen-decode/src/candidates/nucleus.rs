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
/// Sums in single precision are nearer to the truth than this share.
const ERROR: f64 = 1e-4;

/// Two bounds, between which is the logit with which the mass is reached: what is at the upper one or above it is in any case part of the
/// shortest prefix with the mass, and what is below the lower one is not.
///
/// The lower bound counts as between them, the upper one does not.
pub(super) fn bounds(logits: &[f32], weights: &[f32], mass: f64, min_keep: usize) -> (f32, f32) {
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
    if valid == 0 {
        return everything;
    }
    // Whether what is at the sample's number `i` or above it has the mass, or has not, or it is too near to tell.
    let reaches = |i: usize| {
        let found = wide::mass_from(logits, weights, logit(i));
        let share = found / mass - 1.0;
        (
            found,
            if share.abs() < ERROR {
                None
            } else {
                Some(share > 0.0)
            },
        )
    };
    let (above, first) = reaches(0);
    match first {
        Some(true) => return (logit(0), f32::INFINITY),
        None => return everything,
        Some(false) => {}
    }
    // The sample stands for what is below its first.
    let weight = |i: usize| f64::from(weights[place(i)]);
    let of_sample: f64 = (1..valid).map(weight).sum();
    let all = wide::mass_from(logits, weights, f32::NEG_INFINITY);
    let share = (mass - above) / (all - above);
    let mut sum = 0.0;
    let estimate = (1..valid).take_while(|&i| {
        sum += weight(i);
        sum < share * of_sample
    });
    let estimate = 1 + estimate.count();
    // The prefix ends behind the sample's number `high`, and not behind `low`.
    let (mut high, mut low) = (0, valid);
    let mut guess = estimate + GUESS;
    for step in 0..9 {
        if low - high <= NEAR {
            break;
        }
        let middle = high + (low - high) / 2;
        let at = match step {
            0 => guess,
            1 => guess.saturating_sub(2 * GUESS),
            _ => middle,
        };
        guess = at;
        let at = if at > high && at < low { at } else { middle };
        match reaches(at).1 {
            Some(true) => low = at,
            Some(false) => high = at,
            None => break,
        }
    }
    let lowest = if low < valid {
        logit(low)
    } else {
        f32::NEG_INFINITY
    };
    (lowest, logit(high))
}
