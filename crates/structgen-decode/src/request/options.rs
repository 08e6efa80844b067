use std::time::Duration;

use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use crate::{SamplingParams, samplers::OwnSamplers};

/// How outputs are generated, whatever the strategy.
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
    /// The number of outputs after one prompt, which is run once; each draws random numbers of its own. At temperature
    /// zero all are the same.
    pub sequences: usize,
    /// The most tokens to generate, end-of-sequence not counted. None is what the context leaves; see
    /// [`ContextOverflow`].
    pub max_new_tokens: Option<usize>,
    /// No end-of-sequence id before this many tokens, unless nothing else is allowed.
    pub min_new_tokens: usize,
    /// Texts that end the output, matched across token borders.
    pub stop: Vec<String>,
    /// Whether a stop string that ended the output stays in it.
    pub stop_text: StopText,
    /// The most time to spend. It is looked at before each run of the model.
    #[serde(with = "seconds")]
    pub time_limit: Option<Duration>,
    /// Whether to compute log probabilities, which costs a pass over the logits of each step.
    pub log_probs: bool,
    /// How many of the most probable tokens of each choice are kept as
    /// [alternatives](crate::GeneratedToken::alternatives), which costs a copy of the allowed logits of each step. None
    /// by default.
    pub alternatives: usize,
    /// How many of the most probable tokens that the constraint refused are kept in the [report](crate::GeneratedToken::mask)
    /// on each choice's mask, which costs a copy of the other logits of each step. With 0, the default, no report is made.
    pub refused: usize,
    /// Whether each token has the [time](crate::GeneratedToken::time) at which it was taken.
    pub token_times: bool,
    /// What is done about text that the constraint forces.
    pub jump_forward: JumpForward,
    /// What is done where the text outgrows the model's context.
    pub overflow: ContextOverflow,
    /// Tokens that the answer begins with. The constraint takes them, and the text has them; they cost no new tokens.
    #[serde(with = "ids")]
    pub prefill: Vec<TokenId>,
    /// Samplers of the caller's own, which run before those of [`sampling`](Self::sampling). Strategies that follow the
    /// model's own distribution refuse them. They are no part of the JSON form.
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

/// What is done where a text outgrows the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextOverflow {
    /// Nothing is generated: prompt and new tokens have to fit.
    #[default]
    Error,
    /// The model goes on without the oldest tokens. Whenever the context is full, the first tokens stay, such as a
    /// system message, and the last ones, half of what is left of the context; all of these are run again, at their new
    /// positions. A prompt that is too long is cut like that as well. The constraint, the samplers and the output know
    /// all tokens.
    ///
    /// What the model writes is another text than with a longer context, and forced tokens that were left out before
    /// they were run have no log probabilities. Without [`max_new_tokens`](GenerateOptions::max_new_tokens), there are
    /// as many new tokens as the context is long. Beam search, guidance, contrast and faithful samplers refuse it.
    Crop {
        /// How many of the first tokens stay, at most those of prompt and prefill.
        keep: usize,
    },
}

/// What happens to a stop string that ended the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopText {
    /// The text ends before it.
    #[default]
    Trimmed,
    /// The text ends with it.
    Kept,
}

/// What is done about text that the constraint forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JumpForward {
    /// A token is forced where no other is allowed. That changes nothing about the distribution.
    #[default]
    Exact,
    /// Moreover, where the text is forced and several ways to write it in tokens are allowed, it is written as the
    /// scheduler's [encoder](crate::Scheduler::with_encoder) writes it, up to where what is not known yet could belong
    /// to a token. The model is not asked, and runs over all of it at once.
    ///
    /// It takes from the model the choice of other tokens for the same text, which changes the distribution slightly.
    /// Where the output so far is not what the encoder would have written, nothing is forced this way; so it is with
    /// tokenizers that put a space before every text. Beam search refuses it.
    Canonical,
}
