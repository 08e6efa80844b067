use structgen_vocab::TokenId;

use crate::{
    numeric,
    samplers::{Candidates, Sampler},
};

/// The number of largest candidates to consider.
const HEAD: usize = 100;

/// Keeps the longest prefix, by falling probability, whose share of the entropy is at most `alpha`.
///
/// Top-H, Baghaei Potraghloo et al. 2025, as in transformers 5: of the hundred largest candidates, renormalised, the
/// longest prefix whose summed `-p ln p` is at most `alpha * H`. The largest is always kept; zero is off.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, TopH};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.5f32, 0.25, 0.25].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..3).map(TokenId).zip(logits));
/// // Each has a third of the entropy.
/// TopH::new(0.7).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(0), TokenId(1)]);
/// ```
#[derive(Debug, Clone)]
pub struct TopH {
    alpha: f32,
    terms: Vec<f64>,
}

impl TopH {
    /// Keeps the share `alpha` of the entropy.
    pub fn new(alpha: f32) -> Self {
        Self {
            alpha,
            terms: Vec::with_capacity(HEAD),
        }
    }
}

impl Sampler for TopH {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.alpha <= 0.0 || candidates.len() < 2 {
            return;
        }
        let head: &[(f32, TokenId)] = candidates.sorted_head(HEAD);
        let max = head[0].0;
        let weight = |logit: f32| numeric::exp_f64(f64::from(logit) - f64::from(max));
        let total: f64 = head.iter().map(|&(logit, _)| weight(logit)).sum();
        self.terms.clear();
        self.terms.extend(head.iter().map(|&(logit, _)| {
            let p = weight(logit) / total;
            if p > 0.0 { -p * numeric::ln(p) } else { 0.0 }
        }));
        let possible = head.iter().take_while(|&&(logit, _)| weight(logit) > 0.0);
        let possible = possible.count();
        let bound = f64::from(self.alpha) * self.terms.iter().sum::<f64>();
        let mut sum = 0.0;
        let within = self.terms[..possible].iter().take_while(|&term| {
            sum += term;
            sum <= bound
        });
        let kept = within.count().max(1);
        candidates.keep_largest(kept);
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log};

    fn kept(alpha: f32, probabilities: &[f64]) -> Vec<u32> {
        let mut c = candidates(&log(probabilities));
        TopH::new(alpha).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn keeps_its_share_of_the_entropy() {
        assert_eq!(kept(0.34, &[0.25, 0.5, 0.25]), [1]);
        assert_eq!(kept(0.7, &[0.25, 0.5, 0.25]), [0, 1]);
        assert_eq!(kept(1.0, &[0.25, 0.5, 0.25]), [0, 1, 2]);
    }

    #[test]
    fn the_largest_stays_and_no_more_than_a_hundred_do() {
        assert_eq!(kept(1e-6, &[0.25, 0.5, 0.25]), [1]);
        assert_eq!(kept(1.0, &[1e-3; 300]), (0..100).collect::<Vec<_>>());
        assert_eq!(kept(0.0, &[1e-3; 300]).len(), 300);
    }

    #[test]
    fn what_is_next_to_impossible_goes() {
        assert_eq!(kept(0.5, &[1.0, 1e-300]), [0]);
        let mut c = candidates(&[0.0, -1000.0]);
        TopH::new(1.0).apply(&mut c);
        assert_eq!(ids(&c), [0]);
    }
}
