//! Bootstrap intervals.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::Serialize;

const RESAMPLES: usize = 2000;
const SEED: u64 = 1;

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The denominator of the share: the sum of all weights.
    pub of: f64,
    /// The share, from 0 to 1.
    pub share: f64,
    /// The interval that contains 95% of the shares of resampled texts.
    pub interval: [f64; 2],
}

/// Returns the share of points reached out of those possible, over texts of `(reached, possible)`, with a bootstrap
/// interval of 95% (percentiles; Efron 1979). Whole texts are resampled, since the fields of one text are not
/// independent. The draws are seeded: equal texts have equal intervals. Returns `None` if nothing was possible.
#[must_use]
pub fn estimate(texts: &[(f64, f64)]) -> Option<Estimate> {
    let texts: Vec<(f64, f64)> = { texts.iter().copied() }
        .filter(|&(_, possible)| possible > 0.0)
        .collect();
    if texts.is_empty() {
        return None;
    }
    let sum = |texts: &mut dyn Iterator<Item = (f64, f64)>| {
        texts.fold((0.0, 0.0), |sum, text| (sum.0 + text.0, sum.1 + text.1))
    };
    let (reached, possible) = sum(&mut texts.iter().copied());
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    // Lemire's reduction: the bias is below one in 2^32 per text.
    let mut draw = || texts[((u64::from(rng.next_u32()) * texts.len() as u64) >> 32) as usize];
    let mut shares: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (reached, possible) = sum(&mut (0..texts.len()).map(|_| draw()));
            reached / possible
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    Some(Estimate {
        of: possible,
        share: reached / possible,
        interval: [
            shares[RESAMPLES / 40],
            shares[RESAMPLES - 1 - RESAMPLES / 40],
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_over_all_texts_and_inside_its_interval() {
        let texts = [(1.0, 4.0), (3.0, 4.0), (0.0, 0.0), (0.0, 2.0)];
        let found = estimate(&texts).unwrap();
        assert_eq!((found.of, found.share), (10.0, 0.4));
        assert!(found.interval[0] < 0.4 && 0.4 < found.interval[1]);
        assert_eq!(estimate(&texts), Some(found), "the draws are seeded");
    }

    #[test]
    fn texts_that_agree_leave_no_doubt() {
        let found = estimate(&[(2.0, 2.0); 7]).unwrap();
        assert_eq!((found.share, found.interval), (1.0, [1.0, 1.0]));
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[(0.0, 0.0)]), None);
    }

    /// For a share p of n texts, the interval is close to p ± 1.96 √(p(1-p)/n).
    #[test]
    fn intervals_are_as_wide_as_the_normal_approximation() {
        let texts: Vec<_> = (0..400).map(|at| (f64::from(at % 4 == 0), 1.0)).collect();
        let [low, high] = estimate(&texts).unwrap().interval;
        let half = 1.96 * (0.25_f64 * 0.75 / 400.0).sqrt();
        assert!((low - (0.25 - half)).abs() < 0.006, "{low}");
        assert!((high - (0.25 + half)).abs() < 0.006, "{high}");
    }
}
