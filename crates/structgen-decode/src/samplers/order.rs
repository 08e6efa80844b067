use serde::{Deserialize, Serialize};

/// The name of a sampler, for the order of the chain.
///
/// ```
/// use structgen_decode::samplers::SamplerKind;
///
/// assert_eq!("top-k".parse(), Ok(SamplerKind::TopK));
/// assert_eq!(SamplerKind::TopNSigma.name(), "top-n-sigma");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SamplerKind {
    /// [`ForcedTokens`](crate::samplers::ForcedTokens)
    ForcedTokens,
    /// [`Suppress`](crate::samplers::Suppress)
    Suppress,
    /// [`LogitBias`](crate::samplers::LogitBias)
    LogitBias,
    /// [`MinLength`](crate::samplers::MinLength)
    MinLength,
    /// [`BadWords`](crate::samplers::BadWords)
    BadWords,
    /// [`RepetitionPenalty`](crate::samplers::RepetitionPenalty)
    RepetitionPenalty,
    /// [`RepetitionGuard`](crate::samplers::RepetitionGuard)
    RepetitionGuard,
    /// [`FrequencyPresencePenalty`](crate::samplers::FrequencyPresencePenalty)
    FrequencyPresencePenalty,
    /// [`Dry`](crate::samplers::Dry)
    Dry,
    /// [`NoRepeatNGram`](crate::samplers::NoRepeatNGram)
    NoRepeatNgram,
    /// [`LengthDecay`](crate::samplers::LengthDecay)
    LengthDecay,
    /// [`TopNSigma`](crate::samplers::TopNSigma)
    TopNSigma,
    /// [`Temperature`](crate::samplers::Temperature), or [`DynamicTemperature`](crate::samplers::DynamicTemperature)
    Temperature,
    /// [`TopH`](crate::samplers::TopH)
    TopH,
    /// [`TopK`](crate::samplers::TopK)
    TopK,
    /// [`TypicalP`](crate::samplers::TypicalP)
    TypicalP,
    /// [`TopP`](crate::samplers::TopP)
    TopP,
    /// [`MinP`](crate::samplers::MinP)
    MinP,
    /// [`Epsilon`](crate::samplers::Epsilon)
    Epsilon,
    /// [`Eta`](crate::samplers::Eta)
    Eta,
    /// [`Xtc`](crate::samplers::Xtc)
    Xtc,
    /// [`Watermark`](crate::samplers::Watermark)
    Watermark,
    /// [`Mirostat`](crate::samplers::Mirostat), or [`Mirostat2`](crate::samplers::Mirostat2)
    Mirostat,
    /// [`AdaptiveP`](crate::samplers::AdaptiveP)
    AdaptiveP,
}

use SamplerKind as S;

impl SamplerKind {
    /// The order [`OrderPreset::Structgen`]: bans and biases, penalties, temperature, then truncation from the coarsest
    /// to the finest.
    pub const DEFAULT_ORDER: [Self; 24] = [
        S::ForcedTokens,
        S::Suppress,
        S::LogitBias,
        S::MinLength,
        S::BadWords,
        S::RepetitionPenalty,
        S::RepetitionGuard,
        S::FrequencyPresencePenalty,
        S::Dry,
        S::NoRepeatNgram,
        S::LengthDecay,
        S::TopNSigma,
        S::Temperature,
        S::TopH,
        S::TopK,
        S::TypicalP,
        S::TopP,
        S::MinP,
        S::Epsilon,
        S::Eta,
        S::Xtc,
        S::Watermark,
        S::Mirostat,
        S::AdaptiveP,
    ];

    /// Returns the sampler's name, as used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            S::ForcedTokens => "forced-tokens",
            S::Suppress => "suppress",
            S::LogitBias => "logit-bias",
            S::MinLength => "min-length",
            S::BadWords => "bad-words",
            S::RepetitionPenalty => "repetition-penalty",
            S::RepetitionGuard => "repetition-guard",
            S::FrequencyPresencePenalty => "frequency-presence-penalty",
            S::Dry => "dry",
            S::NoRepeatNgram => "no-repeat-ngram",
            S::LengthDecay => "length-decay",
            S::TopNSigma => "top-n-sigma",
            S::Temperature => "temperature",
            S::TopH => "top-h",
            S::TopK => "top-k",
            S::TypicalP => "typical-p",
            S::TopP => "top-p",
            S::MinP => "min-p",
            S::Epsilon => "epsilon",
            S::Eta => "eta",
            S::Xtc => "xtc",
            S::Watermark => "watermark",
            S::Mirostat => "mirostat",
            S::AdaptiveP => "adaptive-p",
        }
    }

    /// Returns whether the sampler determines the draw, so that no other may come after it.
    pub(super) fn is_last(self) -> bool {
        matches!(self, S::Mirostat | S::AdaptiveP)
    }
}

impl std::str::FromStr for SamplerKind {
    type Err = UnknownOrder;

    fn from_str(name: &str) -> Result<Self, UnknownOrder> {
        let found = Self::DEFAULT_ORDER.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownOrder(name.to_owned()))
    }
}

/// A named order of samplers. It sets the order only, and no parameters.
///
/// ```
/// use structgen_decode::{SamplingParams, samplers::{OrderPreset, SamplerKind}};
///
/// let order: OrderPreset = "llama.cpp".parse().unwrap();
/// let params = SamplingParams { temperature: 0.8, order: order.order(), ..SamplingParams::default() };
/// let place = |kind| params.order.iter().position(|&k| k == kind);
/// assert!(place(SamplerKind::Temperature) > place(SamplerKind::TopK));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OrderPreset {
    /// [`SamplerKind::DEFAULT_ORDER`].
    #[serde(rename = "structgen")]
    Structgen,
    /// llama.cpp's default: truncation by the model's own distribution, the temperature last.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// The order of transformers' `generate`: the temperature first, then truncation, the watermark last.
    #[serde(rename = "hf")]
    HuggingFace,
}

impl OrderPreset {
    /// All presets.
    pub const ALL: [Self; 3] = [Self::Structgen, Self::LlamaCpp, Self::HuggingFace];

    /// Returns its name, as used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structgen => "structgen",
            Self::LlamaCpp => "llama.cpp",
            Self::HuggingFace => "hf",
        }
    }

    /// Returns all samplers in this order. Samplers that the other library lacks are placed where they have the same
    /// effect.
    pub fn order(self) -> Vec<SamplerKind> {
        match self {
            Self::Structgen => SamplerKind::DEFAULT_ORDER.to_vec(),
            Self::LlamaCpp => {
                // The default order, with the temperature after all truncation.
                let mut order = SamplerKind::DEFAULT_ORDER.to_vec();
                order.retain(|&kind| kind != S::Temperature);
                let last = order.iter().position(|&kind| kind == S::Xtc);
                order.insert(last.map_or(order.len(), |last| last + 1), S::Temperature);
                order
            }
            Self::HuggingFace => vec![
                S::LogitBias,
                S::RepetitionPenalty,
                S::RepetitionGuard,
                S::FrequencyPresencePenalty,
                S::Dry,
                S::NoRepeatNgram,
                S::BadWords,
                S::MinLength,
                S::ForcedTokens,
                S::LengthDecay,
                S::Suppress,
                S::TopNSigma,
                S::Temperature,
                S::TopH,
                S::TopK,
                S::TopP,
                S::MinP,
                S::TypicalP,
                S::Epsilon,
                S::Eta,
                S::Xtc,
                S::Watermark,
                S::Mirostat,
                S::AdaptiveP,
            ],
        }
    }
}

impl std::str::FromStr for OrderPreset {
    type Err = UnknownOrder;

    fn from_str(name: &str) -> Result<Self, UnknownOrder> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == name);
        found.ok_or_else(|| UnknownOrder(name.to_owned()))
    }
}

/// A name that is neither a sampler's nor an order's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no sampler, and none of the orders structgen, llama.cpp and hf")]
pub struct UnknownOrder(pub String);

/// Deserialises an order from its name, or from a list of samplers.
pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SamplerKind>, D::Error> {
    struct NameOrList;

    impl<'de> serde::de::Visitor<'de> for NameOrList {
        type Value = Vec<SamplerKind>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the name of an order, or a list of samplers")
        }

        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
            let preset: Result<OrderPreset, _> = name.parse();
            preset.map(OrderPreset::order).map_err(E::custom)
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut list: A,
        ) -> Result<Self::Value, A::Error> {
            let mut order = Vec::new();
            while let Some(kind) = list.next_element()? {
                order.push(kind);
            }
            Ok(order)
        }
    }

    deserializer.deserialize_any(NameOrList)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_every_sampler_once() {
        for preset in OrderPreset::ALL {
            let order = preset.order();
            assert_eq!(order.len(), SamplerKind::DEFAULT_ORDER.len());
            for kind in SamplerKind::DEFAULT_ORDER {
                assert!(order.contains(&kind), "{preset:?} lacks {kind:?}");
            }
        }
    }

    #[test]
    fn names_are_those_of_files() {
        for kind in SamplerKind::DEFAULT_ORDER {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        for preset in OrderPreset::ALL {
            assert_eq!(serde_json::to_value(preset).unwrap(), preset.name());
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        assert_eq!(
            "top-q".parse::<SamplerKind>().unwrap_err().to_string(),
            "\"top-q\" is no sampler, and none of the orders structgen, llama.cpp and hf"
        );
    }

    /// Each preset differs where its library differs from the others.
    #[test]
    fn the_orders_differ_where_the_libraries_do() {
        let before = |preset: OrderPreset, a, b| {
            let order = preset.order();
            order.iter().position(|&k| k == a) < order.iter().position(|&k| k == b)
        };
        use OrderPreset::{HuggingFace, LlamaCpp, Structgen};
        for preset in [Structgen, HuggingFace] {
            assert!(before(preset, S::Temperature, S::TopK));
        }
        assert!(before(LlamaCpp, S::Xtc, S::Temperature));
        assert!(before(Structgen, S::TypicalP, S::TopP));
        assert!(before(HuggingFace, S::MinP, S::TypicalP));
        for preset in OrderPreset::ALL {
            assert!(before(preset, S::FrequencyPresencePenalty, S::Temperature));
            assert!(before(preset, S::TopK, S::TopP) && before(preset, S::TopP, S::MinP));
        }
    }
}
