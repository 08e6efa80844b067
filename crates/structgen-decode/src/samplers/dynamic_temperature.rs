use serde::{Deserialize, Serialize};

use crate::{
    numeric,
    samplers::{Candidates, Sampler, Temperature},
};

/// How the temperature follows the entropy. The exponent's default is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicTemperatureParams {
    /// The maximum distance of the temperature from `temperature`, to either side; it is never below zero.
    pub range: f32,
    /// Above 1, the temperature stays low until the entropy is high; below 1, it rises early.
    pub exponent: f32,
}

impl Default for DynamicTemperatureParams {
    fn default() -> Self {
        Self {
            range: 0.0,
            exponent: 1.0,
        }
    }
}

/// Divides the logits by a temperature between two bounds: low if the model is certain, high if it is not.
///
/// `T = min + (max - min) * (H / ln n)^e`, with the entropy `H` of `n` candidates. Entropy-based dynamic temperature of
/// llama.cpp and koboldcpp (kalomaze 2023). A single candidate is unchanged; if `T` is zero, only the largest is kept.
///
/// ```
/// use structgen_decode::samplers::{Candidates, DynamicTemperature, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs([(TokenId(0), 1.0), (TokenId(1), 1.0)]);
/// // All are equal: the entropy is as large as possible.
/// DynamicTemperature::new(0.5, 2.0, 1.0).apply(&mut candidates);
/// assert!((candidates.logits()[0] - 0.5).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DynamicTemperature {
    min: f32,
    max: f32,
    exponent: f32,
}

impl DynamicTemperature {
    /// Creates a sampler with temperatures from `min` to `max`, neither below zero, by the entropy to the power of
    /// `exponent`.
    pub fn new(min: f32, max: f32, exponent: f32) -> Self {
        Self { min, max, exponent }
    }

    /// Returns the temperature for an entropy that is `share` of the largest possible one.
    fn at(self, share: f64) -> f32 {
        let (min, max) = (f64::from(self.min), f64::from(self.max));
        let exponent = f64::from(self.exponent);
        let power = if exponent == 0.0 {
            1.0
        } else if share > 0.0 {
            numeric::exp_f64(exponent * numeric::ln(share))
        } else {
            0.0
        };
        (min + (max - min) * power) as f32
    }
}

impl Sampler for DynamicTemperature {
    fn apply(&mut self, candidates: &mut Candidates) {
        if candidates.len() < 2 {
            return;
        }
        let largest = numeric::ln(candidates.len() as f64);
        let temperature = self.at(candidates.entropy().max(0.0) / largest);
        if temperature > 0.0 {
            Temperature::new(temperature).apply(candidates);
        } else {
            candidates.keep_largest(1);
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

    #[test]
    fn the_temperature_follows_the_entropy() {
        let t = DynamicTemperature::new(0.5, 2.5, 2.0);
        assert_eq!((t.at(0.0), t.at(1.0)), (0.5, 2.5));
        assert!((t.at(0.5) - 1.0).abs() < 1e-6);
        assert_eq!(DynamicTemperature::new(0.5, 2.5, 0.0).at(0.0), 2.5);
    }

    #[test]
    fn temperature_zero_leaves_the_largest() {
        let mut c = candidates(&[1.0, 300.0, 2.0]);
        DynamicTemperature::new(0.0, 2.0, 1.0).apply(&mut c);
        assert_eq!(ids(&c), [1]);
    }

    #[test]
    fn one_candidate_stays_as_it_is() {
        let mut c = candidates(&[3.0]);
        DynamicTemperature::new(0.0, 2.0, 1.0).apply(&mut c);
        assert_eq!(c.logits(), [3.0]);
    }
}
