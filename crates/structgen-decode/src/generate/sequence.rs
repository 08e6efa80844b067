//! One sequence: its constraint, its samplers, its text and its statistics. The model is not part of it.

mod crop;
mod finish;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_vocab::TokenId;

use super::jump::Words;
use super::masks::SomeMask;
use super::speculate::DraftedDraw;
use super::step::{Best, Chosen, Limits, Scores, Step, Wanted, model_log_prob};
use super::text::OutputText;
use super::{
    Delta, FinishReason, GenerateError, GenerateOptions, GeneratedToken, GenerationStats,
    JumpForward, StopText, TokenLogProbs,
};
use crate::{Accepted, AllowedTokens, Constraint, Logits, ModelInfo, SamplerChain, SequenceStart};
use crop::Cropped;

/// What is told of each piece of text; it may end the output.
pub(super) type OnDelta<'d> = &'d mut dyn FnMut(Delta<'_>) -> ControlFlow<()>;

/// A sequence being generated: everything but the model and its cache.
#[derive(Debug, Clone)]
pub(super) struct Sequence<'o, C> {
    pub(super) constraint: C,
    pub(super) chain: SamplerChain,
    pub(super) options: &'o GenerateOptions,
    eos: Arc<[TokenId]>,
    budget: usize,
    /// Prompt, prefill and output.
    all: Vec<TokenId>,
    /// How many of them are prompt and prefill.
    prompt: usize,
    /// What the model is shown instead, where they are more than it can attend to.
    cropped: Option<Cropped>,
    /// How many of what the model is shown it has seen.
    pub(super) seen: usize,
    /// Whether the model has seen prompt and prefill.
    prefilled: bool,
    tokens: Vec<GeneratedToken>,
    end: Option<GeneratedToken>,
    /// How many of the first tokens have their log probabilities; what follows was forced.
    scored: usize,
    /// Tokens of forced text that come next, last one first.
    jump: Vec<TokenId>,
    text: OutputText,
    prefill_bytes: usize,
    pub(super) stats: GenerationStats,
    started: Instant,
}

/// What a sequence needs to go on.
pub(super) enum Next<M> {
    /// Nothing: it has ended.
    Ended(FinishReason),
    /// The logits behind all of its tokens; and the mask to choose by, where that was ready.
    Logits(Option<Arc<M>>),
}

impl<'o, C: Constraint> Sequence<'o, C> {
    /// The sequence behind `prompt`, before its first token.
    pub(super) fn start(
        prompt: &[TokenId],
        mut constraint: C,
        options: &'o GenerateOptions,
        number: u64,
        info: &ModelInfo,
        words: Words<'_>,
    ) -> Result<Self, GenerateError> {
        let started = Instant::now();
        let mut chain = match constraint.sets_temperatures() {
            true => SamplerChain::guided(&options.sampling, number)?,
            false => SamplerChain::new(&options.sampling, number)?,
        };
        if let Some(index) = options.stop.iter().position(String::is_empty) {
            return Err(GenerateError::EmptyStopString { index });
        }
        if options.jump_forward == JumpForward::Canonical && words.encoder.is_none() {
            return Err(GenerateError::NoEncoder);
        }
        let all = [prompt, &options.prefill].concat();
        if all.is_empty() {
            return Err(GenerateError::EmptyPrompt);
        }
        chain.reset(SequenceStart {
            prompt: &all,
            eos: constraint.eos(),
        });

        let budget = crop::budget(all.len(), options, info)?;

        let trim = options.stop_text == StopText::Trimmed;
        let mut text = OutputText::new(&options.stop, trim);
        for (index, &token) in options.prefill.iter().enumerate() {
            constraint
                .accept_token(token)
                .map_err(|source| GenerateError::Prefill { index, source })?;
            text.push_prefill(words.vocabulary.token_bytes(token).unwrap_or_default());
        }
        let needed = constraint.completion_cost();
        if needed > budget as u64 {
            return Err(GenerateError::BudgetTooSmall {
                needed,
                available: budget,
            });
        }
        Ok(Self {
            eos: constraint.eos().into(),
            stats: GenerationStats {
                prompt_tokens: all.len(),
                ..GenerationStats::default()
            },
            prefill_bytes: text.len(),
            prompt: all.len(),
            constraint,
            chain,
            options,
            budget,
            all,
            cropped: None,
            seen: 0,
            prefilled: false,
            tokens: Vec::new(),
            end: None,
            scored: 0,
            jump: Vec::new(),
            text,
            started,
        })
    }

    /// Hands out the text of the prefill, then [`advance`](Sequence::advance).
    pub(super) fn begin(
        &mut self,
        words: Words<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        if self.prefill_bytes > 0
            && let Some(reason) = self.deliver(on_delta)
        {
            return Ok(Next::Ended(reason));
        }
        self.advance(words, on_delta)
    }

    /// Takes forced tokens, up to where the model has to be asked or the sequence ends.
    pub(super) fn advance(
        &mut self,
        words: Words<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        loop {
            if let Some(reason) = self.ended() {
                return Ok(Next::Ended(reason));
            }
            let ready = self.ready_mask()?;
            let Some(token) = self.forced_token(ready.as_deref(), words)? else {
                if self.is_late() {
                    return Ok(Next::Ended(FinishReason::TimeLimit));
                }
                return Ok(Next::Logits(ready));
            };
            if let Some(reason) = self.take_forced(token, words, on_delta)? {
                return Ok(Next::Ended(reason));
            }
        }
    }

    /// Whether nothing can follow, or no token is left.
    pub(super) fn ended(&self) -> Option<FinishReason> {
        if self.constraint.is_finished() {
            Some(FinishReason::ConstraintFinished)
        } else if self.tokens.len() >= self.budget {
            Some(FinishReason::MaxTokens)
        } else {
            None
        }
    }

    pub(super) fn ready_mask(&mut self) -> Result<Option<Arc<C::Mask>>, GenerateError> {
        let step = self.tokens.len();
        self.constraint
            .ready_mask()
            .map_err(|source| GenerateError::Constraint { step, source })
    }

    /// The token that comes next without a choice. A mask that is not ready has several, and no text is forced behind it.
    pub(super) fn forced_token(
        &mut self,
        ready: Option<&C::Mask>,
        words: Words<'_>,
    ) -> Result<Option<TokenId>, GenerateError> {
        if let Some(token) = self.jump.pop() {
            return Ok(Some(token));
        }
        let step = self.tokens.len();
        let fail = |source| GenerateError::Constraint { step, source };
        let Some(mask) = ready else {
            return Ok(None);
        };
        if mask.count() == 1
            && let Some(token) = self.constraint.forced_token().map_err(fail)?
        {
            return Ok(Some(token));
        }
        if self.options.jump_forward == JumpForward::Canonical {
            let output = &self.all[self.prompt - self.options.prefill.len()..];
            let room = self.budget - step;
            self.jump = words
                .jump(output, &mut self.constraint, mask, room)
                .map_err(fail)?;
        }
        Ok(self.jump.pop())
    }

    /// Chooses a token by the logits behind all of them, and takes it and what is forced behind it.
    ///
    /// The mask is computed if it is not given.
    pub(super) fn choose(
        &mut self,
        logits: &[f32],
        mask: SomeMask<C>,
        step: &mut Step,
        words: Words<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        let chosen = self.pick(logits, mask, None, step)?;
        match self.take_chosen(chosen, words, on_delta)? {
            Some(reason) => Ok(Next::Ended(reason)),
            None => self.advance(words, on_delta),
        }
    }

    /// Chooses a token by the logits behind all of them, and does not take it. The mask is computed if it is not given.
    pub(super) fn pick(
        &mut self,
        logits: &[f32],
        mask: SomeMask<C>,
        drafted: Option<&DraftedDraw>,
        step: &mut Step,
    ) -> Result<Chosen, GenerateError> {
        let limits = self.limits();
        let wanted = self.wanted();
        let mask = self.known_mask(mask)?;
        step.choose(
            logits,
            &*mask,
            &mut self.constraint,
            &mut self.chain,
            &limits,
            drafted,
            wanted,
        )
    }

    /// The best tokens by the logits behind all of them, at most so many, with the mask, which is computed if it is not given.
    pub(super) fn best(
        &mut self,
        logits: &[f32],
        mask: SomeMask<C>,
        most: usize,
        step: &mut Step,
    ) -> Result<(Arc<C::Mask>, Best), GenerateError> {
        let limits = self.limits();
        let mask = self.known_mask(mask)?;
        let (constraint, chain) = (&mut self.constraint, &mut self.chain);
        let best = step.best(logits, &*mask, constraint, chain, &limits, most)?;
        Ok((mask, best))
    }

    fn known_mask(&mut self, mask: SomeMask<C>) -> Result<Arc<C::Mask>, GenerateError> {
        let mask = mask.unwrap_or_else(|| {
            let started = Instant::now();
            let mask = self.constraint.mask();
            self.stats.mask_time += started.elapsed();
            mask
        });
        mask.map_err(|source| GenerateError::Constraint {
            step: self.tokens.len(),
            source,
        })
    }

    /// Takes a token that was chosen.
    pub(super) fn take_chosen(
        &mut self,
        chosen: Chosen,
        words: Words<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<Option<FinishReason>, GenerateError> {
        self.stats.steered_steps += usize::from(chosen.steered);
        self.stats.lifted_bans += usize::from(chosen.lifted);
        self.take(chosen.accepted, false, chosen.scores, words, on_delta)
    }

    /// Takes a token that had no alternative.
    pub(super) fn take_forced(
        &mut self,
        token: TokenId,
        words: Words<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<Option<FinishReason>, GenerateError> {
        self.take(
            Accepted::certain(token),
            true,
            Scores::default(),
            words,
            on_delta,
        )
    }

    /// Takes a token, the end included, that something else has chosen. Nobody sees the text before it is complete.
    pub(super) fn take_known(
        &mut self,
        token: TokenId,
        forced: bool,
        scores: Scores,
        words: Words<'_>,
    ) -> Result<(), GenerateError> {
        let mut silent = |_: Delta<'_>| ControlFlow::Continue(());
        let accepted = Accepted::certain(token);
        self.take(accepted, forced, scores, words, &mut silent)?;
        Ok(())
    }

    /// Makes a token part of the output; the reason, if that ends it.
    fn take(
        &mut self,
        accepted: Accepted,
        forced: bool,
        scores: Scores,
        words: Words<'_>,
        on_delta: OnDelta<'_>,
    ) -> Result<Option<FinishReason>, GenerateError> {
        let id = accepted.token;
        let step = self.tokens.len();
        self.constraint
            .accept_token(id)
            .map_err(|source| GenerateError::Constraint { step, source })?;
        if step == 0 && self.stats.first_token_time.is_zero() {
            self.stats.first_token_time = self.started.elapsed();
        }
        let start = self.text.len();
        let mut token = GeneratedToken {
            id,
            span: start..start,
            forced,
            log_probs: scores.log_probs,
            alternatives: scores.alternatives,
            time: { self.options.token_times }.then(|| self.started.elapsed()),
        };
        if self.eos.contains(&id) {
            self.end = Some(token);
            return Ok(Some(FinishReason::Eos(id)));
        }
        self.chain.accept(accepted);
        self.push(id);
        self.stats.forced_tokens += usize::from(forced);

        // A special token that a grammar names has no text.
        let bytes = words.vocabulary.token_bytes(id).unwrap_or_default();
        let stopped = self.text.push(bytes);
        token.span.end = start.max(self.text.len());
        self.tokens.push(token);
        if !forced {
            self.scored = self.tokens.len();
        }
        if let Some(found) = stopped {
            let stop = self.options.stop[found.index].clone();
            return Ok(Some(FinishReason::StopString(stop)));
        }
        Ok(self.deliver(on_delta))
    }

    fn deliver(&mut self, on_delta: OnDelta<'_>) -> Option<FinishReason> {
        let delta = Delta {
            text: self.text.take_delta(),
            tokens: self.tokens.len(),
            generated: &self.tokens,
            output: &self.all[self.prompt - self.options.prefill.len()..],
        };
        match on_delta(delta) {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(()) => Some(FinishReason::Cancelled),
        }
    }

    /// What the next choice may not take.
    pub(super) fn limits(&self) -> Limits {
        let step = self.tokens.len();
        Limits {
            step,
            remaining: self.budget - step,
            eos: self.eos.clone(),
            ban_eos: step < self.options.min_new_tokens,
        }
    }

    /// What is to be known of its tokens.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            log_probs: self.options.log_probs,
            alternatives: self.options.alternatives,
        }
    }

    /// Prompt, prefill and output, as the model is shown them.
    pub(super) fn all(&self) -> &[TokenId] {
        let cropped = self.cropped.as_ref();
        cropped.map_or(&self.all[..], Cropped::tokens)
    }

    /// Those that the model has seen.
    pub(super) fn run(&self) -> &[TokenId] {
        &self.all()[..self.seen]
    }

    /// The text so far.
    pub(super) fn text(&self) -> &[u8] {
        self.text.bytes()
    }

    /// Whether the time limit has passed.
    pub(super) fn is_late(&self) -> bool {
        let limit = self.options.time_limit;
        limit.is_some_and(|limit| self.started.elapsed() >= limit)
    }

    /// How many tokens were generated.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// How many tokens the model has to see yet: all but, where the sequence has ended, those that nobody asks about.
    pub(super) fn unseen(&self, has_ended: bool) -> usize {
        let end = match has_ended {
            false => self.all().len(),
            // The last token's own logits are not needed: they would speak of the one behind it.
            true if self.wants_scores() => self.all().len() - 1,
            true => 0,
        };
        end.saturating_sub(self.seen)
    }

    fn wants_scores(&self) -> bool {
        self.options.log_probs && self.scored < self.tokens.len()
    }

    /// For how many of the last positions logits are needed, when the model has seen `n` more tokens.
    pub(super) fn positions(&self, n: usize) -> usize {
        if !self.wants_scores() {
            return 1;
        }
        let before_first = self.before_unscored();
        let end = self.seen + n;
        end.saturating_sub(before_first.max(self.seen)).max(1)
    }

    /// The model has seen `n` more tokens: fills in the log probabilities of forced ones that its logits tell.
    ///
    /// The logits are of so many more positions behind these tokens.
    pub(super) fn see(&mut self, n: usize, logits: &Logits<'_>, row: usize, behind: usize) {
        let end = self.seen + n;
        if self.wants_scores() {
            while self.scored < self.tokens.len() {
                let before = self.before_unscored();
                if before >= end {
                    break;
                }
                let position = logits.positions() - behind - (end - before);
                let token = &mut self.tokens[self.scored];
                token.log_probs = Some(TokenLogProbs {
                    model: model_log_prob(logits.row(row, position), token.id),
                    allowed: 0.0,
                });
                self.scored += 1;
            }
        }
        self.seen = end;
    }

    /// How many of the first tokens need not be run, where a cache holds them: all but those whose logits somebody asks for.
    pub(super) fn reusable(&self) -> usize {
        match self.wants_scores() {
            true => self.before_unscored(),
            false => self.all().len() - 1,
        }
    }

    /// Begins behind tokens that a cache holds.
    pub(super) fn reuse(&mut self, tokens: usize) {
        self.seen = tokens;
        self.stats.reused_tokens = tokens.min(self.stats.prompt_tokens);
    }

    /// Counts a run of the model that this sequence took part in, and what it waited for masks behind it.
    pub(super) fn count_run(
        &mut self,
        model_time: Duration,
        backend_time: Duration,
        mask_time: Duration,
    ) {
        self.stats.runs += 1;
        self.stats.model_time += model_time;
        self.stats.backend_time += backend_time;
        self.stats.mask_time += mask_time;
        if !self.prefilled {
            self.stats.prefill_time += model_time;
            self.prefilled = self.seen + self.dropped() >= self.prompt;
        }
    }
}
