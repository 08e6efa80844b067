use crate::candidates::logit_of;
use crate::{
    numeric,
    samplers::{Candidates, Sampler},
};

/// Keeps the candidates whose probability is at least `min(epsilon, sqrt(epsilon) * exp(-H))`, with the entropy `H`.
///
/// Eta sampling, Hewitt, Manning and Liang 2022: epsilon sampling that keeps more if the model is uncertain. Zero is
/// off; the largest and `min_keep` candidates are always kept.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Eta, Sampler};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.9f32, 0.09, 0.01].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..3).map(TokenId).zip(logits));
/// Eta::new(0.05, 1).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(0), TokenId(1)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eta {
    epsilon: f32,
    min_keep: usize,
}

impl Eta {
    /// Cuts at `epsilon` or below, depending on the entropy, and keeps at least `min_keep` candidates, which is at
    /// least one.
    pub fn new(epsilon: f32, min_keep: usize) -> Self {
        Self {
            epsilon,
            min_keep: min_keep.max(1),
        }
    }
}

impl Sampler for Eta {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.epsilon <= 0.0 || candidates.len() <= self.min_keep {
            return;
        }
        let epsilon = f64::from(self.epsilon);
        let entropy = candidates.entropy();
        let eta = epsilon.min(epsilon.sqrt() * numeric::exp_f64(-entropy));
        let max = numeric::max(candidates.logits());
        candidates.keep_from(logit_of(eta, max, candidates.total()), self.min_keep);
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log};

    fn kept(epsilon: f32, min_keep: usize, probabilities: &[f64]) -> Vec<u32> {
        let mut c = candidates(&log(probabilities));
        Eta::new(epsilon, min_keep).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn the_entropy_lowers_the_cut() {
        // H = ln 10, exp(-H) = 0.1, sqrt(0.25) * 0.1 = 0.05: all ten are kept, where epsilon alone would keep one.
        assert_eq!(kept(0.25, 1, &[0.1; 10]).len(), 10);
        // H = 0.38: min(0.1, 0.316 * 0.68) = 0.1.
        assert_eq!(kept(0.1, 1, &[0.9, 0.09, 0.01]), [0]);
    }

    #[test]
    fn the_largest_and_min_keep_stay() {
        assert_eq!(kept(0.99, 1, &[0.01, 0.9, 0.09]), [1]);
        assert_eq!(kept(0.99, 2, &[0.01, 0.9, 0.09]), [1, 2]);
        assert_eq!(kept(0.0, 1, &[0.01, 0.9, 0.09]), [0, 1, 2]);
    }
}
