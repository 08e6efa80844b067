//! An output in progress: its constraint, samplers, text and statistics, but no model.

mod codec;
mod crop;
mod drafted;
mod finish;
mod step;
mod stop;
mod text;

pub(crate) use codec::Codec;
pub(crate) use drafted::{Distribution, DraftedDraw, DraftedFrom};
pub(crate) use step::{Best, Chosen, Limits, Scores, Step, Wanted, fits, set_temperature};

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use structgen_vocab::TokenId;

use crate::demand::{Demand, Given, RunTimes, Text};
use crate::{
    Constraint, Delta, FinishReason, GenerateError, GenerateOptions, GeneratedToken, ModelInfo,
    constraint::{AllowedTokens, ConstraintError},
    model::RowOutput,
    request::{GenerationStats, JumpForward, StopText, TokenLogProbs},
    samplers::{Accepted, SamplerChain, SequenceStart},
};
use crop::Cropped;
use step::model_log_prob;
use text::OutputText;

/// A mask that may already be computed.
pub(crate) type SomeMask<C> = Option<Result<Arc<<C as Constraint>::Mask>, ConstraintError>>;

/// Called for each piece of text; may end the output.
pub(crate) type OnDelta<'d> = &'d mut dyn FnMut(Delta<'_>) -> ControlFlow<()>;

/// A sequence being generated: everything but the model and its cache.
#[derive(Debug, Clone)]
pub(crate) struct Sequence<C> {
    pub(crate) constraint: C,
    pub(crate) chain: SamplerChain,
    pub(crate) options: Arc<GenerateOptions>,
    eos: Arc<[TokenId]>,
    budget: usize,
    /// The number of positions that the model can attend to.
    context_length: usize,
    /// Prompt, prefill and output.
    all: Vec<TokenId>,
    /// How many of them are prompt and prefill.
    prompt: usize,
    /// What the model sees instead, if they are more than it can attend to.
    cropped: Option<Cropped>,
    /// How many tokens of what the model sees it has processed.
    pub(crate) seen: usize,
    /// Whether the model has processed prompt and prefill.
    prefilled: bool,
    tokens: Vec<GeneratedToken>,
    end: Option<GeneratedToken>,
    /// The number of first tokens with log probabilities; the rest was forced.
    scored: usize,
    /// Tokens of forced text to come, last one first.
    jump: Vec<TokenId>,
    text: OutputText,
    prefill_bytes: usize,
    pub(crate) stats: GenerationStats,
    started: Instant,
}

/// What a sequence needs to continue.
pub(crate) enum Next<M> {
    /// Nothing: it has ended.
    Ended(FinishReason),
    /// The logits after all of its tokens; and the mask for the choice, if it was ready.
    Logits(Option<Arc<M>>),
}

impl<C: Constraint> Sequence<C> {
    /// Creates the sequence after `prompt`, before its first token.
    pub(crate) fn start(
        prompt: &[TokenId],
        mut constraint: C,
        options: Arc<GenerateOptions>,
        number: u64,
        info: &ModelInfo,
        codec: &Codec,
    ) -> Result<Self, GenerateError> {
        let started = Instant::now();
        let mut chain = SamplerChain::of_sequence(
            &options.sampling,
            &options.samplers,
            constraint.sets_temperatures(),
            number,
        )?;
        if let Some(index) = options.stop.iter().position(String::is_empty) {
            return Err(GenerateError::EmptyStopString { index });
        }
        if options.jump_forward == JumpForward::Canonical && codec.encoder.is_none() {
            return Err(GenerateError::NoEncoder);
        }
        let all = [prompt, &options.prefill].concat();
        if all.is_empty() {
            return Err(GenerateError::EmptyPrompt);
        }
        chain.reset(SequenceStart {
            prompt: &all,
            prefilled: options.prefill.len(),
            eos: constraint.eos(),
        });

        let budget = crop::budget(all.len(), &options, info)?;

        let trim = options.stop_text == StopText::Trimmed;
        let mut text = OutputText::new(&options.stop, trim);
        for (index, &token) in options.prefill.iter().enumerate() {
            constraint
                .accept_token(token)
                .map_err(|source| GenerateError::Prefill { index, source })?;
            text.push_prefill(codec.vocabulary.token_bytes(token).unwrap_or_default());
        }
        let needed = { constraint.completion_cost() }
            .map_err(|source| GenerateError::Constraint { step: 0, source })?;
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
            context_length: info.context_length,
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

    /// Passes on the text of the prefill, then calls [`advance`](Sequence::advance).
    pub(crate) fn begin(
        &mut self,
        codec: &Codec,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        if self.prefill_bytes > 0
            && let Some(reason) = self.deliver(on_delta)
        {
            return Ok(Next::Ended(reason));
        }
        self.advance(codec, on_delta)
    }

    /// Accepts forced tokens, up to where the model is needed or the sequence ends.
    pub(crate) fn advance(
        &mut self,
        codec: &Codec,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        loop {
            if let Some(reason) = self.ended() {
                return Ok(Next::Ended(reason));
            }
            let ready = self.ready_mask()?;
            let Some(token) = self.forced_token(ready.as_deref(), codec)? else {
                if self.is_late() {
                    return Ok(Next::Ended(FinishReason::TimeLimit));
                }
                return Ok(Next::Logits(ready));
            };
            if let Some(reason) = self.take_forced(token, codec, on_delta)? {
                return Ok(Next::Ended(reason));
            }
        }
    }

    /// Returns why the sequence has ended, if nothing can follow or no token is left.
    pub(crate) fn ended(&self) -> Option<FinishReason> {
        if self.constraint.is_finished() {
            Some(FinishReason::ConstraintFinished)
        } else if self.tokens.len() >= self.budget {
            Some(FinishReason::MaxTokens)
        } else {
            None
        }
    }

    pub(crate) fn ready_mask(&mut self) -> Result<Option<Arc<C::Mask>>, GenerateError> {
        let step = self.tokens.len();
        self.constraint
            .ready_mask()
            .map_err(|source| GenerateError::Constraint { step, source })
    }

    /// Returns the token that comes next without a choice. A mask that is not ready has several tokens, and no text is
    /// forced after it.
    pub(crate) fn forced_token(
        &mut self,
        ready: Option<&C::Mask>,
        codec: &Codec,
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
            self.jump = codec
                .jump(output, &mut self.constraint, mask, room)
                .map_err(fail)?;
        }
        Ok(self.jump.pop())
    }

    /// Chooses a token by the logits after all tokens, and accepts it and the tokens forced after it.
    ///
    /// Computes the mask if it is not given.
    pub(crate) fn choose(
        &mut self,
        logits: &[f32],
        mask: SomeMask<C>,
        step: &mut Step,
        codec: &Codec,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        let chosen = self.pick(logits, mask, None, step)?;
        match self.take_chosen(chosen, codec, on_delta)? {
            Some(reason) => Ok(Next::Ended(reason)),
            None => self.advance(codec, on_delta),
        }
    }

    /// Chooses a token by the logits after all tokens, without accepting it. Computes the mask if it is not given.
    pub(crate) fn pick(
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

    /// Returns the `most` best tokens by the logits after all tokens, with the mask, which is computed if it is not
    /// given.
    pub(crate) fn best(
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

    /// Accepts a token that was chosen.
    pub(crate) fn take_chosen(
        &mut self,
        chosen: Chosen,
        codec: &Codec,
        on_delta: OnDelta<'_>,
    ) -> Result<Option<FinishReason>, GenerateError> {
        self.stats.steered_steps += usize::from(chosen.steered);
        self.stats.lifted_bans += usize::from(chosen.lifted);
        self.take(chosen.accepted, false, chosen.scores, codec, on_delta)
    }

    /// Accepts a token that had no alternative.
    pub(crate) fn take_forced(
        &mut self,
        token: TokenId,
        codec: &Codec,
        on_delta: OnDelta<'_>,
    ) -> Result<Option<FinishReason>, GenerateError> {
        self.take(
            Accepted::certain(token),
            true,
            Scores::default(),
            codec,
            on_delta,
        )
    }

    /// Accepts a token chosen elsewhere, which may be an end. The text is not passed on before it is complete.
    pub(crate) fn take_known(
        &mut self,
        token: TokenId,
        forced: bool,
        scores: Scores,
        codec: &Codec,
    ) -> Result<(), GenerateError> {
        let mut silent = |_: Delta<'_>| ControlFlow::Continue(());
        let accepted = Accepted::certain(token);
        self.take(accepted, forced, scores, codec, &mut silent)?;
        Ok(())
    }

    /// Makes a token part of the output; returns the reason if that ends it.
    fn take(
        &mut self,
        accepted: Accepted,
        forced: bool,
        scores: Scores,
        codec: &Codec,
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
            mask: scores.mask,
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
        let bytes = codec.vocabulary.token_bytes(id).unwrap_or_default();
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

    /// Returns the limits of the next choice.
    pub(crate) fn limits(&self) -> Limits {
        let step = self.tokens.len();
        Limits {
            step,
            remaining: self.budget - step,
            eos: self.eos.clone(),
            ban_eos: step < self.options.min_new_tokens,
        }
    }

    /// Returns what to record about its tokens.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted {
            log_probs: self.options.log_probs,
            alternatives: self.options.alternatives,
            refused: self.options.refused,
        }
    }

    /// Returns the tokens of the output so far, including the prefill.
    pub(crate) fn output(&self) -> &[TokenId] {
        &self.all[self.prompt_len()..]
    }

    /// Returns the number of tokens of the prompt, without the prefill.
    pub(crate) fn prompt_len(&self) -> usize {
        self.prompt - self.options.prefill.len()
    }

    /// Returns the maximum number of tokens that the model may have to hold for it.
    pub(crate) fn most_tokens(&self) -> usize {
        let all = self.prompt.saturating_add(self.budget);
        // A longer text is cropped.
        all.min(self.context_length)
    }

    /// Returns prompt, prefill and output, as the model sees them.
    pub(crate) fn all(&self) -> &[TokenId] {
        let cropped = self.cropped.as_ref();
        cropped.map_or(&self.all[..], Cropped::tokens)
    }

    /// Returns the text so far.
    pub(crate) fn text(&self) -> &[u8] {
        self.text.bytes()
    }

    /// Returns whether the time limit has passed.
    pub(crate) fn is_late(&self) -> bool {
        let limit = self.options.time_limit;
        limit.is_some_and(|limit| self.started.elapsed() >= limit)
    }

    /// Returns the number of generated tokens.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the number of tokens that the model must still process: all, except those whose logits are not needed
    /// once the sequence has ended.
    pub(crate) fn unseen(&self, has_ended: bool) -> usize {
        let end = match has_ended {
            false => self.all().len(),
            // The last token's own logits are not needed: they are about the token after it.
            true if self.wants_scores() => self.all().len() - 1,
            true => 0,
        };
        end.saturating_sub(self.seen)
    }

    fn wants_scores(&self) -> bool {
        self.options.log_probs && self.scored < self.tokens.len()
    }

    /// Returns for how many of the last positions logits are needed, once the model has processed `n` more tokens.
    pub(crate) fn positions(&self, n: usize) -> usize {
        if !self.wants_scores() {
            return 1;
        }
        let before_first = self.before_unscored();
        let end = self.seen + n;
        end.saturating_sub(before_first.max(self.seen)).max(1)
    }

    /// Records that the model has processed `n` more tokens: fills in the log probabilities of forced tokens from its
    /// logits.
    ///
    /// The output has `after` more positions after these tokens.
    pub(crate) fn see(&mut self, n: usize, output: &RowOutput<'_>, after: usize) {
        let end = self.seen + n;
        if self.wants_scores() {
            while self.scored < self.tokens.len() {
                let before = self.before_unscored();
                if before >= end {
                    break;
                }
                let position = output.positions() - after - (end - before);
                let token = &mut self.tokens[self.scored];
                token.log_probs = Some(TokenLogProbs {
                    model: model_log_prob(output.logits(position), token.id),
                    allowed: 0.0,
                });
                self.scored += 1;
            }
        }
        self.seen = end;
    }

    /// Returns what the model has to run before the sequence can continue or, if it has ended, before all log
    /// probabilities are known.
    pub(crate) fn demand(&mut self, has_ended: bool, context_length: usize) -> Option<Demand> {
        if !has_ended || self.unseen(true) > 0 {
            self.crop(context_length);
        }
        let n = self.unseen(has_ended);
        let tokens = self.all()[self.seen..self.seen + n].to_vec();
        (n > 0).then(|| Demand::row(Text::Main, self.seen, tokens, self.positions(n)))
    }

    /// Records that the next tokens are cached, and need not be run.
    pub(crate) fn reuse(&mut self, tokens: usize) {
        if tokens > 0 {
            self.seen += tokens;
            self.stats.reused_tokens = self.seen.min(self.stats.prompt_tokens);
        }
    }

    /// Records that the model has run some of the demanded tokens.
    pub(crate) fn take_run(&mut self, given: &Given<'_>, output: &RowOutput<'_>) {
        self.reuse(given.reused);
        self.see(given.tokens, output, 0);
        self.count_run(&given.times);
    }

    /// Counts a run of the model for this sequence, and the time that it waited for masks.
    pub(crate) fn count_run(&mut self, times: &RunTimes) {
        self.stats.runs += 1;
        self.stats.model_time += times.model;
        self.stats.backend_time += times.backend;
        self.stats.mask_time += times.masks;
        if !self.prefilled {
            self.stats.prefill_time += times.model;
            self.prefilled = self.seen + self.dropped() >= self.prompt;
        }
    }
}
