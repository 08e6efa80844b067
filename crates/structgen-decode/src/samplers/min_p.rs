use crate::candidates::logit_of;
use crate::{
    numeric,
    samplers::{Candidates, Sampler},
};

/// Keeps the candidates whose probability is at least `m` times the largest.
///
/// Nguyen et al. 2024. Zero is off; `min_keep` candidates are always kept.
///
/// ```
/// use structgen_decode::samplers::{Candidates, MinP, Sampler};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.1f32, 0.6, 0.3].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..3).map(TokenId).zip(logits));
/// MinP::new(0.4, 1).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1), TokenId(2)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinP {
    m: f32,
    min_keep: usize,
}

impl MinP {
    /// Keeps probabilities of at least `m` times the largest, and at least `min_keep` candidates.
    pub fn new(m: f32, min_keep: usize) -> Self {
        Self {
            m,
            min_keep: min_keep.max(1),
        }
    }
}

impl Sampler for MinP {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.m <= 0.0 || candidates.len() <= self.min_keep {
            return;
        }
        // p >= m * pmax, in logits: the sum of the weights cancels out.
        let max = numeric::max(candidates.logits());
        candidates.keep_from(logit_of(self.m.into(), max, 1.0), self.min_keep);
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log};

    fn kept(m: f32, min_keep: usize, probabilities: &[f64]) -> Vec<u32> {
        let mut c = candidates(&log(probabilities));
        MinP::new(m, min_keep).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn keeps_what_is_near_enough_to_the_largest() {
        assert_eq!(kept(0.45, 1, &[0.1, 0.5, 0.15, 0.25]), [1, 3]);
        assert_eq!(kept(0.0, 1, &[0.1, 0.5, 0.15, 0.25]), [0, 1, 2, 3]);
    }

    #[test]
    fn the_largest_always_stays() {
        assert_eq!(kept(1.0, 1, &[0.1, 0.5, 0.15]), [1]);
        assert_eq!(kept(1.0, 2, &[0.1, 0.5, 0.15]), [1, 2]);
    }
}
