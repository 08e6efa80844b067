use crate::{
    numeric,
    samplers::{Candidates, Sampler},
};

/// Keeps the candidates whose surprise is closest to the entropy, up to mass `p`.
///
/// Locally typical sampling, Meister et al. 2023: by rising `|-ln p - H|`, and lowest ids first among equals, the
/// shortest prefix with the mass. One is off; `min_keep` candidates are always kept. The largest may be dropped.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, TypicalP};
/// use structgen_vocab::TokenId;
///
/// // One token is too certain, four are about as surprising as expected.
/// let logits = [0.4f32, 0.15, 0.15, 0.15, 0.15].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..5).map(TokenId).zip(logits));
/// TypicalP::new(0.5, 1).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1), TokenId(2), TokenId(3), TokenId(4)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypicalP {
    p: f32,
    min_keep: usize,
}

impl TypicalP {
    /// Keeps mass `p`, and at least `min_keep` candidates, which is at least one.
    pub fn new(p: f32, min_keep: usize) -> Self {
        Self {
            p,
            min_keep: min_keep.max(1),
        }
    }
}

impl Sampler for TypicalP {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.p >= 1.0 || candidates.len() <= self.min_keep {
            return;
        }
        let entropy = candidates.entropy();
        let max = f64::from(numeric::max(candidates.logits()));
        let total = candidates.total();
        // -ln p - H is ln(total) - (l - max) - H.
        let expected = numeric::ln(total) - entropy + max;
        let mass = f64::from(self.p) * total;
        candidates.keep_mass_by(mass, self.min_keep, |logit| {
            -(expected - f64::from(logit)).abs() as f32
        });
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log};

    fn kept(p: f32, min_keep: usize, probabilities: &[f64]) -> Vec<u32> {
        let mut c = candidates(&log(probabilities));
        TypicalP::new(p, min_keep).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn keeps_what_is_as_surprising_as_expected() {
        // H = 1.47: surprises 0.92, 1.90 (four times).
        assert_eq!(kept(0.29, 1, &[0.4, 0.15, 0.15, 0.15, 0.15]), [1, 2]);
        // H = 0.71: the largest, 0.22, is nearer than 2.30.
        assert_eq!(kept(0.5, 1, &[0.8, 0.1, 0.1]), [0]);
    }

    #[test]
    fn equal_distances_go_by_id_and_min_keep_is_respected() {
        assert_eq!(kept(0.4, 1, &[0.25; 4]), [0, 1]);
        assert_eq!(kept(0.1, 3, &[0.25; 4]), [0, 1, 2]);
        assert_eq!(kept(0.1, 9, &[0.25; 4]), [0, 1, 2, 3]);
    }

    #[test]
    fn one_is_off() {
        assert_eq!(kept(1.0, 1, &[0.9, 1e-9]), [0, 1]);
    }
}
