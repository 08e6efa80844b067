use std::fmt;
use std::ops::{AddAssign, Range};
use std::time::Duration;

use structgen_vocab::TokenId;

/// A generated sequence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The text, the prefill included. Bytes that are no UTF-8 are replaced by U+FFFD; a constraint that speaks of
    /// characters never lets them through.
    pub text: String,
    /// The generated tokens in order, without the prefill and without an end-of-sequence id.
    pub tokens: Vec<GeneratedToken>,
    /// The end-of-sequence token, where the model chose one.
    pub end: Option<GeneratedToken>,
    /// Why generation ended.
    pub finish: FinishReason,
    /// What it took.
    pub stats: GenerationStats,
}

/// One generated token.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GeneratedToken {
    /// The token.
    pub id: TokenId,
    /// Its bytes of the [text](Generation::text); they may begin and end within a character. Special tokens have none,
    /// and neither has what was trimmed.
    ///
    /// Bytes that are no UTF-8 are those of the U+FFFD in their place, which tokens may share. While an output comes,
    /// they count as they are.
    pub span: Range<usize>,
    /// Whether the constraint allowed no other token, or, with
    /// [`JumpForward::Canonical`](crate::request::JumpForward::Canonical), no other text, so that nothing was sampled.
    pub forced: bool,
    /// Its log probabilities, where [`log_probs`](crate::GenerateOptions::log_probs) asked for them.
    ///
    /// A forced token's are those of the run that takes it: they are there once the output is complete, not as soon as
    /// the token is.
    pub log_probs: Option<TokenLogProbs>,
    /// The most probable tokens of its step, it among them if it is one of these: as many as
    /// [`alternatives`](crate::GenerateOptions::alternatives) asked for, best first, of those that the constraint
    /// allowed, after [samplers of the caller's own](crate::GenerateOptions::samplers) and before all others. A forced
    /// token has none.
    pub alternatives: Vec<Alternative>,
    /// What the constraint's mask left of its step, where [`refused`](crate::GenerateOptions::refused) asked for it. A forced
    /// token has none.
    pub mask: Option<MaskReport>,
    /// When it was taken, counted from the start, where [`token_times`](crate::GenerateOptions::token_times) asked for
    /// it.
    pub time: Option<Duration>,
}

/// A token that could have been taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alternative {
    /// The token.
    pub id: TokenId,
    /// Its log probabilities.
    pub log_probs: TokenLogProbs,
}

/// What the mask of a step let through, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskReport {
    /// The number of tokens that the constraint allowed, whatever their logits.
    pub allowed: usize,
    /// The most probable tokens that it refused, best first. Under the constraint their log probability is negative
    /// infinity.
    pub refused: Vec<Alternative>,
}

/// The log probabilities of a token, natural, at temperature one and before every sampler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenLogProbs {
    /// Under the model alone, over all logits.
    pub model: f32,
    /// Under the model and the constraint, over the allowed tokens, after [samplers of the caller's
    /// own](crate::GenerateOptions::samplers). Zero for a forced token.
    pub allowed: f32,
}

impl TokenLogProbs {
    /// The probability that the mask of the token's step took from all other tokens, from 0 to 1: what the model had
    /// wanted to write and may not.
    ///
    /// It is the difference of the two, exact to about 1e-6. Of text that
    /// [`JumpForward::Canonical`](crate::request::JumpForward::Canonical) forces it is what was not asked for, allowed or not.
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
            // It is no token of the mask's.
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
    /// The number of new tokens, or the model's context, is used up.
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

/// What a generation took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GenerationStats {
    /// Tokens of the prompt, the prefill included.
    pub prompt_tokens: usize,
    /// Of these, tokens that the model did not run because some row held them: of a request beside this one, or
    /// [kept](crate::SchedulerLimits::prefix_bytes) of an earlier one.
    pub reused_tokens: usize,
    /// How often the oldest tokens were left out to make room, and the rest was run again: see
    /// [`ContextOverflow`](crate::request::ContextOverflow).
    pub crops: usize,
    /// Generated tokens that were forced.
    pub forced_tokens: usize,
    /// Runs of the model: one for the prompt, and one for each step that was not forced.
    pub runs: u64,
    /// Steps at which a chosen token was refused because the output could no longer be completed in time.
    pub steered_steps: usize,
    /// Steps at which a minimum length was lifted because it left nothing.
    pub lifted_bans: usize,
    /// From start to end.
    pub total_time: Duration,
    /// From the start to the first generated token: the prompt's run and one choice.
    pub first_token_time: Duration,
    /// The part of `model_time` until the model had seen the prompt.
    pub prefill_time: Duration,
    /// Time in [`LanguageModel::run`](crate::LanguageModel::run).
    pub model_time: Duration,
    /// Time in which the model had run and a mask was not ready. What masks take while the model runs is not in it.
    pub mask_time: Duration,
    /// The part of `model_time` in the backend's own run call.
    pub backend_time: Duration,
}

impl AddAssign<&Self> for GenerationStats {
    /// Adds up all but the time to the first token, which stays that of the first output.
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
    /// The share of the time that was spent outside the backend's run call, from 0 to 1.
    pub fn overhead_share(&self) -> f64 {
        let total = self.total_time.as_secs_f64();
        if total > 0.0 {
            1.0 - self.backend_time.as_secs_f64() / total
        } else {
            0.0
        }
    }
}
