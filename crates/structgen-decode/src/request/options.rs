use std::time::Duration;

use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use crate::{SamplingParams, samplers::OwnSamplers};

/// How outputs are generated, for every strategy.
///
/// The default is one greedy output, without stop strings, as long as the model's context allows.
///
/// ```
/// use structgen_decode::GenerateOptions;
///
/// let options: GenerateOptions =
///     serde_json::from_str(r#"{"sampling": {"temperature": 0.7}, "max_new_tokens": 20, "stop": ["\n"]}"#)?;
/// assert_eq!(options.max_new_tokens, Some(20));
/// assert!(serde_json::from_str::<GenerateOptions>(r#"{"max_tokens": 20}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GenerateOptions {
    /// How tokens are chosen.
    pub sampling: SamplingParams,
    /// Number of outputs to generate; the prompt is processed once, and each output draws its own random numbers. At
    /// temperature 0 all outputs are the same.
    pub sequences: usize,
    /// Maximum number of tokens to generate, not counting end-of-sequence. By default, the rest of the context; see
    /// [`ContextOverflow`].
    pub max_new_tokens: Option<usize>,
    /// Minimum number of tokens before an end-of-sequence id, unless nothing else is allowed.
    pub min_new_tokens: usize,
    /// Texts that end the output, matched across token borders.
    pub stop: Vec<String>,
    /// Whether the output includes the stop string that ended it.
    pub stop_text: StopText,
    /// Maximum time to spend, checked before each run of the model.
    #[serde(with = "seconds")]
    pub time_limit: Option<Duration>,
    /// Whether to compute log probabilities, which costs a pass over the logits per step.
    pub log_probs: bool,
    /// Number of the most probable tokens to keep as [alternatives](crate::GeneratedToken::alternatives) of each
    /// choice, which costs a copy of the allowed logits per step. None by default.
    pub alternatives: usize,
    /// Number of the most probable refused tokens to keep in the [report](crate::GeneratedToken::mask) on each choice's
    /// mask, which costs a copy of the other logits per step. With 0, the default, there is no report.
    pub refused: usize,
    /// Whether to record the [time](crate::GeneratedToken::time) of each token.
    pub token_times: bool,
    /// How to handle text that the constraint forces.
    pub jump_forward: JumpForward,
    /// What to do if the text outgrows the model's context.
    pub overflow: ContextOverflow,
    /// Tokens that the output starts with. The constraint accepts them, the text contains them, and they do not count
    /// as new tokens.
    #[serde(with = "ids")]
    pub prefill: Vec<TokenId>,
    /// The caller's own samplers, which run before those of [`sampling`](Self::sampling). Strategies that follow the
    /// model's own distribution refuse them. They are not part of the JSON form.
    #[serde(skip)]
    pub samplers: OwnSamplers,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            sampling: SamplingParams::default(),
            sequences: 1,
            max_new_tokens: None,
            min_new_tokens: 0,
            stop: Vec::new(),
            stop_text: StopText::default(),
            time_limit: None,
            log_probs: false,
            alternatives: 0,
            refused: 0,
            token_times: false,
            jump_forward: JumpForward::default(),
            overflow: ContextOverflow::default(),
            prefill: Vec::new(),
            samplers: OwnSamplers::default(),
        }
    }
}

/// A duration as a number of seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs_f64()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        time.map_err(D::Error::custom)
    }
}

/// Token ids as numbers.
pub(crate) mod ids {
    use serde::{Deserialize, Deserializer, Serializer};
    use structgen_vocab::TokenId;

    pub(crate) fn serialize<S: Serializer>(
        ids: &[TokenId],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(ids.iter().map(|id| id.0))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<TokenId>, D::Error> {
        let ids = Vec::<u32>::deserialize(deserializer)?;
        Ok(ids.into_iter().map(TokenId).collect())
    }
}

/// What to do if a text outgrows the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextOverflow {
    /// Refuse to generate: prompt and new tokens must fit.
    #[default]
    Error,
    /// Continue without the oldest tokens. Whenever the context is full, the first `keep` tokens, such as a system
    /// message, are kept, and the last ones, which are half of the rest of the context. All of these are run again at
    /// their new positions. A prompt that is too long is cropped in the same way. The constraint, the samplers and the
    /// output know all tokens.
    ///
    /// The output differs from that with a longer context, and forced tokens that were cropped before they were run
    /// have no log probabilities. Without [`max_new_tokens`](GenerateOptions::max_new_tokens), there are as many new
    /// tokens as the context is long. Beam search, guidance, contrast, faithful samplers and
    /// encoder-decoders refuse it.
    Crop {
        /// Number of first tokens to keep, at most those of prompt and prefill.
        keep: usize,
    },
}

/// What to do with a stop string that ended the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopText {
    /// The text ends before it.
    #[default]
    Trimmed,
    /// The text ends with it.
    Kept,
}

/// How to handle text that the constraint forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JumpForward {
    /// Force a token if no other is allowed. This does not change the distribution.
    #[default]
    Exact,
    /// In addition, if the text is forced but several tokenizations are allowed, tokenize it as the scheduler's
    /// [encoder](crate::Scheduler::with_encoder) does, up to where a token might continue into text that is not known
    /// yet. The model is not asked, and processes all of it in one run.
    ///
    /// This denies the model other tokenizations of the same text, which changes the distribution slightly. Nothing is
    /// forced this way if the output so far differs from the encoder's tokenization, nor with tokenizers that put a
    /// space before every text. Beam search refuses it.
    Canonical,
}
