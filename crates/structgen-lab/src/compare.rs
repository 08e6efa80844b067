//! Compares samplers on one distribution: which tokens they keep, and how far their draws are from it.

use serde::Serialize;
use structgen_decode::SamplingParams;
use structgen_decode::samplers::{
    Candidates, SamplerChain, SamplingError, SequenceStart, XtcParams,
};
use structgen_vocab::TokenId;

use crate::Distribution;
use crate::step::Everything;

/// The default number of draws of a method that draws.
pub const DRAWS: usize = 1000;

/// A named sampling method.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: SamplingParams,
}

impl Method {
    /// Creates a method.
    pub fn new(name: impl Into<String>, params: SamplingParams) -> Self {
        let name = name.into();
        Self { name, params }
    }

    /// Returns greedy, pure sampling, top-k 10, 20 and 50, top-p .5, .9 and .95, min-p .05 and typical-p .9.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        let pure = SamplingParams {
            temperature: 1.0,
            ..SamplingParams::default()
        };
        let mut methods = vec![
            Self::new("greedy", SamplingParams::default()),
            Self::new("pure", pure.clone()),
        ];
        for top_k in [10, 20, 50] {
            let params = SamplingParams {
                top_k,
                ..pure.clone()
            };
            methods.push(Self::new(format!("top-k {top_k}"), params));
        }
        for top_p in [0.5, 0.9, 0.95] {
            let params = SamplingParams {
                top_p,
                ..pure.clone()
            };
            methods.push(Self::new(format!("top-p {top_p}"), params));
        }
        let min_p = SamplingParams {
            min_p: 0.05,
            ..pure.clone()
        };
        let typical = SamplingParams {
            typical_p: 0.9,
            ..pure
        };
        methods.push(Self::new("min-p 0.05", min_p));
        methods.push(Self::new("typical-p 0.9", typical));
        methods
    }
}

/// The effect of a method on a distribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The method's name.
    pub method: String,
    /// The number of tokens drawn: one if nothing is random.
    pub draws: usize,
    /// The number of different tokens drawn.
    pub unique: usize,
    /// The entropy of the draws, in nats.
    pub entropy: f64,
    /// Whether the most probable token was drawn.
    pub has_top: bool,
    /// The divergence of the draws from the original, in nats. The reverse is infinite as soon as one token was not
    /// drawn.
    pub kl_draws: f64,
    /// The divergence of the distribution that is sampled: for a sampler that only removes tokens, `−ln(mass kept)`.
    /// XTC removes tokens in some steps only; the distribution is that over all steps.
    pub kl_exact: f64,
    /// The original probability of the kept tokens, which are those that may be drawn.
    pub mass: f64,
    /// The total variation distance of the draws from the original.
    pub total_variation: f64,
    /// The number of kept tokens: the nucleus.
    pub kept: usize,
}

/// Applies a method to a distribution and draws from it, with the sampler chain that decoding uses. Each draw is a
/// first step, so samplers have no history.
///
/// ```
/// use structgen_lab::{Distribution, NamedDistribution};
/// use structgen_lab::compare::{Method, compare};
///
/// let zipf = Distribution::named(NamedDistribution::Zipf);
/// let greedy = compare(&zipf, &Method::standard()[0], 1000)?;
/// assert_eq!((greedy.draws, greedy.unique), (1, 1));
/// assert_eq!(format!("{:.3}", greedy.kl_exact), "2.013");
/// # Ok::<(), structgen_decode::samplers::SamplingError>(())
/// ```
///
/// # Errors
/// If a parameter is invalid.
pub fn compare(
    original: &Distribution,
    method: &Method,
    draws: usize,
) -> Result<Compared, SamplingError> {
    let logits = original.logits();
    let everything = Everything::of(logits.len());
    let left = left_by(&method.params, &logits, &everything)?;
    let shares = left.iter().zip(original.probabilities());
    let kept = shares.filter(|(left, _)| **left > 0.0);
    let (mass, count) = kept.fold((0.0, 0), |(mass, count), (_, p)| (mass + p, count + 1));
    let left = Distribution::of(left);

    let mut chain = SamplerChain::new(&method.params, 0)?;
    let mut candidates = Candidates::default();
    let draws = if chain.is_greedy() {
        draws.min(1)
    } else {
        draws
    };
    let mut counts = vec![0.0; logits.len()];
    for _ in 0..draws {
        let start = SequenceStart {
            prompt: &[] as &[TokenId],
            prefilled: 0,
            eos: &[],
        };
        chain.reset(start);
        if let Some(drawn) = chain.pick(&mut candidates, &logits, &everything, &[]) {
            counts[drawn.token.index()] += 1.0 / draws as f64;
        }
    }
    let drawn = Distribution::of(counts);
    Ok(Compared {
        method: method.name.clone(),
        draws,
        unique: drawn.effective(0.0),
        entropy: drawn.entropy(),
        has_top: drawn.probabilities()[original.top().0] > 0.0,
        kl_draws: drawn.kl(original),
        kl_exact: left.kl(original),
        mass,
        total_variation: drawn.total_variation(original),
        kept: count,
    })
}

/// Returns the probabilities with which a first step draws the tokens.
fn left_by(
    params: &SamplingParams,
    logits: &[f32],
    everything: &Everything,
) -> Result<Vec<f64>, SamplingError> {
    let mut left = vec![0.0; logits.len()];
    for (chance, params) in outcomes(params) {
        let mut chain = SamplerChain::new(&params, 0)?;
        let mut candidates = Candidates::default();
        candidates.fill(logits, everything, &[]);
        chain.apply(&mut candidates);
        if chain.is_greedy() {
            if let Some((token, _)) = candidates.largest() {
                left[token.index()] += chance;
            }
            continue;
        }
        let total = candidates.weigh();
        for (id, &weight) in candidates.ids().iter().zip(candidates.weights()) {
            left[id.index()] += chance * f64::from(weight) / total;
        }
    }
    Ok(left)
}

/// Returns the outcomes of XTC's coin, which is tossed before the step, with their probabilities.
fn outcomes(params: &SamplingParams) -> Vec<(f64, SamplingParams)> {
    let Some(xtc) = params.xtc else {
        return vec![(1.0, params.clone())];
    };
    let drops = f64::from(xtc.probability);
    let with = |xtc| SamplingParams {
        xtc,
        ..params.clone()
    };
    let dropping = XtcParams {
        probability: 1.0,
        ..xtc
    };
    let outcomes = [(drops, with(Some(dropping))), (1.0 - drops, with(None))];
    { outcomes.into_iter() }
        .filter(|&(chance, _)| chance > 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedDistribution;

    fn zipf(name: &str) -> Compared {
        let zipf = Distribution::named(NamedDistribution::Zipf);
        let methods = Method::standard();
        let method = methods.iter().find(|method| method.name == name).unwrap();
        compare(&zipf, method, DRAWS).unwrap()
    }

    #[test]
    fn the_exact_divergences_are_as_published_and_the_mass_that_is_kept() {
        let expected = [
            ("greedy", 2.013),
            ("pure", 0.0),
            ("top-k 10", 0.938),
            ("top-k 20", 0.733),
            ("top-k 50", 0.509),
            ("top-p 0.5", 0.684),
            ("top-p 0.9", 0.105),
            ("top-p 0.95", 0.051),
        ];
        for (name, expected) in expected {
            let found = zipf(name);
            assert!((found.kl_exact - expected).abs() < 6e-4, "{found:?}");
            assert!((found.kl_exact + found.mass.ln()).abs() < 1e-5, "{found:?}");
        }
    }

    #[test]
    fn nuclei_are_as_published() {
        let kept = ["top-p 0.5", "top-p 0.9", "top-p 0.95"].map(|name| zipf(name).kept);
        assert_eq!(kept, [24, 473, 688]);
    }

    #[test]
    fn draws_stay_within_what_is_kept_and_repeat() {
        for method in Method::standard() {
            let found = zipf(&method.name);
            assert!(found.unique <= found.kept.min(found.draws), "{found:?}");
            assert!(found.has_top && found.total_variation <= 1.0, "{found:?}");
            assert!(found.kl_draws + 1e-9 >= 0.0 && found.kl_draws.is_finite());
            assert_eq!(found, zipf(&method.name));
        }
        assert_eq!(zipf("greedy").draws, 1);
        assert!(zipf("pure").unique > 200);
    }

    #[test]
    fn the_exact_columns_of_xtc_do_not_depend_on_the_seed() {
        let zipf = Distribution::named(NamedDistribution::Zipf);
        let at = |probability, seed| {
            let params = SamplingParams {
                temperature: 1.0,
                seed,
                xtc: Some(XtcParams {
                    probability,
                    threshold: 0.05,
                }),
                ..SamplingParams::default()
            };
            let found = compare(&zipf, &Method::new("xtc", params), 10).unwrap();
            (found.kl_exact, found.mass, found.kept)
        };
        let mixed = at(0.5, 0);
        assert!((1..8).all(|seed| at(0.5, seed) == mixed));
        assert_eq!(mixed.2, 1000);
        // Halfway between never and always dropping, the divergence is less than half.
        let (never, always) = (at(0.0, 0), at(1.0, 0));
        assert!(never.0 < 1e-6 && always.2 < 1000);
        assert!(
            mixed.0 > 0.0 && mixed.0 < always.0 / 2.0,
            "{mixed:?} {always:?}"
        );
    }

    #[test]
    fn a_temperature_removes_nothing_and_diverges() {
        let params = SamplingParams {
            temperature: 0.5,
            ..SamplingParams::default()
        };
        let zipf = Distribution::named(NamedDistribution::Zipf);
        let found = compare(&zipf, &Method::new("cool", params), 100).unwrap();
        assert_eq!(found.kept, 1000);
        assert!((found.mass - 1.0).abs() < 1e-9 && found.kl_exact > 0.5);
    }
}
