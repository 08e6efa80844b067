use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AdaptivePParams, DryParams, DynamicTemperatureParams, LengthDecayParams, MirostatParams,
    PenaltyScope, RepetitionGuardParams, SamplerKind, WatermarkParams, XtcParams, order,
};

/// How a token is chosen from the allowed ones.
///
/// The default is greedy: the largest logit, and the lowest id among equals. Every other field is off by default. The
/// documentation of each sampler has its formula and source; [`TaskPreset`](crate::samplers::TaskPreset) sets several
/// fields together. In JSON, `order` may be the name of an [`OrderPreset`](crate::samplers::OrderPreset).
///
/// At temperature 0, bans, biases and penalties apply, and everything else is off.
///
/// ```
/// use structgen_decode::SamplingParams;
///
/// let params = SamplingParams { temperature: 0.8, top_p: 0.95, seed: 7, ..SamplingParams::default() };
/// assert!(params.validate().is_ok());
/// assert!(SamplingParams { top_p: 1.5, ..params }.validate().is_err());
/// let params: SamplingParams =
///     serde_json::from_str(r#"{"temperature": 1, "xtc": {"probability": 0.5, "threshold": 0.1}, "order": "hf"}"#)?;
/// assert!(params.validate().is_ok());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingParams {
    /// Divides the logits. Zero chooses the largest logit; one keeps the model's distribution.
    pub temperature: f32,
    /// Makes the temperature follow the entropy, around `temperature`.
    pub dynamic_temperature: Option<DynamicTemperatureParams>,
    /// Keeps the `k` largest logits; zero is off.
    pub top_k: usize,
    /// Whether top-k keeps all logits equal to the `k`-th, as transformers does.
    pub top_k_ties: bool,
    /// Keeps the most probable tokens up to this total probability, from 0 to 1; one is off.
    pub top_p: f32,
    /// Keeps tokens with at least this share of the largest probability, from 0 to 1; zero is off.
    pub min_p: f32,
    /// Keeps the tokens whose surprise is closest to the entropy, up to this total probability, above 0 up to 1; one is
    /// off.
    pub typical_p: f32,
    /// Keeps probabilities of at least this, below 1; zero is off.
    pub epsilon_cutoff: f32,
    /// Keeps probabilities of at least this, or less depending on the entropy; below 1; zero is off.
    pub eta_cutoff: f32,
    /// Keeps logits at most this many standard deviations below the largest; zero is off.
    pub top_n_sigma: f32,
    /// Keeps this share of the entropy of the hundred largest candidates, from 0 to 1; zero is off.
    pub top_h: f32,
    /// Drops all top choices except the least likely one, with some probability.
    pub xtc: Option<XtcParams>,
    /// Minimum number of candidates that top-p, min-p, typical-p, epsilon, eta and XTC keep; at least one.
    pub min_keep: usize,
    /// Steers towards a target surprise. Nothing may come after it in the order.
    pub mirostat: Option<MirostatParams>,
    /// Steers towards a target probability. Nothing may come after it in the order.
    pub adaptive_p: Option<AdaptivePParams>,
    /// Penalises tokens seen before: divides their logits if positive, else multiplies them; one is off.
    pub repetition_penalty: f32,
    /// Which tokens `repetition_penalty` counts: by default those of prompt and output.
    pub repetition_scope: PenaltyScope,
    /// How many of the last of these count; zero means all.
    pub repetition_window: usize,
    /// A repetition penalty that grows with how much the output repeats itself.
    pub repetition_guard: Option<RepetitionGuardParams>,
    /// Subtracted from a logit per occurrence of the token; zero is off.
    pub frequency_penalty: f32,
    /// Subtracted from a logit if the token has occurred; zero is off.
    pub presence_penalty: f32,
    /// Which tokens `frequency_penalty` and `presence_penalty` count: by default those of the output.
    pub frequency_scope: PenaltyScope,
    /// How many of the last of these count; zero means all.
    pub frequency_window: usize,
    /// Penalises continuing a repetition, more the longer it is.
    pub dry: Option<DryParams>,
    /// Forbids repeating a sequence of this many tokens in prompt and output; zero is off.
    pub no_repeat_ngram: usize,
    /// Added to the logits of token ids; minus infinity bans a token, and is `"-inf"` in JSON.
    #[serde(with = "biases")]
    pub logit_bias: BTreeMap<u32, f32>,
    /// Token ids that are banned.
    pub suppress: Vec<u32>,
    /// Sequences of token ids that are banned.
    pub bad_words: Vec<Vec<u32>>,
    /// Token ids to force at positions of the output, counted from zero.
    pub forced_tokens: BTreeMap<usize, u32>,
    /// Bans end-of-sequence ids until prompt and output have this many tokens.
    /// [`GenerateOptions::min_new_tokens`](crate::GenerateOptions::min_new_tokens) counts the output alone.
    pub min_length: usize,
    /// Makes the end more or less likely as the output grows.
    pub length_decay: Option<LengthDecayParams>,
    /// Favours a keyed share of the vocabulary, by which the text can be recognised later.
    pub watermark: Option<WatermarkParams>,
    /// Seeds the draw. The same logits and seed give the same output on every platform.
    pub seed: u64,
    /// The order of the samplers, which must include every sampler that is on.
    #[serde(deserialize_with = "order::deserialize")]
    pub order: Vec<SamplerKind>,
}

/// Numbers, with minus infinity as a string: JSON has no number for it.
mod biases {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Bias {
        Number(f32),
        Text(String),
    }

    pub(super) fn serialize<S: Serializer>(
        biases: &BTreeMap<u32, f32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(biases.iter().map(|(id, &bias)| match bias {
            f32::NEG_INFINITY => (id, Bias::Text("-inf".to_owned())),
            _ => (id, Bias::Number(bias)),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<u32, f32>, D::Error> {
        let biases = BTreeMap::<u32, Bias>::deserialize(deserializer)?;
        let number = |(id, bias)| match bias {
            Bias::Number(bias) => Ok((id, bias)),
            Bias::Text(text) if text == "-inf" => Ok((id, f32::NEG_INFINITY)),
            Bias::Text(text) => Err(D::Error::custom(format!(
                "the bias of token {id} is {text:?}, and must be a number or \"-inf\""
            ))),
        };
        biases.into_iter().map(number).collect()
    }
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            dynamic_temperature: None,
            top_k: 0,
            top_k_ties: false,
            top_p: 1.0,
            min_p: 0.0,
            typical_p: 1.0,
            epsilon_cutoff: 0.0,
            eta_cutoff: 0.0,
            top_n_sigma: 0.0,
            top_h: 0.0,
            xtc: None,
            min_keep: 1,
            mirostat: None,
            adaptive_p: None,
            repetition_penalty: 1.0,
            repetition_scope: PenaltyScope::All,
            repetition_window: 0,
            repetition_guard: None,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            frequency_scope: PenaltyScope::Output,
            frequency_window: 0,
            dry: None,
            no_repeat_ngram: 0,
            logit_bias: BTreeMap::new(),
            suppress: Vec::new(),
            bad_words: Vec::new(),
            forced_tokens: BTreeMap::new(),
            min_length: 0,
            length_decay: None,
            watermark: None,
            seed: 0,
            order: SamplerKind::DEFAULT_ORDER.to_vec(),
        }
    }
}

impl SamplingParams {
    /// Returns whether the fields enable this sampler.
    pub fn is_on(&self, kind: SamplerKind) -> bool {
        use SamplerKind as S;
        match kind {
            S::ForcedTokens => !self.forced_tokens.is_empty(),
            S::Suppress => !self.suppress.is_empty(),
            S::LogitBias => !self.logit_bias.is_empty(),
            S::MinLength => self.min_length > 0,
            S::BadWords => !self.bad_words.is_empty(),
            S::RepetitionPenalty => self.repetition_penalty != 1.0,
            S::RepetitionGuard => self
                .repetition_guard
                .is_some_and(|guard| guard.strength != 1.0),
            S::FrequencyPresencePenalty => {
                self.frequency_penalty != 0.0 || self.presence_penalty != 0.0
            }
            S::Dry => self.dry.as_ref().is_some_and(|dry| dry.multiplier != 0.0),
            S::NoRepeatNgram => self.no_repeat_ngram != 0,
            S::LengthDecay => self.length_decay.is_some_and(|decay| decay.factor != 1.0),
            S::Watermark => self.watermark.is_some(),
            // At temperature 0 the largest logit is chosen, whatever else would be kept.
            _ if self.temperature == 0.0 => false,
            S::TopNSigma => self.top_n_sigma > 0.0,
            S::Temperature => self.temperature != 1.0 || self.dynamic_temperature.is_some(),
            S::TopH => self.top_h > 0.0,
            S::TopK => self.top_k != 0,
            S::TypicalP => self.typical_p < 1.0,
            S::TopP => self.top_p < 1.0,
            S::MinP => self.min_p > 0.0,
            S::Epsilon => self.epsilon_cutoff > 0.0,
            S::Eta => self.eta_cutoff > 0.0,
            S::Xtc => self.xtc.is_some_and(|xtc| xtc.probability > 0.0),
            S::Mirostat => self.mirostat.is_some(),
            S::AdaptiveP => self.adaptive_p.is_some(),
        }
    }
}
