//! Where, among many candidates, a mass is reached: guessed from a sample, or found by sums over all of them.

use super::key;
use super::select::index;
use crate::wide;

/// Fewer candidates than this are looked at one by one.
const MANY: usize = 4096;
/// Candidates that are sorted for the estimate.
const SAMPLE: usize = 512;
/// The bounds are near enough when this many of the sample lie between them.
const NEAR: usize = 4;
/// How far the first guesses are from the estimate, in places of the sample.
const GUESS: usize = 12;
/// How often all candidates are looked at, for four bounds each time.
const PASSES: usize = 4;
/// Sums in single precision are nearer to the truth than this share.
const ERROR: f64 = 1e-4;

/// Bounds that leave nothing out.
pub(super) const EVERYTHING: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

/// Candidates that follow one another in a run of the larger sample, of which a guess is made.
const LANES: usize = 16;
/// How many such runs.
const RUNS: usize = 512;
/// From this many candidates on a guess is cheaper than sums over all of them.
const VERY_MANY: usize = 1 << 15;
/// How many standard deviations of the sample's mass a guess leaves on either side.
const DEVIATIONS: f64 = 2.5;

/// [`bounds`] that are right nearly always: the sample's mass below them may differ from that of all.
///
/// The mass that is *not* in the prefix is what is estimated, since its weights are small and alike, and `total` is
/// known: a few large weights, of which a sample may have any number, do no harm. Nothing where there are too few
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
    // Steps away from there, until the mass is different for certain.
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

/// Between which two places of `0..valid`, which follow one another, the mass below a place falls to the target.
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

/// Runs of candidates from all over.
struct Runs {
    count: usize,
    logits: [[f32; LANES]; RUNS],
    weights: [[f32; LANES]; RUNS],
    /// The squares of the weights.
    squares: [[f32; LANES]; RUNS],
    /// What the weights of all runs are together.
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

    /// Takes every so-manyth run.
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

    /// What the weights have whose logits are below each bound.
    fn mass_below(&self, bounds: [f32; 4]) -> [f64; 4] {
        let logits = self.logits[..self.count].as_flattened();
        let weights = self.weights[..self.count].as_flattened();
        wide::masses_from(logits, weights, bounds).map(|above| self.mass - above)
    }

    /// The same of their squares, for one bound.
    fn squares_below(&self, bound: f32) -> f64 {
        let logits = self.logits[..self.count].as_flattened();
        let squares = self.squares[..self.count].as_flattened();
        let [above, ..] = wide::masses_from(logits, squares, [bound; 4]);
        wide::sum(squares) - above
    }
}

/// Candidates all over, as keys, the largest logit first.
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

/// How many of the sample are allowed: what is not is NaN, and sorts last.
fn valid(sample: &[u64; SAMPLE], logits: &[f32]) -> usize {
    let allowed = |&&key: &&u64| logits[index(key)] > f32::NEG_INFINITY;
    sample.iter().take_while(allowed).count()
}

/// Two bounds, between which is the logit with which the mass is reached, out of the `total` of all weights: what is at
/// the upper one or above it is in any case part of the shortest prefix with the mass, and what is below the lower one
/// is not.
///
/// The lower bound counts as between them, the upper one does not.
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
    // Whether so much is more than the mass, or less; nothing where it is too near to tell.
    let reaches = |found: f64| {
        let share = found / mass - 1.0;
        (share.abs() >= ERROR).then_some(share > 0.0)
    };
    // The prefix ends after the sample's number `first - 1`, and not after `low`; what these have.
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
