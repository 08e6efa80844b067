use super::{PARAMETERS, SamplerKind, SamplingParams};
use crate::parameter::{OutOfRange, form_of};

/// An invalid sampling parameter.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// A number outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A bias is neither a number nor minus infinity.
    #[error("the logit_bias of token {id} is {bias}, and must be finite or -inf")]
    Bias {
        /// The token.
        id: u32,
        /// Its bias.
        bias: f32,
    },
    /// A banned sequence or a breaker is empty.
    #[error("{name} number {index} is empty")]
    EmptySequence {
        /// The field.
        name: &'static str,
        /// Its index in the list, from zero.
        index: usize,
    },
    /// The order contains a sampler twice.
    #[error("the sampler order names {} twice", .0.name())]
    Twice(SamplerKind),
    /// A sampler is on, but not in the order.
    #[error("{} is switched on but missing from the sampler order", .0.name())]
    NotInOrder(SamplerKind),
    /// A sampler comes after one that determines the draw.
    #[error("{} comes after {} in the sampler order, which chooses the token and must be the last that is on", .after.name(), .chooser.name())]
    BehindChooser {
        /// The one that determines the draw.
        chooser: SamplerKind,
        /// The one after it.
        after: SamplerKind,
    },
}

structgen_sentence::debug_as_sentence!(SamplingError);

impl SamplingParams {
    /// Checks every field.
    ///
    /// # Errors
    /// [`SamplingError`] for the first invalid field.
    pub fn validate(&self) -> Result<(), SamplingError> {
        let form = form_of(self);
        for row in PARAMETERS {
            row.check(&form)?;
        }
        for (&id, &bias) in &self.logit_bias {
            if !bias.is_finite() && bias != f32::NEG_INFINITY {
                return Err(SamplingError::Bias { id, bias });
            }
        }
        if let Some(dry) = &self.dry {
            not_empty("dry.breakers", &dry.breakers)?;
        }
        not_empty("bad_words", &self.bad_words)?;
        self.validate_order()
    }

    fn validate_order(&self) -> Result<(), SamplingError> {
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
        let on = || self.order.iter().filter(|&&kind| self.is_on(kind));
        let mut rest = on().skip_while(|kind| !kind.is_last());
        if let (Some(&chooser), Some(&after)) = (rest.next(), rest.next()) {
            return Err(SamplingError::BehindChooser { chooser, after });
        }
        Ok(())
    }
}

fn not_empty(name: &'static str, sequences: &[Vec<u32>]) -> Result<(), SamplingError> {
    match sequences.iter().position(Vec::is_empty) {
        Some(index) => Err(SamplingError::EmptySequence { name, index }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::{
        AdaptivePParams, DryParams, DynamicTemperatureParams, LengthDecayParams, MirostatParams,
        RepetitionGuardParams, WatermarkParams, XtcParams,
    };
    use std::collections::BTreeMap;

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
            error(|p| p.typical_p = 0.0),
            error(|p| p.epsilon_cutoff = 1.0),
            error(|p| p.eta_cutoff = f32::NAN),
            error(|p| p.top_n_sigma = -1.0),
            error(|p| p.top_h = 1.5),
            error(|p| {
                p.xtc = Some(XtcParams {
                    probability: 0.5,
                    threshold: 2.0,
                })
            }),
            error(|p| {
                p.dynamic_temperature = Some(DynamicTemperatureParams {
                    range: -0.5,
                    exponent: 1.0,
                })
            }),
            error(|p| {
                p.mirostat = Some(MirostatParams {
                    version: 3,
                    ..MirostatParams::default()
                })
            }),
            error(|p| {
                p.adaptive_p = Some(AdaptivePParams {
                    target: 0.5,
                    decay: 1.0,
                })
            }),
            error(|p| p.repetition_penalty = 0.0),
            error(|p| {
                p.repetition_guard = Some(RepetitionGuardParams {
                    window: 1,
                    strength: 1.5,
                })
            }),
            error(|p| p.frequency_penalty = f32::INFINITY),
            error(|p| {
                p.dry = Some(DryParams {
                    base: 0.5,
                    ..DryParams::default()
                })
            }),
            error(|p| {
                p.dry = Some(DryParams {
                    breakers: vec![vec![1], vec![]],
                    ..DryParams::default()
                })
            }),
            error(|p| {
                p.length_decay = Some(LengthDecayParams {
                    start: 5,
                    factor: 0.0,
                })
            }),
            error(|p| {
                p.watermark = Some(WatermarkParams {
                    gamma: 1.0,
                    ..WatermarkParams::default()
                })
            }),
            error(|p| p.logit_bias = BTreeMap::from([(3, f32::INFINITY)])),
            error(|p| p.bad_words = vec![vec![]]),
            error(|p| p.min_keep = 0),
            error(|p| p.order.push(SamplerKind::TopK)),
            error(|p| {
                p.temperature = 1.0;
                p.top_k = 4;
                p.order.clear();
            }),
            error(|p| {
                p.temperature = 1.0;
                p.mirostat = Some(MirostatParams::default());
                p.adaptive_p = Some(AdaptivePParams::default());
            }),
        ];
        expect_test::expect![[r#"
            temperature is -1, and must be 0 or more
            temperature is infinite or NaN, and must be 0 or more
            top_p is 1.01, and must be from 0 to 1
            min_p is -0.1, and must be from 0 to 1
            typical_p is 0, and must be above 0, and at most 1
            epsilon_cutoff is 1, and must be 0 or more, and below 1
            eta_cutoff is infinite or NaN, and must be 0 or more, and below 1
            top_n_sigma is -1, and must be 0 or more
            top_h is 1.5, and must be from 0 to 1
            xtc.threshold is 2, and must be from 0 to 1
            dynamic_temperature.range is -0.5, and must be 0 or more
            mirostat.version is 3, and must be from 1 to 2
            adaptive_p.decay is 1, and must be from 0 to 0.99
            repetition_penalty is 0, and must be above 0
            repetition_guard.window is 1, and must be from 2 to 1024
            frequency_penalty is infinite or NaN, and must be finite
            dry.base is 0.5, and must be 1 or more
            dry.breakers number 1 is empty
            length_decay.factor is 0, and must be above 0
            watermark.gamma is 1, and must be between 0 and 1
            the logit_bias of token 3 is inf, and must be finite or -inf
            bad_words number 0 is empty
            min_keep is 0, and must be 1 or more
            the sampler order names top-k twice
            top-k is switched on but missing from the sampler order
            adaptive-p comes after mirostat in the sampler order, which chooses the token and must be the last that is on"#]]
        .assert_eq(&errors.join("\n"));
    }

    #[test]
    fn unknown_fields_and_names_in_json_are_refused() {
        fn parse(text: &str) -> serde_json::Result<SamplingParams> {
            serde_json::from_str(text)
        }
        let params = parse(r#"{"top_k":4,"order":["top-k"]}"#).unwrap();
        assert_eq!((params.top_k, params.order.len()), (4, 1));
        assert!(parse(r#"{"topk":4}"#).is_err());
        assert!(parse(r#"{"dry":{"multiplyer":4}}"#).is_err());
        assert!(parse(r#"{"xtc":{"probability":1}}"#).is_err());
        for order in [r#""best""#, r#"["top-q"]"#, "4"] {
            let text = format!(r#"{{"order":{order}}}"#);
            assert!(parse(&text).is_err());
        }
    }

    #[test]
    fn parameters_survive_json() {
        let params = SamplingParams {
            dry: Some(DryParams::default()),
            forced_tokens: BTreeMap::from([(2, 7)]),
            logit_bias: BTreeMap::from([(3, -1.5)]),
            ..SamplingParams::default()
        };
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(
            serde_json::from_str::<SamplingParams>(&text).unwrap(),
            params
        );
    }
}
