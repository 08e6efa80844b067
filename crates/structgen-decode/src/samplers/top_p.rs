use crate::samplers::{Candidates, Sampler};

/// Keeps the shortest prefix, by falling probability, whose mass reaches `p`; among equals, the lowest ids come first.
///
/// Nucleus sampling, Holtzman et al. 2020. The candidate that reaches the mass is kept. One is off; `min_keep`
/// candidates are always kept, and zero keeps only these.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, TopP};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.1f32, 0.5, 0.15, 0.25].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..4).map(TokenId).zip(logits));
/// TopP::new(0.6, 1).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1), TokenId(3)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopP {
    p: f32,
    min_keep: usize,
}

impl TopP {
    /// Keeps mass `p`, and at least `min_keep` candidates, which is at least one.
    pub fn new(p: f32, min_keep: usize) -> Self {
        Self {
            p,
            min_keep: min_keep.max(1),
        }
    }
}

impl Sampler for TopP {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.p >= 1.0 || candidates.len() <= self.min_keep {
            return;
        }
        candidates.keep_mass(self.p, self.min_keep);
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
        TopP::new(p, min_keep).apply(&mut c);
        ids(&c)
    }

    /// Includes the candidate that reaches the mass, and excludes the next.
    #[test]
    fn keeps_the_shortest_prefix_that_reaches_the_mass() {
        assert_eq!(kept(0.6, 1, &[0.1, 0.5, 0.15, 0.25]), [1, 3]);
        assert_eq!(kept(0.45, 1, &[0.1, 0.5, 0.15, 0.25]), [1]);
        assert_eq!(kept(0.95, 1, &[0.1, 0.5, 0.15, 0.25]), [0, 1, 2, 3]);
    }

    #[test]
    fn zero_keeps_the_largest_and_min_keep_is_respected() {
        assert_eq!(kept(0.0, 1, &[0.2, 0.5, 0.3]), [1]);
        assert_eq!(kept(0.0, 2, &[0.2, 0.5, 0.3]), [1, 2]);
    }

    #[test]
    fn one_is_off() {
        assert_eq!(kept(1.0, 1, &[1e-9, 0.5, 0.5]), [0, 1, 2]);
    }

    #[test]
    fn ties_keep_the_lowest_ids() {
        assert_eq!(kept(0.5, 1, &[0.25, 0.25, 0.25, 0.25]), [0, 1]);
    }

    #[test]
    fn a_flat_distribution_over_many_candidates_needs_more_than_the_first_head() {
        let flat = vec![0.0; 5_000];
        let mut c = candidates(&flat);
        TopP::new(0.5, 1).apply(&mut c);
        assert_eq!(ids(&c), (0..2_500).collect::<Vec<_>>());
    }
}
