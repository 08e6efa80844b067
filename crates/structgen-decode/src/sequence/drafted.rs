//! The rule by which a drafted token is accepted or replaced.

use structgen_vocab::TokenId;

use crate::samplers::{Accepted, Candidates, SamplerChain};

/// A distribution over tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distribution {
    /// Sorted by id.
    ids: Vec<TokenId>,
    probabilities: Vec<f64>,
}

impl Distribution {
    /// Returns the softmax of candidates, or `None` if no candidate has any weight.
    pub(crate) fn of(candidates: &mut Candidates) -> Option<Self> {
        let total = candidates.weigh();
        let weights = candidates.weights().iter();
        (total > 0.0).then(|| Self {
            ids: candidates.ids().to_vec(),
            probabilities: weights.map(|&weight| f64::from(weight) / total).collect(),
        })
    }

    pub(crate) fn probability(&self, token: TokenId) -> f64 {
        let place = self.ids.binary_search(&token);
        place.map_or(0.0, |place| self.probabilities[place])
    }

    /// Returns the token at which the sum of probabilities passes `uniform`, a random number in `[0, 1)`.
    pub(crate) fn draw(&self, uniform: f64) -> Option<TokenId> {
        let terms = self.ids.iter().copied().zip(&self.probabilities);
        pick(terms.map(|(id, &p)| (id, p)), uniform)
    }
}

/// What to draft a token from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DraftedFrom {
    /// The largest logit, without a draw.
    Largest(TokenId),
    /// A distribution to draw from.
    Distribution(Distribution),
}

/// A token drawn from the draft's distribution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftedDraw {
    pub(crate) token: TokenId,
    pub(crate) from: Distribution,
}

impl DraftedDraw {
    /// Draws from `p`, the distribution that the chain leaves of the candidates, by testing a token drawn from `q`: it
    /// is accepted with probability min(1, p/q), else another token is drawn from max(0, p - q), normalised (Leviathan,
    /// Kalman and Matias 2023, appendix A.1). The result is a draw from `p`, whatever `q` is.
    ///
    /// `p` is computed once: a sampler that tosses a coin uses the same one for the test and for the remainder.
    pub(crate) fn test(
        &self,
        candidates: &mut Candidates,
        chain: &mut SamplerChain,
    ) -> Option<Accepted> {
        chain.apply(candidates);
        let p = Distribution::of(candidates)?;
        let kept = p.probability(self.token);
        let q = self.from.probability(self.token);
        // A chain that does not draw has no drawn drafts.
        let (test, draw) = (chain.uniform()?, chain.uniform()?);
        if test * q < kept {
            return Some(Accepted::drawn(self.token, kept as f32));
        }
        let rest = p.ids.iter().zip(&p.probabilities);
        let rest = rest.map(|(&id, &p)| (id, (p - self.from.probability(id)).max(0.0)));
        let total: f64 = rest.clone().map(|(_, p)| p).sum();
        // If rounding leaves nothing, p and q are equal, and the token is as good as any.
        let token = pick(rest, draw * total).unwrap_or(self.token);
        Some(Accepted::drawn(token, p.probability(token) as f32))
    }
}

/// Returns the first token at which the sum passes `target`; if the sum falls short of it by rounding, the last with
/// any probability.
fn pick(terms: impl Iterator<Item = (TokenId, f64)>, target: f64) -> Option<TokenId> {
    let mut sum = 0.0;
    let mut found = None;
    for (id, p) in terms {
        if p > 0.0 {
            sum += p;
            found = Some(id);
            if sum > target {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SamplingParams, samplers::SequenceRng};

    const DRAWS: u32 = 200_000;

    /// A chain that does not change logits, and draws.
    fn chain(seed: u64) -> SamplerChain {
        let params = SamplingParams {
            temperature: 1.0,
            seed,
            ..SamplingParams::default()
        };
        SamplerChain::new(&params, 0).unwrap()
    }

    fn candidates(probabilities: &[f64]) -> Candidates {
        let ids = (0..).map(TokenId);
        Candidates::from_pairs(ids.zip(probabilities.iter().map(|p| p.ln() as f32)))
    }

    /// Pearson's statistic of draws from `p`.
    fn chi(p: &[f64], mut draw: impl FnMut() -> TokenId) -> f64 {
        let mut counts = vec![0u32; p.len()];
        for _ in 0..DRAWS {
            counts[draw().index()] += 1;
        }
        let terms = counts.iter().zip(p).filter(|(_, p)| **p > 0.0);
        let impossible = counts.iter().zip(p).any(|(&n, &p)| p == 0.0 && n > 0);
        assert!(!impossible, "{counts:?}");
        terms
            .map(|(&n, p)| {
                let expected = p * f64::from(DRAWS);
                (f64::from(n) - expected).powi(2) / expected
            })
            .sum()
    }

    #[test]
    fn what_is_drawn_by_way_of_a_draft_has_the_target_distribution() {
        let p = [0.4, 0.3, 0.2, 0.1, 0.0];
        // Chi-squared with three degrees of freedom: 16.3 is exceeded by chance once in a thousand.
        for (seed, q) in [
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.05, 0.05, 0.05, 0.05, 0.8],
            [0.4, 0.3, 0.2, 0.1, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0],
        ]
        .iter()
        .enumerate()
        {
            let q = Distribution::of(&mut candidates(q)).unwrap();
            let mut chain = chain(seed as u64);
            let mut rng = SequenceRng::new(seed as u64, 1 << 63);
            let statistic = chi(&p, || {
                let draft = DraftedDraw {
                    token: q.draw(rng.uniform()).unwrap(),
                    from: q.clone(),
                };
                draft.test(&mut candidates(&p), &mut chain).unwrap().token
            });
            assert!(statistic < 16.3, "{q:?}: {statistic}");
        }
    }

    #[test]
    fn the_classic_mistake_fails_the_same_test() {
        let p = [0.4, 0.3, 0.2, 0.1];
        let q = Distribution::of(&mut candidates(&[0.1, 0.2, 0.3, 0.4])).unwrap();
        let mut rng = SequenceRng::new(5, 0);
        let target = Distribution::of(&mut candidates(&p)).unwrap();
        let statistic = chi(&p, || {
            let token = q.draw(rng.uniform()).unwrap();
            if rng.uniform() * q.probability(token) < target.probability(token) {
                return token;
            }
            // Wrong on purpose: draws from p rather than from the remainder.
            target.draw(rng.uniform()).unwrap()
        });
        assert!(statistic > 1_000.0, "{statistic}");
    }

    #[test]
    fn a_draft_from_the_target_itself_is_always_kept() {
        let p = [0.25, 0.5, 0.25];
        let q = Distribution::of(&mut candidates(&p)).unwrap();
        let mut chain = chain(1);
        for token in [0, 1, 2, 1].map(TokenId) {
            let from = q.clone();
            let draft = DraftedDraw { token, from };
            let kept = draft.test(&mut candidates(&p), &mut chain).unwrap();
            assert_eq!(kept, Accepted::drawn(token, p[token.index()] as f32));
        }
    }
}
