//! Distributions over tokens, and their metrics.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The probabilities of tokens, by id. They are not negative and sum to one.
///
/// ```
/// use structgen_lab::Distribution;
///
/// let zipf = Distribution::named("zipf".parse().unwrap());
/// assert_eq!(format!("{:.3}", zipf.entropy()), "5.191");
/// assert_eq!(zipf.nucleus(0.9), 473);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Distribution(Vec<f64>);

/// Why numbers are not a distribution.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoDistribution {
    /// There are no numbers, or no token has a probability above zero.
    #[error("these numbers make no distribution: no token has a probability above zero")]
    Nothing,
    /// The numbers are finite, but their sum is not.
    #[error("these numbers make no distribution: their sum is too large")]
    TooLarge,
    /// A weight is negative, infinite or NaN, or a logit is plus infinity or NaN.
    #[error("number {} is {number}, which makes no distribution", index + 1)]
    Number {
        /// Its index, from zero.
        index: usize,
        /// The number.
        number: f64,
    },
    /// A temperature is negative or NaN.
    #[error("the temperature is {0}, and must be zero or more")]
    Temperature(f64),
}

impl Distribution {
    /// Normalises weights to probabilities.
    ///
    /// # Errors
    /// [`NoDistribution`].
    pub fn from_weights(mut weights: Vec<f64>) -> Result<Self, NoDistribution> {
        let is_sound = |weight: f64| weight.is_finite() && weight >= 0.0;
        check(weights.iter().copied(), is_sound)?;
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            return Err(NoDistribution::Nothing);
        }
        if sum.is_infinite() {
            return Err(NoDistribution::TooLarge);
        }
        for weight in &mut weights {
            *weight /= sum;
        }
        Ok(Self(weights))
    }

    /// Creates a distribution from shares that already sum to one.
    pub(crate) fn of(shares: Vec<f64>) -> Self {
        Self(shares)
    }

    /// Returns the softmax of logits: `p_i = exp(l_i) / Σ exp(l)`. Minus infinity gives a probability of zero.
    ///
    /// # Errors
    /// [`NoDistribution`] if no logit is finite, or one is plus infinity or NaN.
    pub fn from_logits(logits: &[f32]) -> Result<Self, NoDistribution> {
        Self::at_temperature(logits, 1.0)
    }

    /// Returns the softmax of logits divided by a temperature; at zero, all of the probability is on the first of the
    /// largest logits.
    ///
    /// # Errors
    /// As for [`from_logits`](Distribution::from_logits), and if the temperature is negative or NaN.
    pub fn at_temperature(logits: &[f32], temperature: f64) -> Result<Self, NoDistribution> {
        if temperature.is_nan() || temperature < 0.0 {
            return Err(NoDistribution::Temperature(temperature));
        }
        let is_sound = |logit: f64| !logit.is_nan() && logit < f64::INFINITY;
        check(logits.iter().copied().map(f64::from), is_sound)?;
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if most == f32::NEG_INFINITY {
            return Err(NoDistribution::Nothing);
        }
        if temperature == 0.0 {
            let mut weights = vec![0.0; logits.len()];
            let largest = { 0..logits.len() }
                .rev()
                .max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
            weights[largest.ok_or(NoDistribution::Nothing)?] = 1.0;
            return Self::from_weights(weights);
        }
        let weight = |logit: &f32| ((f64::from(*logit) - f64::from(most)) / temperature).exp();
        Self::from_weights(logits.iter().map(weight).collect())
    }

    /// Returns a named distribution.
    pub fn named(name: NamedDistribution) -> Self {
        const TOKENS: usize = 1000;
        let weights = (1..=TOKENS).map(|i| i as f64);
        let bell = |i: f64, centre: f64| (-((i - centre) / 30.0).powi(2) / 2.0).exp();
        let weights: Vec<f64> = match name {
            NamedDistribution::Zipf => weights.map(|i| 1.0 / i).collect(),
            NamedDistribution::Peaked => weights
                .map(|i| {
                    if i == 1.0 {
                        0.9
                    } else {
                        0.1 / (TOKENS - 1) as f64
                    }
                })
                .collect(),
            NamedDistribution::Flat => weights.map(|_| 1.0).collect(),
            NamedDistribution::Bimodal => weights
                .map(|i| bell(i, 250.0) + bell(i, 750.0) + 1e-9)
                .collect(),
        };
        let sum: f64 = weights.iter().sum();
        Self(weights.into_iter().map(|weight| weight / sum).collect())
    }

    /// Returns the probabilities, by token id.
    pub fn probabilities(&self) -> &[f64] {
        &self.0
    }

    /// Returns the logarithms of the probabilities, which are logits of this distribution.
    pub fn logits(&self) -> Vec<f32> {
        self.0.iter().map(|p| p.ln() as f32).collect()
    }

    /// Returns the entropy in nats: `H = −Σ p ln p`.
    pub fn entropy(&self) -> f64 {
        -{ self.0.iter() }
            .filter(|&&p| p > 0.0)
            .map(|&p| p * p.ln())
            // An empty sum is minus zero.
            .sum::<f64>()
            + 0.0
    }

    /// Returns the entropy in bits: `H / ln 2`.
    pub fn entropy_bits(&self) -> f64 {
        self.entropy() / std::f64::consts::LN_2
    }

    /// Returns the most probable token, the first among equals, and its probability.
    pub fn top(&self) -> (usize, f64) {
        let largest = |best: (usize, f64), (id, &p): (usize, &f64)| {
            if p > best.1 { (id, p) } else { best }
        };
        self.0.iter().enumerate().fold((0, 0.0), largest)
    }

    /// Returns the effective vocabulary: the number of tokens with a probability above a threshold.
    pub fn effective(&self, threshold: f64) -> usize {
        self.0.iter().filter(|&&p| p > threshold).count()
    }

    /// Returns the size of the nucleus: how many of the most probable tokens are needed for `mass`; at least one.
    pub fn nucleus(&self, mass: f64) -> usize {
        let mut sum = 0.0;
        let sorted = self.sorted();
        let size = sorted.iter().take_while(|&&p| {
            let is_before = sum < mass;
            sum += p;
            is_before
        });
        size.count().max(1)
    }

    /// Returns the probabilities, largest first.
    pub fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        sorted
    }

    /// Returns the divergence of this distribution from another over the same tokens, in nats: `KL = Σ p ln(p / q)`.
    ///
    /// It is infinite if the other gives no probability to a token that this one does.
    pub fn kl(&self, other: &Self) -> f64 {
        let pairs = self.0.iter().zip(&other.0).filter(|(p, _)| **p > 0.0);
        pairs.map(|(&p, &q)| p * (p / q).ln()).sum::<f64>().max(0.0)
    }

    /// Returns the total variation distance to another distribution over the same tokens: `½ Σ |p − q|`, from 0 to 1.
    pub fn total_variation(&self, other: &Self) -> f64 {
        let pairs = self.0.iter().zip(&other.0);
        pairs.map(|(p, q)| (p - q).abs()).sum::<f64>() / 2.0
    }
}

/// Distributions for trying out samplers, over 1,000 tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedDistribution {
    /// `p ∝ 1/i`, like the words of a language.
    Zipf,
    /// One token has 0.9, the others share the rest.
    Peaked,
    /// All are equally probable.
    Flat,
    /// Two bell curves, around tokens 250 and 750.
    Bimodal,
}

impl NamedDistribution {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Zipf, Self::Peaked, Self::Flat, Self::Bimodal];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zipf => "zipf",
            Self::Peaked => "peaked",
            Self::Flat => "flat",
            Self::Bimodal => "bimodal",
        }
    }
}

impl fmt::Display for NamedDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a distribution's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the distributions zipf, peaked, flat and bimodal")]
pub struct UnknownDistribution(pub String);

impl FromStr for NamedDistribution {
    type Err = UnknownDistribution;

    fn from_str(name: &str) -> Result<Self, UnknownDistribution> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| UnknownDistribution(name.to_owned()))
    }
}

fn check(
    numbers: impl Iterator<Item = f64>,
    is_sound: impl Fn(f64) -> bool,
) -> Result<(), NoDistribution> {
    match numbers.enumerate().find(|&(_, number)| !is_sound(number)) {
        Some((index, number)) => Err(NoDistribution::Number { index, number }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_has_the_published_figures() {
        let zipf = Distribution::named(NamedDistribution::Zipf);
        assert!((zipf.entropy() - 5.191).abs() < 5e-4);
        assert!((zipf.entropy_bits() - 7.489).abs() < 5e-4);
        assert!((zipf.top().1 - 0.1336).abs() < 5e-5);
        assert_eq!([0.5, 0.9, 0.95].map(|p| zipf.nucleus(p)), [24, 473, 688]);
    }

    #[test]
    fn every_name_is_a_distribution() {
        for name in NamedDistribution::ALL {
            assert_eq!(name.name().parse(), Ok(name));
            let found = Distribution::named(name);
            assert!((found.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(found.logits().iter().all(|logit| logit.is_finite()));
        }
        assert!("normal".parse::<NamedDistribution>().is_err());
    }

    #[test]
    fn distances_are_zero_from_itself_and_infinite_where_nothing_is_left() {
        let p = Distribution::from_weights(vec![3.0, 1.0]).unwrap();
        let q = Distribution::from_weights(vec![1.0, 0.0]).unwrap();
        assert_eq!((p.kl(&p), p.total_variation(&p)), (0.0, 0.0));
        assert_eq!(p.kl(&q), f64::INFINITY);
        assert!((q.kl(&p) - (4.0_f64 / 3.0).ln()).abs() < 1e-12);
        assert_eq!(p.total_variation(&q), 0.25);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let all_gone = [f32::NEG_INFINITY; 2];
        assert!(Distribution::from_logits(&all_gone).is_err());
        assert!(Distribution::from_logits(&[]).is_err());
        assert!(Distribution::from_logits(&[1.0, f32::NAN]).is_err());
        assert!(Distribution::from_logits(&[1.0, f32::INFINITY]).is_err());
        assert!(Distribution::from_weights(vec![1.0, -1.0]).is_err());
        assert!(Distribution::at_temperature(&[1.0], -1.0).is_err());
        let told = |error: NoDistribution| error.to_string();
        assert_eq!(
            told(Distribution::from_weights(vec![1.0, -1.0]).unwrap_err()),
            "number 2 is -1, which makes no distribution"
        );
        assert_eq!(
            told(Distribution::at_temperature(&[1.0], -1.0).unwrap_err()),
            "the temperature is -1, and must be zero or more"
        );
        assert_eq!(
            Distribution::from_weights(vec![f64::MAX; 2]),
            Err(NoDistribution::TooLarge)
        );
        let largest = Distribution::at_temperature(&[1.0, 2.0, 2.0], 0.0).unwrap();
        assert_eq!(largest.probabilities(), [0.0, 1.0, 0.0]);
    }
}
