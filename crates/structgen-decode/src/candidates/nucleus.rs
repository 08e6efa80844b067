//! Finds where a mass is reached among many candidates: by a guess from a sample, or by sums over all of them.

use super::key;
use super::select::index;
use crate::wide;

/// With fewer candidates, each is examined.
const MANY: usize = 4096;
/// Size of the sorted sample for the estimate.
const SAMPLE: usize = 512;
/// The bounds are close enough once fewer than this many samples lie between them.
const NEAR: usize = 4;
/// Distance of the first guesses from the estimate, in samples.
const GUESS: usize = 12;
/// Maximum number of passes over all candidates, with four bounds each.
const PASSES: usize = 4;
/// Relative error of sums in single precision, at most.
const ERROR: f64 = 1e-4;

/// Bounds that exclude nothing.
pub(super) const EVERYTHING: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

/// Length of a run of consecutive candidates in the larger sample, which is used for guesses.
const LANES: usize = 16;
/// Number of such runs.
const RUNS: usize = 512;
/// From this many candidates on, a guess is cheaper than sums over all of them.
const VERY_MANY: usize = 1 << 15;
/// Margin of a guess on either side, in standard deviations of the sample's mass.
const DEVIATIONS: f64 = 2.5;

/// Guesses [`bounds`] that are nearly always right; they are wrong if the sample's mass below them is unlike that of
/// all candidates.
///
/// The estimate is of the mass *outside* the prefix, because those weights are small and similar, and `total` is known:
/// a few large weights, of which the sample may contain any number, do no harm. Returns `None` if there are too few
/// candidates.
pub(super) fn guess(
    logits: &[f32],
    weights: &[f32],
    (mass, total): (f64, f64),
    min_keep: usize,
) -> Option<(f32, f32)> {
    if logits.len() < VERY_MANY || min_keep > 1 || mass.is_nan() || mass <= 0.0 {
        return None;
    }
    let sample = sorted_sample(logits);
    let logit = |i: usize| logits[index(sample[i])];
    let valid = valid(&sample, logits);
    if valid == 0 {
        return None;
    }
    if logit(0) == logit(valid - 1) {
        return Some((logit(0), logit(0).next_up()));
    }
    let mut runs = Runs::none();
    runs.take(logits, weights);
    let below = |at: [usize; 4]| runs.mass_below(at.map(|i| logit(i.min(valid - 1))));
    let target = (total - mass) * runs.count as f64 / (logits.len() / LANES) as f64;
    let (first, low) = reached(valid, target, below);
    let margin = DEVIATIONS * runs.squares_below(logit(first)).max(0.0).sqrt();
    // Step away until the masses differ by more than the margin.
    let (mut lowest, mut highest) = (None, None);
    for step in [2, 8, 32, 128] {
        let at = [
            first.saturating_sub(step),
            first.saturating_sub(2 * step),
            low + step,
            low + 2 * step,
        ];
        for (i, below) in at.into_iter().zip(below(at)) {
            if i < first && highest.is_none() && below >= target + margin {
                highest = Some(logit(i));
            } else if i >= low && i < valid && lowest.is_none() && below <= target - margin {
                lowest = Some(logit(i));
            }
        }
        if lowest.is_some() && highest.is_some() {
            break;
        }
    }
    Some((
        lowest.unwrap_or(f32::NEG_INFINITY),
        highest.unwrap_or(f32::INFINITY),
    ))
}

/// Returns the two adjacent indices in `0..valid` between which the mass below falls to the target.
fn reached(valid: usize, target: f64, below: impl Fn([usize; 4]) -> [f64; 4]) -> (usize, usize) {
    let (mut first, mut low) = (0, valid);
    while low - first > 1 {
        let at = [1, 2, 3, 4].map(|i| first + (low - first) * i / 5);
        let (from, to) = (first, low);
        for (i, below) in at.into_iter().zip(below(at)) {
            if below > target {
                first = first.max(i);
            } else if i > from {
                low = low.min(i);
            }
        }
        if (first, low) == (from, to) {
            break;
        }
    }
    (first, low)
}

/// Runs of candidates, spread over all of them.
struct Runs {
    count: usize,
    logits: [[f32; LANES]; RUNS],
    weights: [[f32; LANES]; RUNS],
    /// The squares of the weights.
    squares: [[f32; LANES]; RUNS],
    /// The sum of the weights of all runs.
    mass: f64,
}

impl Runs {
    fn none() -> Self {
        let nothing = [[0.0; LANES]; RUNS];
        Self {
            count: 0,
            logits: nothing,
            weights: nothing,
            squares: nothing,
            mass: 0.0,
        }
    }

    /// Samples runs at equal distances.
    fn take(&mut self, logits: &[f32], weights: &[f32]) {
        let (logits, _) = logits.as_chunks::<LANES>();
        let (weights, _) = weights.as_chunks::<LANES>();
        let stride = (logits.len() / RUNS) | 1;
        for (logits, weights) in logits.iter().zip(weights).step_by(stride).take(RUNS) {
            self.logits[self.count] = *logits;
            self.weights[self.count] = *weights;
            for (square, weight) in self.squares[self.count].iter_mut().zip(weights) {
                *square = weight * weight;
            }
            self.count += 1;
        }
        self.mass = wide::sum(self.weights[..self.count].as_flattened());
    }

    /// Sums, for each bound, the weights whose logits are below it.
    fn mass_below(&self, bounds: [f32; 4]) -> [f64; 4] {
        let logits = self.logits[..self.count].as_flattened();
        let weights = self.weights[..self.count].as_flattened();
        wide::masses_from(logits, weights, bounds).map(|above| self.mass - above)
    }

    /// Sums the squares of weights whose logits are below the bound.
    fn squares_below(&self, bound: f32) -> f64 {
        let logits = self.logits[..self.count].as_flattened();
        let squares = self.squares[..self.count].as_flattened();
        let [above, ..] = wide::masses_from(logits, squares, [bound; 4]);
        wide::sum(squares) - above
    }
}

/// Returns candidates from all over, as keys, largest logit first.
fn sorted_sample(logits: &[f32]) -> [u64; SAMPLE] {
    // An odd stride meets every residue of a regular mask.
    let stride = (logits.len() / SAMPLE - 1) | 1;
    let mut sample = [0u64; SAMPLE];
    for (i, sampled) in sample.iter_mut().enumerate() {
        *sampled = key(logits[i * stride], i * stride);
    }
    sample.sort_unstable();
    sample
}

/// Counts the allowed samples: those that are not allowed are NaN and sort last.
fn valid(sample: &[u64; SAMPLE], logits: &[f32]) -> usize {
    let allowed = |&&key: &&u64| logits[index(key)] > f32::NEG_INFINITY;
    sample.iter().take_while(allowed).count()
}

/// Returns bounds on the logit at which the mass is reached, out of the `total` of all weights. All candidates at or
/// above the upper bound are part of the shortest prefix with the mass, and none below the lower bound is.
///
/// The lower bound is inclusive, the upper one exclusive.
pub(super) fn bounds(
    logits: &[f32],
    weights: &[f32],
    (mass, total): (f64, f64),
    min_keep: usize,
) -> (f32, f32) {
    if logits.len() < MANY || min_keep > 1 || mass.is_nan() || mass <= 0.0 {
        return EVERYTHING;
    }
    let sample = sorted_sample(logits);
    let place = |i: usize| index(sample[i]);
    let logit = |i: usize| logits[place(i)];
    let valid = valid(&sample, logits);
    // Returns whether this sum exceeds the mass, or `None` if it is too close to decide.
    let reaches = |found: f64| {
        let share = found / mass - 1.0;
        (share.abs() >= ERROR).then_some(share > 0.0)
    };
    // The prefix ends after sample `first - 1` and not after `low`; these are the masses up to them.
    let (mut first, mut low) = (0, valid);
    let (mut mass_above, mut mass_low) = (0.0, total);
    for pass in 0..PASSES {
        if low - first < NEAR {
            break;
        }
        // Use the samples in between as an estimate.
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
    // Many candidates may share the largest logit.
    let above = lowest.next_up();
    let [found, ..] = wide::masses_from(logits, weights, [above; 4]);
    match reaches(found) {
        Some(false) => (lowest, above),
        _ => (lowest, f32::INFINITY),
    }
}
