use crate::candidates::logit_of;
use crate::{
    numeric,
    samplers::{Candidates, Sampler},
};

/// Keeps the candidates whose probability is at least `epsilon`.
///
/// Epsilon sampling, Hewitt, Manning and Liang 2022. Zero is off; the largest and `min_keep` candidates are always
/// kept.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Epsilon, Sampler};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.6f32, 0.395, 0.005].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..3).map(TokenId).zip(logits));
/// Epsilon::new(0.01, 1).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(0), TokenId(1)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epsilon {
    epsilon: f32,
    min_keep: usize,
}

impl Epsilon {
    /// Keeps probabilities of at least `epsilon`, and at least `min_keep` candidates, which is at least one.
    pub fn new(epsilon: f32, min_keep: usize) -> Self {
        Self {
            epsilon,
            min_keep: min_keep.max(1),
        }
    }
}

impl Sampler for Epsilon {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.epsilon <= 0.0 || candidates.len() <= self.min_keep {
            return;
        }
        let total = candidates.weigh();
        let max = numeric::max(candidates.logits());
        candidates.keep_from(logit_of(self.epsilon.into(), max, total), self.min_keep);
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log};

    fn kept(epsilon: f32, min_keep: usize) -> Vec<u32> {
        let mut c = candidates(&log(&[0.05, 0.6, 0.3, 0.05]));
        Epsilon::new(epsilon, min_keep).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn keeps_from_epsilon_on() {
        assert_eq!(kept(0.1, 1), [1, 2]);
        assert_eq!(kept(0.04, 1), [0, 1, 2, 3]);
        assert_eq!(kept(0.0, 1), [0, 1, 2, 3]);
    }

    #[test]
    fn the_largest_and_min_keep_stay() {
        assert_eq!(kept(0.9, 1), [1]);
        assert_eq!(kept(0.9, 3), [0, 1, 2]);
    }
}
