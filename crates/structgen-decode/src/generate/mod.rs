//! From a prompt to a complete output: prefill, steps, and what ends them.

mod error;
mod options;
mod result;
mod step;
mod stop;
mod text;

pub use error::{GenerateError, Incomplete};
pub use options::{GenerateOptions, StopText};
pub use result::{FinishReason, GeneratedToken, Generation, GenerationStats, TokenLogProbs};

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_vocab::{TokenId, Vocabulary};

use crate::{
    Accepted, AllowedTokens, Constraint, ConstraintError, Forward, LanguageModel, SamplerChain,
};
use step::{Limits, Step, model_log_prob};
use text::OutputText;

/// Generates sequences with one model and one vocabulary.
///
/// The order of force in each step: the constraint's mask, then the budget (no token after which the output could not
/// be completed in time), then bans, then the samplers. Where the constraint leaves one token, it is taken without
/// asking the model, and goes to the model together with what follows.
///
/// ```
/// use structgen_decode::{FinishReason, GenerateOptions, Generator, MockModel, Unconstrained};
/// use structgen_vocab::{TokenId, TokenMask, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let mut model = MockModel::new(4, 64, [TokenId(3)]);
/// let mut constraint = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let output = Generator::new(&mut model, &vocabulary)
///     .generate(&[TokenId(0)], &mut constraint, &options)?;
/// assert!(output.tokens.len() <= 5);
/// assert!(matches!(output.finish, FinishReason::Eos(_) | FinishReason::MaxTokens));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Generator<'a, M> {
    model: &'a mut M,
    vocabulary: &'a Vocabulary,
    step: Step,
}

/// A piece of the output, as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// Text that is certain to stay, at character borders. It may be empty, when a token ends inside a character.
    pub text: &'a str,
    /// Tokens generated so far.
    pub tokens: usize,
}

impl<'a, M: LanguageModel> Generator<'a, M> {
    /// A generator over a model whose logits are indexed by the ids of `vocabulary`.
    pub fn new(model: &'a mut M, vocabulary: &'a Vocabulary) -> Self {
        Self {
            model,
            vocabulary,
            step: Step::default(),
        }
    }

    /// Generates one sequence behind `prompt`. The constraint stands where the output begins, and is advanced.
    ///
    /// # Errors
    /// [`GenerateError`]. An output that was cut before it was complete is an error, too:
    /// [`GenerateError::Incomplete`] carries what there is.
    pub fn generate<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
    ) -> Result<Generation, GenerateError> {
        self.stream(prompt, constraint, options, |_| ControlFlow::Continue(()))
    }

    /// Generates one sequence and hands out its text as it comes.
    ///
    /// `on_delta` is called after each token, forced ones included, and may end the output. The texts handed out join
    /// to [`Generation::text`].
    ///
    /// # Errors
    /// As [`generate`](Generator::generate).
    pub fn stream<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        let started = Instant::now();
        let mut run = Run::start(self, prompt, constraint, options, on_delta, started)?;
        let finish = run.run_to_end()?;
        run.finish(finish)
    }
}

/// One sequence being generated.
struct Run<'r, 'a, M: LanguageModel, C, F> {
    generator: &'r mut Generator<'a, M>,
    constraint: &'r mut C,
    options: &'r GenerateOptions,
    on_delta: F,
    chain: SamplerChain,
    eos: Vec<TokenId>,
    budget: usize,
    cache: M::Cache,
    /// Tokens that the model has not seen yet.
    pending: Vec<TokenId>,
    /// How many of the last pending tokens were forced, and lack their log probability.
    unscored: usize,
    tokens: Vec<GeneratedToken>,
    text: OutputText,
    prefill_bytes: usize,
    stats: GenerationStats,
    started: Instant,
    backend_before: Duration,
}

impl<'r, 'a, M, C, F> Run<'r, 'a, M, C, F>
where
    M: LanguageModel,
    C: Constraint,
    F: FnMut(Delta<'_>) -> ControlFlow<()>,
{
    fn start(
        generator: &'r mut Generator<'a, M>,
        prompt: &[TokenId],
        constraint: &'r mut C,
        options: &'r GenerateOptions,
        on_delta: F,
        started: Instant,
    ) -> Result<Self, GenerateError> {
        let mut chain = SamplerChain::new(&options.sampling, 0)?;
        if let Some(index) = options.stop.iter().position(String::is_empty) {
            return Err(GenerateError::EmptyStopString { index });
        }
        let pending = [prompt, &options.prefill].concat();
        if pending.is_empty() {
            return Err(GenerateError::EmptyPrompt);
        }
        chain.reset(&pending);

        let context_length = generator.model.info().context_length;
        let new = options.max_new_tokens.unwrap_or(1);
        if pending.len().saturating_add(new) > context_length {
            return Err(GenerateError::ContextOverflow {
                prompt: pending.len(),
                new,
                context_length,
            });
        }
        let budget = options
            .max_new_tokens
            .unwrap_or(context_length - pending.len());

        let trim = options.stop_text == StopText::Trimmed;
        let mut text = OutputText::new(&options.stop, trim);
        for (index, &token) in options.prefill.iter().enumerate() {
            constraint
                .accept_token(token)
                .map_err(|source| GenerateError::Prefill { index, source })?;
            text.push_prefill(generator.vocabulary.token_bytes(token).unwrap_or_default());
        }
        let needed = constraint.completion_cost();
        if needed > budget as u64 {
            return Err(GenerateError::BudgetTooSmall {
                needed,
                available: budget,
            });
        }

        let eos = constraint.eos().to_vec();
        let cache = generator.model.new_cache(&[0])?;
        Ok(Self {
            backend_before: generator.model.stats().backend_time,
            stats: GenerationStats {
                prompt_tokens: pending.len(),
                ..GenerationStats::default()
            },
            prefill_bytes: text.len(),
            generator,
            constraint,
            options,
            on_delta,
            chain,
            eos,
            budget,
            cache,
            pending,
            unscored: 0,
            tokens: Vec::new(),
            text,
            started,
        })
    }

    fn run_to_end(&mut self) -> Result<FinishReason, GenerateError> {
        if self.prefill_bytes > 0
            && let Some(reason) = self.deliver()
        {
            return Ok(reason);
        }
        loop {
            if self.constraint.is_finished() {
                return Ok(FinishReason::ConstraintFinished);
            }
            if self.tokens.len() >= self.budget {
                return Ok(FinishReason::MaxTokens);
            }
            let ready = self.ready_mask()?;
            let reason = match self.forced_token(ready.as_deref())? {
                Some(token) => self.take(Accepted::certain(token), true, None)?,
                None => {
                    let limit = self.options.time_limit;
                    if limit.is_some_and(|limit| self.started.elapsed() >= limit) {
                        return Ok(FinishReason::TimeLimit);
                    }
                    self.step(ready)?
                }
            };
            if let Some(reason) = reason {
                return Ok(reason);
            }
        }
    }

    fn ready_mask(&mut self) -> Result<Option<Arc<C::Mask>>, GenerateError> {
        let step = self.tokens.len();
        self.constraint
            .ready_mask()
            .map_err(|source| GenerateError::Constraint { step, source })
    }

    /// The one token that may come next. A mask that is not ready has several.
    fn forced_token(&mut self, ready: Option<&C::Mask>) -> Result<Option<TokenId>, GenerateError> {
        if ready.is_none_or(|mask| mask.count() != 1) {
            return Ok(None);
        }
        let step = self.tokens.len();
        self.constraint
            .forced_token()
            .map_err(|source| GenerateError::Constraint { step, source })
    }

    /// Runs the model over what it has not seen, chooses a token and takes it.
    fn step(&mut self, ready: Option<Arc<C::Mask>>) -> Result<Option<FinishReason>, GenerateError> {
        let scored = if self.options.log_probs {
            self.unscored
        } else {
            0
        };
        let run_started = Instant::now();
        let input = Forward {
            tokens: &self.pending,
            positions: 1 + scored,
        };
        let step = self.tokens.len();
        let (model, cache) = (&mut *self.generator.model, &mut self.cache);
        let (mask, logits) = match ready {
            Some(mask) => (mask, model.forward(input, cache)?),
            None => {
                let (mask, logits) =
                    with_mask(self.constraint, move || model.forward(input, cache));
                let mask = mask.map_err(|source| GenerateError::Constraint { step, source })?;
                (mask, logits?)
            }
        };
        self.stats.model_time += run_started.elapsed();
        self.stats.runs += 1;
        if scored > 0 {
            score_forced(&mut self.tokens, scored, |position| logits.row(0, position));
        }
        self.pending.clear();
        self.unscored = 0;

        let limits = Limits {
            step,
            remaining: self.budget - step,
            eos: &self.eos,
            ban_eos: step < self.options.min_new_tokens,
        };
        let chosen = self.generator.step.choose(
            logits.row(0, scored),
            &*mask,
            self.constraint,
            &mut self.chain,
            &limits,
            self.options.log_probs,
        )?;
        self.stats.steered_steps += usize::from(chosen.steered);
        self.stats.lifted_bans += usize::from(chosen.lifted);
        self.take(chosen.accepted, false, chosen.log_probs)
    }

    /// Makes a token part of the output; the reason, if that ends it.
    fn take(
        &mut self,
        accepted: Accepted,
        forced: bool,
        log_probs: Option<TokenLogProbs>,
    ) -> Result<Option<FinishReason>, GenerateError> {
        let id = accepted.token;
        let step = self.tokens.len();
        self.constraint
            .accept_token(id)
            .map_err(|source| GenerateError::Constraint { step, source })?;
        if step == 0 && self.stats.first_token_time.is_zero() {
            self.stats.first_token_time = self.started.elapsed();
        }
        if self.eos.contains(&id) {
            return Ok(Some(FinishReason::Eos(id)));
        }
        self.chain.accept(accepted);
        self.tokens.push(GeneratedToken {
            id,
            forced,
            log_probs,
        });
        self.pending.push(id);
        self.unscored += usize::from(forced);
        self.stats.forced_tokens += usize::from(forced);

        // A special token that a grammar names has no text.
        let bytes = self
            .generator
            .vocabulary
            .token_bytes(id)
            .unwrap_or_default();
        if let Some(found) = self.text.push(bytes) {
            let stop = self.options.stop[found.index].clone();
            return Ok(Some(FinishReason::StopString(stop)));
        }
        Ok(self.deliver())
    }

    fn deliver(&mut self) -> Option<FinishReason> {
        let delta = Delta {
            text: self.text.take_delta(),
            tokens: self.tokens.len(),
        };
        match (self.on_delta)(delta) {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(()) => Some(FinishReason::Cancelled),
        }
    }

    fn finish(mut self, finish: FinishReason) -> Result<Generation, GenerateError> {
        if self.options.log_probs && self.unscored > 0 {
            self.score_rest()?;
        }
        let complete = self.is_complete(&finish);
        let rest = self.text.finish();
        if !rest.is_empty() {
            // The output has ended: there is nothing left for the callback to stop.
            let _ = (self.on_delta)(Delta {
                text: rest,
                tokens: self.tokens.len(),
            });
        }
        let model = &self.generator.model;
        self.stats.backend_time = model
            .stats()
            .backend_time
            .saturating_sub(self.backend_before);
        self.stats.total_time = self.started.elapsed();
        let generation = Generation {
            text: self.text.into_text(),
            tokens: self.tokens,
            finish,
            stats: self.stats,
        };
        if complete {
            Ok(generation)
        } else {
            let partial = generation;
            Err(GenerateError::Incomplete(Box::new(Incomplete { partial })))
        }
    }

    /// Whether the text, as it is after trimming, is a whole output.
    fn is_complete(&mut self, finish: &FinishReason) -> bool {
        if !self.constraint.has_structure() {
            return true;
        }
        match finish {
            FinishReason::Eos(_) | FinishReason::ConstraintFinished => true,
            FinishReason::StopString(_) => {
                // The constraint can tell at token borders only. Text that ends inside a token counts as cut.
                let mut end = self.prefill_bytes;
                let kept = self.text.len();
                let vocabulary = self.generator.vocabulary;
                let mut lengths = self
                    .tokens
                    .iter()
                    .map(|token| vocabulary.token_bytes(token.id).map_or(0, <[u8]>::len));
                let mut stays = 0;
                while end < kept
                    && let Some(len) = lengths.next()
                {
                    end += len;
                    stays += 1;
                }
                let back = self.tokens.len() - stays;
                end == kept
                    && self.constraint.rollback(back).is_ok()
                    && self.constraint.is_accepting()
            }
            _ => self.constraint.is_accepting(),
        }
    }

    /// Runs the model once more for the log probabilities of forced tokens at the very end.
    fn score_rest(&mut self) -> Result<(), GenerateError> {
        let run_started = Instant::now();
        let unscored = self.unscored;
        // The last token's own logits are not needed: they would speak of the one behind it.
        self.pending.pop();
        if self.pending.is_empty() {
            return Ok(());
        }
        let input = Forward {
            tokens: &self.pending,
            positions: unscored.min(self.pending.len()),
        };
        let logits = self.generator.model.forward(input, &mut self.cache)?;
        score_forced(&mut self.tokens, unscored, |position| {
            logits.row(0, position)
        });
        self.stats.model_time += run_started.elapsed();
        self.stats.runs += 1;
        Ok(())
    }
}

/// Computes the mask on another thread while this one, which the model may be bound to, does `work`.
fn with_mask<C: Constraint, R>(
    constraint: &mut C,
    work: impl FnOnce() -> R,
) -> (Result<Arc<C::Mask>, ConstraintError>, R) {
    let mut mask = None;
    let slot = &mut mask;
    let shared = &mut *constraint;
    let done = rayon::in_place_scope(move |scope| {
        scope.spawn(move |_| *slot = Some(shared.mask()));
        work()
    });
    // The scope has waited for what it spawned: the mask is there.
    (mask.unwrap_or_else(|| constraint.mask()), done)
}

/// Fills in the log probabilities of the last `n` tokens; `row(i)` are the logits that the i-th of them was one of.
fn score_forced<'l>(tokens: &mut [GeneratedToken], n: usize, row: impl Fn(usize) -> &'l [f32]) {
    let first = tokens.len() - n;
    for (i, token) in tokens[first..].iter_mut().enumerate() {
        token.log_probs = Some(TokenLogProbs {
            model: model_log_prob(row(i), token.id),
            allowed: 0.0,
        });
    }
}

#[cfg(test)]
mod tests;
