use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AdaptivePParams, DryParams, DynamicTemperatureParams, LengthDecayParams, MirostatParams,
    PenaltyScope, RepetitionGuardParams, SamplerKind, WatermarkParams, XtcParams, order,
};

/// How tokens are chosen among the allowed ones.
///
/// The default is greedy: the largest logit, ties going to the lowest id. Every other field is off by default. Each
/// sampler's own documentation has its formula and its source; [`TaskPreset`](crate::samplers::TaskPreset) sets several fields
/// together. In JSON, `order` may be the name of an [`OrderPreset`](crate::samplers::OrderPreset).
///
/// At temperature zero bans, biases and penalties count, and everything else is off.
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
    /// Divides the logits. Zero chooses the largest; one leaves the model's distribution as it is.
    pub temperature: f32,
    /// Lets the temperature follow the entropy, around `temperature`.
    pub dynamic_temperature: Option<DynamicTemperatureParams>,
    /// Keeps the `k` largest; zero is off.
    pub top_k: usize,
    /// Whether top-k keeps all that equal the `k`-th, as transformers does.
    pub top_k_ties: bool,
    /// Keeps the shortest prefix with this much mass, from 0 to 1; one is off.
    pub top_p: f32,
    /// Keeps what has at least this share of the largest probability, from 0 to 1; zero is off.
    pub min_p: f32,
    /// Keeps this much mass of what is as surprising as expected, above 0 up to 1; one is off.
    pub typical_p: f32,
    /// Keeps probabilities from here on, below 1; zero is off.
    pub epsilon_cutoff: f32,
    /// Keeps probabilities from here or, by the entropy, from below on, below 1; zero is off.
    pub eta_cutoff: f32,
    /// Keeps logits up to this many standard deviations below the largest; zero is off.
    pub top_n_sigma: f32,
    /// Keeps this share of the entropy of the hundred largest, from 0 to 1; zero is off.
    pub top_h: f32,
    /// Drops all top choices but the least likely one, now and then.
    pub xtc: Option<XtcParams>,
    /// How many candidates top-p, min-p, typical-p, epsilon, eta and XTC leave at least; at least one.
    pub min_keep: usize,
    /// Aims at a surprise. Nothing may come after it in the order.
    pub mirostat: Option<MirostatParams>,
    /// Aims at a probability. Nothing may come after it in the order.
    pub adaptive_p: Option<AdaptivePParams>,
    /// Divides or multiplies the logits of tokens seen before; one is off.
    pub repetition_penalty: f32,
    /// Which tokens `repetition_penalty` looks at: by default those of prompt and output.
    pub repetition_scope: PenaltyScope,
    /// How many of the last of these; zero is all of them.
    pub repetition_window: usize,
    /// A repetition penalty that grows with how much the output repeats itself.
    pub repetition_guard: Option<RepetitionGuardParams>,
    /// Taken from a logit for each occurrence; zero is off.
    pub frequency_penalty: f32,
    /// Taken from a logit once the token has come; zero is off.
    pub presence_penalty: f32,
    /// Which tokens `frequency_penalty` and `presence_penalty` look at: by default those of the output.
    pub frequency_scope: PenaltyScope,
    /// How many of the last of these; zero is all of them.
    pub frequency_window: usize,
    /// Punishes going on with what has come before, the more the longer.
    pub dry: Option<DryParams>,
    /// No sequence of this many tokens comes twice in prompt and output; zero is off.
    pub no_repeat_ngram: usize,
    /// Added to the logits of token ids; minus infinity suppresses, and is `"-inf"` in JSON.
    #[serde(with = "biases")]
    pub logit_bias: BTreeMap<u32, f32>,
    /// Token ids that never come.
    pub suppress: Vec<u32>,
    /// Sequences of token ids that never come.
    pub bad_words: Vec<Vec<u32>>,
    /// The token id at places of the output, counted from zero.
    pub forced_tokens: BTreeMap<usize, u32>,
    /// No end-of-sequence id before prompt and output have this many tokens.
    /// [`GenerateOptions::min_new_tokens`](crate::GenerateOptions::min_new_tokens) counts the output alone.
    pub min_length: usize,
    /// Makes the end more likely, or less, as the output grows.
    pub length_decay: Option<LengthDecayParams>,
    /// Favours a keyed share of the vocabulary, by which the text can be told later.
    pub watermark: Option<WatermarkParams>,
    /// Seeds the draw. Equal logits and equal seeds give equal output on every platform.
    pub seed: u64,
    /// The order of the samplers. One that is switched on must be in it.
    #[serde(deserialize_with = "order::deserialize")]
    pub order: Vec<SamplerKind>,
}

/// Numbers, of which minus infinity is a text: JSON has no number for it.
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
    /// Whether the fields switch this sampler on.
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
            // At temperature zero the largest logit is chosen, whatever else would be kept.
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
