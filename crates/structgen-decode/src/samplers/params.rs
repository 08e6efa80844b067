use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How tokens are chosen among the allowed ones.
///
/// The default is greedy: the largest logit, ties going to the lowest id. Every other field is off by default.
///
/// ```
/// use structgen_decode::SamplingParams;
///
/// let params = SamplingParams { temperature: 0.8, top_p: 0.95, seed: 7, ..SamplingParams::default() };
/// assert!(params.validate().is_ok());
/// assert!(SamplingParams { top_p: 1.5, ..params }.validate().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingParams {
    /// Divides the logits. Zero chooses the largest; one leaves the model's distribution as it is.
    pub temperature: f32,
    /// Keeps the `k` largest; zero is off.
    pub top_k: usize,
    /// Keeps the shortest prefix with this much mass, from 0 to 1; one is off.
    pub top_p: f32,
    /// Keeps what has at least this share of the largest probability, from 0 to 1; zero is off.
    pub min_p: f32,
    /// How many candidates top-p and min-p leave at least; at least one.
    pub min_keep: usize,
    /// Divides or multiplies the logits of tokens seen in prompt and output; one is off.
    pub repetition_penalty: f32,
    /// Taken from a logit for each occurrence in the output; zero is off.
    pub frequency_penalty: f32,
    /// Taken from a logit once the output has the token; zero is off.
    pub presence_penalty: f32,
    /// Added to the logits of token ids; `-inf` suppresses.
    pub logit_bias: BTreeMap<u32, f32>,
    /// Seeds the draw. Equal logits and equal seeds give equal output on every platform.
    pub seed: u64,
    /// The order of the samplers. One that is switched on must be in it.
    pub order: Vec<SamplerKind>,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            min_keep: 1,
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            logit_bias: BTreeMap::new(),
            seed: 0,
            order: SamplerKind::DEFAULT_ORDER.to_vec(),
        }
    }
}

/// The name of a sampler, for the order of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SamplerKind {
    /// [`LogitBias`](crate::LogitBias)
    LogitBias,
    /// [`RepetitionPenalty`](crate::RepetitionPenalty)
    RepetitionPenalty,
    /// [`FrequencyPresencePenalty`](crate::FrequencyPresencePenalty)
    FrequencyPresencePenalty,
    /// [`Temperature`](crate::Temperature)
    Temperature,
    /// [`TopK`](crate::TopK)
    TopK,
    /// [`TopP`](crate::TopP)
    TopP,
    /// [`MinP`](crate::MinP)
    MinP,
}

impl SamplerKind {
    /// Biases, penalties, temperature, then truncation from the coarsest to the finest.
    pub const DEFAULT_ORDER: [Self; 7] = [
        Self::LogitBias,
        Self::RepetitionPenalty,
        Self::FrequencyPresencePenalty,
        Self::Temperature,
        Self::TopK,
        Self::TopP,
        Self::MinP,
    ];
}

impl SamplingParams {
    /// Checks every field.
    ///
    /// # Errors
    /// [`SamplingError`] for the first field that makes no sense.
    pub fn validate(&self) -> Result<(), SamplingError> {
        let number = |name, value: f32, valid: bool, range| {
            if valid {
                Ok(())
            } else {
                Err(SamplingError::OutOfRange { name, value, range })
            }
        };
        let finite = f32::is_finite;
        let t = self.temperature;
        number("temperature", t, finite(t) && t >= 0.0, "0 or more")?;
        let unit = |x: f32| (0.0..=1.0).contains(&x);
        number("top_p", self.top_p, unit(self.top_p), "from 0 to 1")?;
        number("min_p", self.min_p, unit(self.min_p), "from 0 to 1")?;
        let r = self.repetition_penalty;
        number("repetition_penalty", r, finite(r) && r > 0.0, "above 0")?;
        for (name, value) in [
            ("frequency_penalty", self.frequency_penalty),
            ("presence_penalty", self.presence_penalty),
        ] {
            number(name, value, finite(value), "finite")?;
        }
        for &bias in self.logit_bias.values() {
            let valid = finite(bias) || bias == f32::NEG_INFINITY;
            number("logit_bias", bias, valid, "finite or -inf")?;
        }
        if self.min_keep == 0 {
            return Err(SamplingError::MinKeepZero);
        }
        for (i, kind) in self.order.iter().enumerate() {
            if self.order[..i].contains(kind) {
                return Err(SamplingError::Twice(*kind));
            }
        }
        for kind in SamplerKind::DEFAULT_ORDER {
            if self.is_on(kind) && !self.order.contains(&kind) {
                return Err(SamplingError::NotInOrder(kind));
            }
        }
        Ok(())
    }

    /// Whether the fields switch this sampler on.
    pub fn is_on(&self, kind: SamplerKind) -> bool {
        match kind {
            SamplerKind::LogitBias => !self.logit_bias.is_empty(),
            SamplerKind::RepetitionPenalty => self.repetition_penalty != 1.0,
            SamplerKind::FrequencyPresencePenalty => {
                self.frequency_penalty != 0.0 || self.presence_penalty != 0.0
            }
            // At temperature zero the largest logit is chosen, which no truncation removes.
            _ if self.temperature == 0.0 => false,
            SamplerKind::Temperature => self.temperature != 1.0,
            SamplerKind::TopK => self.top_k != 0,
            SamplerKind::TopP => self.top_p < 1.0,
            SamplerKind::MinP => self.min_p > 0.0,
        }
    }
}

/// A sampling parameter that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// A number outside its range.
    #[error("{name} is {value}, and must be {range}")]
    OutOfRange {
        /// The field.
        name: &'static str,
        /// Its value.
        value: f32,
        /// What would be right.
        range: &'static str,
    },
    /// `min_keep` is zero.
    #[error("min_keep is 0, and must be 1 or more: samplers never remove the last candidate")]
    MinKeepZero,
    /// A sampler stands in the order twice.
    #[error("the sampler order names {0:?} twice")]
    Twice(SamplerKind),
    /// A sampler is switched on but not in the order.
    #[error("{0:?} is switched on but missing from the sampler order")]
    NotInOrder(SamplerKind),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut SamplingParams)) -> String {
        let mut params = SamplingParams::default();
        change(&mut params);
        params.validate().unwrap_err().to_string()
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let errors = [
            error(|p| p.temperature = -1.0),
            error(|p| p.temperature = f32::NAN),
            error(|p| p.top_p = 1.01),
            error(|p| p.min_p = -0.1),
            error(|p| p.repetition_penalty = 0.0),
            error(|p| p.frequency_penalty = f32::INFINITY),
            error(|p| p.logit_bias = BTreeMap::from([(3, f32::INFINITY)])),
            error(|p| p.min_keep = 0),
            error(|p| p.order.push(SamplerKind::TopK)),
            error(|p| {
                p.temperature = 1.0;
                p.top_k = 4;
                p.order.clear();
            }),
        ];
        expect_test::expect![[r#"
            temperature is -1, and must be 0 or more
            temperature is NaN, and must be 0 or more
            top_p is 1.01, and must be from 0 to 1
            min_p is -0.1, and must be from 0 to 1
            repetition_penalty is 0, and must be above 0
            frequency_penalty is inf, and must be finite
            logit_bias is inf, and must be finite or -inf
            min_keep is 0, and must be 1 or more: samplers never remove the last candidate
            the sampler order names TopK twice
            TopK is switched on but missing from the sampler order"#]]
        .assert_eq(&errors.join("\n"));
    }

    #[test]
    fn unknown_fields_in_json_are_refused() {
        let parse = serde_json::from_str::<SamplingParams>;
        assert_eq!(
            parse("{\"top_k\":4,\"order\":[\"top-k\"]}").unwrap().top_k,
            4
        );
        assert!(parse("{\"topk\":4}").is_err());
    }
}
