use std::fmt;
use std::ops::{AddAssign, Range};
use std::time::Duration;

use structgen_vocab::TokenId;

/// A generated sequence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The text, including the prefill. Bytes that are not UTF-8 are replaced by U+FFFD; constraints on characters
    /// never allow them.
    pub text: String,
    /// The generated tokens in order, without the prefill and an end-of-sequence id.
    pub tokens: Vec<GeneratedToken>,
    /// The end-of-sequence token, if the model chose one.
    pub end: Option<GeneratedToken>,
    /// Why generation ended.
    pub finish: FinishReason,
    /// What it cost.
    pub stats: GenerationStats,
}

/// One generated token.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GeneratedToken {
    /// The token.
    pub id: TokenId,
    /// Its bytes in the [text](Generation::text), which may start and end within a character. Special tokens have none,
    /// and neither do tokens that were trimmed.
    ///
    /// For bytes that are not UTF-8, the span is that of the U+FFFD in their place, which several tokens may share.
    /// While an output is being generated, they count as they are.
    pub span: Range<usize>,
    /// Whether it was forced rather than sampled: the constraint allowed no other token or, with
    /// [`JumpForward::Canonical`](crate::request::JumpForward::Canonical), no other text.
    pub forced: bool,
    /// Its log probabilities, if [`log_probs`](crate::GenerateOptions::log_probs) requests them.
    ///
    /// A forced token's log probabilities come from the run that processes it, so they are known when the output is
    /// complete, but not necessarily when the token is.
    pub log_probs: Option<TokenLogProbs>,
    /// The most probable tokens of its step, best first, as many as
    /// [`alternatives`](crate::GenerateOptions::alternatives) requests; the token itself is listed if it is one of
    /// them. They are chosen among those that the constraint allowed, after the [caller's own
    /// samplers](crate::GenerateOptions::samplers) and before all others. A forced token has none.
    pub alternatives: Vec<Alternative>,
    /// A report on the constraint's mask of its step, if [`refused`](crate::GenerateOptions::refused) requests it. A
    /// forced token has none.
    pub mask: Option<MaskReport>,
    /// When it was chosen, since the start, if [`token_times`](crate::GenerateOptions::token_times) requests it.
    pub time: Option<Duration>,
}

/// A token that could have been chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alternative {
    /// The token.
    pub id: TokenId,
    /// Its log probabilities.
    pub log_probs: TokenLogProbs,
}

/// What the mask of a step allowed and refused.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskReport {
    /// The number of tokens that the constraint allowed, whatever their logits.
    pub allowed: usize,
    /// The most probable tokens that it refused, best first. Their log probability under the constraint is negative
    /// infinity.
    pub refused: Vec<Alternative>,
}

/// The natural log probabilities of a token, at temperature 1 and before all samplers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenLogProbs {
    /// Under the model alone, over all logits.
    pub model: f32,
    /// Under the model and the constraint: over the allowed tokens, after the [caller's own
    /// samplers](crate::GenerateOptions::samplers). Zero for a forced token.
    pub allowed: f32,
}

impl TokenLogProbs {
    /// Returns the probability mass that the mask of the token's step removed, from 0 to 1: what the model would have
    /// written but may not.
    ///
    /// It is computed from the two log probabilities, and exact to about 1e-6. For text that
    /// [`JumpForward::Canonical`](crate::request::JumpForward::Canonical) forces, it is the mass of all other tokens,
    /// allowed or not.
    ///
    /// ```
    /// use structgen_decode::request::TokenLogProbs;
    ///
    /// let log_probs = TokenLogProbs { model: 0.02_f32.ln(), allowed: 0.1_f32.ln() };
    /// assert!((log_probs.removed_mass() - 0.8).abs() < 1e-6);
    /// ```
    #[must_use]
    pub fn removed_mass(&self) -> f32 {
        match self.allowed > f32::NEG_INFINITY {
            true => -(self.model - self.allowed).min(0.0).exp_m1(),
            // The token is not one of the mask's.
            false => 0.0,
        }
    }
}

/// Why generation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model chose an end-of-sequence id.
    Eos(TokenId),
    /// The output is complete and nothing can follow.
    ConstraintFinished,
    /// The maximum number of new tokens is reached, or the model's context is full.
    MaxTokens,
    /// A stop string appeared.
    StopString(String),
    /// The time limit passed.
    TimeLimit,
    /// The streaming callback asked to stop.
    Cancelled,
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eos(id) => write!(f, "end-of-sequence token {}", id.0),
            Self::ConstraintFinished => f.write_str("nothing can follow"),
            Self::MaxTokens => f.write_str("no tokens left"),
            Self::StopString(stop) => write!(f, "stop string {stop:?}"),
            Self::TimeLimit => f.write_str("time limit"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

/// The cost of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GenerationStats {
    /// Tokens of the prompt, including the prefill.
    pub prompt_tokens: usize,
    /// Tokens of these that the model did not run because they were in a cached row: of a concurrent request, or of an
    /// earlier one in the [prefix cache](crate::SchedulerLimits::prefix_bytes).
    pub reused_tokens: usize,
    /// How often the oldest tokens were dropped from the context, and the rest run again: see
    /// [`ContextOverflow`](crate::request::ContextOverflow).
    pub crops: usize,
    /// Generated tokens that were forced.
    pub forced_tokens: usize,
    /// Runs of the model: one for the prompt, and one per step that was not forced.
    pub runs: u64,
    /// Steps at which a chosen token was refused because the output could not have been completed in time.
    pub steered_steps: usize,
    /// Steps at which a minimum length was lifted because nothing else was allowed.
    pub lifted_bans: usize,
    /// From start to end.
    pub total_time: Duration,
    /// From the start to the first generated token: the prompt's run and one choice.
    pub first_token_time: Duration,
    /// The part of `model_time` before the model had processed the prompt.
    pub prefill_time: Duration,
    /// Time in [`LanguageModel::run`](crate::LanguageModel::run).
    pub model_time: Duration,
    /// Time spent waiting for a mask after the model had run. Masks computed while the model runs do not count.
    pub mask_time: Duration,
    /// The part of `model_time` inside the backend's own run call.
    pub backend_time: Duration,
}

impl AddAssign<&Self> for GenerationStats {
    /// Adds up everything except the time to the first token, which is kept from the first output.
    fn add_assign(&mut self, other: &Self) {
        if self.runs == 0 {
            self.first_token_time = other.first_token_time;
        }
        self.prompt_tokens += other.prompt_tokens;
        self.reused_tokens += other.reused_tokens;
        self.crops += other.crops;
        self.forced_tokens += other.forced_tokens;
        self.runs += other.runs;
        self.steered_steps += other.steered_steps;
        self.lifted_bans += other.lifted_bans;
        self.total_time += other.total_time;
        self.prefill_time += other.prefill_time;
        self.model_time += other.model_time;
        self.mask_time += other.mask_time;
        self.backend_time += other.backend_time;
    }
}

impl GenerationStats {
    /// Returns the share of time spent outside the backend's run call, from 0 to 1.
    pub fn overhead_share(&self) -> f64 {
        let total = self.total_time.as_secs_f64();
        if total > 0.0 {
            1.0 - self.backend_time.as_secs_f64() / total
        } else {
            0.0
        }
    }
}
