use crate::{
    numeric,
    samplers::{Candidates, Sampler},
};

/// Keeps the candidates whose logit is at most `n` standard deviations below the largest.
///
/// Tang et al. 2024, "Top-nσ: Not All Logits Are You Need". The deviation is that of the candidates as a population;
/// their logits are finite. Zero is off; the largest is always kept. It commutes with the temperature.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, TopNSigma};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs((0..4).map(TokenId).zip([10.0, 9.5, 0.0, 0.0]));
/// TopNSigma::new(1.0).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(0), TokenId(1)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopNSigma(f32);

impl TopNSigma {
    /// Cuts `n` standard deviations below the largest logit.
    pub fn new(n: f32) -> Self {
        Self(n)
    }
}

impl Sampler for TopNSigma {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.0 <= 0.0 || candidates.len() < 2 {
            return;
        }
        let max = numeric::max(candidates.logits());
        let n = candidates.logits().iter().filter(|l| l.is_finite()).count() as f64;
        let over_finite = |term: &dyn Fn(f64) -> f64| -> f64 {
            let finite = candidates.logits().iter().filter(|l| l.is_finite());
            finite.map(|&l| term(l.into())).sum()
        };
        let mean = over_finite(&|l| l) / n;
        let deviation = (over_finite(&|l| (l - mean) * (l - mean)) / n).sqrt();
        if deviation.is_finite() {
            candidates.keep_from(f64::from(max) - f64::from(self.0) * deviation, 1);
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids};

    fn kept(n: f32, logits: &[f32]) -> Vec<u32> {
        let mut c = candidates(logits);
        TopNSigma::new(n).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn cuts_by_the_deviation_of_the_population() {
        // Mean 2, deviation 2 (of the population; 2.31 of a sample).
        assert_eq!(kept(1.1, &[4.0, 4.0, 0.0, 0.0]), [0, 1]);
        assert_eq!(kept(2.0, &[4.0, 4.0, 0.0, 0.0]), [0, 1, 2, 3]);
        assert_eq!(kept(1.9, &[4.0, 4.0, 0.0, 0.0]), [0, 1]);
    }

    #[test]
    fn the_largest_and_equal_ones_stay() {
        assert_eq!(kept(1e-6, &[1.0, 5.0, 2.0]), [1]);
        assert_eq!(kept(1.0, &[2.0, 2.0, 2.0]), [0, 1, 2]);
        assert_eq!(kept(0.0, &[1.0, 5.0]), [0, 1]);
        assert_eq!(kept(1.0, &[f32::INFINITY, 5.0, 1.0]), [0]);
    }
}
