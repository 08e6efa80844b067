//! Contrastive search: probable tokens whose states are unlike those of the text so far.

mod context;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_vocab::TokenId;

use super::contrast::check;
use super::sequence::{Next, OnDelta, Sequence};
use super::step::{Best, Chosen, Scores};
use super::{
    ContextOverflow, ContrastError, Delta, GenerateError, GenerateOptions, Generation, Generator,
};
use crate::{Accepted, Constraint, Forward, KeyValueCache, LanguageModel, ModelError};
use context::Context;

/// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"): of the most probable tokens, the one that
/// is both probable and new.
///
/// Of the `top_k` most probable tokens that may come, it takes the one with the largest `(1 - alpha) * p - alpha * s`, where `p` is the token's
/// probability and `s` the largest cosine between its hidden state and that of any token before, the prompt's included. An `alpha` of zero is greedy decoding.
///
/// ```
/// use structgen_decode::{ContrastiveSearch, GenerateOptions, Generator, MockModel, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let mut model = MockModel::new(4, 64, [TokenId(3)]).with_hidden_width(8);
/// let mut free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let search = ContrastiveSearch { alpha: 0.5, top_k: 3 };
/// let output = Generator::new(&mut model, &vocabulary)
///     .generate_contrastive_search(&[TokenId(0)], &mut free, &options, &search)?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContrastiveSearch {
    /// How much being new counts, from 0 to 1.
    pub alpha: f32,
    /// How many tokens are looked at, 1 or more. Each takes a row in the cache.
    pub top_k: usize,
}

impl Default for ContrastiveSearch {
    /// 0.6 and 4, as Su et al. have them.
    fn default() -> Self {
        Self {
            alpha: 0.6,
            top_k: 4,
        }
    }
}

impl ContrastiveSearch {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ContrastError::OutOfRange`] for the first field that makes no sense.
    pub fn validate(&self) -> Result<(), ContrastError> {
        let is_share = (0.0..=1.0).contains(&self.alpha);
        check("alpha", self.alpha, is_share, "from 0 to 1")?;
        check("top_k", self.top_k as f32, self.top_k > 0, "1 or more")
    }
}

impl<M: LanguageModel> Generator<'_, M> {
    /// Generates one sequence by [`ContrastiveSearch`], under any constraint and within any budget.
    ///
    /// Probabilities are among the tokens that the constraint and the bans leave, and after penalties and biases; temperature and truncating samplers are for
    /// draws and do not count, but for temperatures that a grammar sets. Without a constraint, outputs are those of transformers' `generate` with `penalty_alpha` and `top_k`.
    /// Each step that is not forced is one run, of a row for each token looked at. Log probabilities are the model's own.
    ///
    /// # Errors
    /// As [`generate`](Generator::generate); [`GenerateError::Contrast`]; and [`ModelError::NoHiddenStates`] when the model does not give out hidden states.
    pub fn generate_contrastive_search<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        search: &ContrastiveSearch,
    ) -> Result<Generation, GenerateError> {
        self.stream_contrastive_search(prompt, constraint, options, search, |_| {
            ControlFlow::Continue(())
        })
    }

    /// [`generate_contrastive_search`](Generator::generate_contrastive_search), and hands out the text as it comes.
    ///
    /// # Errors
    /// As [`generate_contrastive_search`](Generator::generate_contrastive_search).
    pub fn stream_contrastive_search<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        search: &ContrastiveSearch,
        mut on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        search.validate()?;
        let words = self.words();
        let mut options = options.clone();
        // States of tokens that were left out would go on counting.
        options.overflow = ContextOverflow::Error;
        options.sampling.temperature = 0.0;
        let info = self.model.info();
        let width = info.hidden_width.ok_or(ModelError::NoHiddenStates)?;
        let mut sequence = Sequence::start(prompt, constraint, &options, 0, info, words)?;
        let mut next = sequence.begin(words, &mut on_delta)?;
        let mut under_way = Search {
            cache: self.model.new_cache(&[0])?,
            generator: self,
            options: search,
            context: Context::new(width),
            logits: Vec::new(),
        };
        let reason = loop {
            let mask = match next {
                Next::Ended(reason) => break reason,
                Next::Logits(mask) => mask,
            };
            under_way.see(&mut sequence, false)?;
            next = under_way.choose(&mut sequence, mask, &mut on_delta)?;
        };
        under_way.see(&mut sequence, true)?;
        sequence.finish(reason, words, &mut on_delta)
    }
}

/// A search under way.
struct Search<'r, 'a, M: LanguageModel> {
    generator: &'r mut Generator<'a, M>,
    options: &'r ContrastiveSearch,
    cache: M::Cache,
    /// The states of the tokens in the cache.
    context: Context,
    /// What comes behind them.
    logits: Vec<f32>,
}

impl<M: LanguageModel> Search<'_, '_, M> {
    /// Runs the tokens that the model has not seen: the prompt, and what was forced.
    fn see<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        has_ended: bool,
    ) -> Result<(), GenerateError> {
        loop {
            let n = sequence.unseen(has_ended).min(self.generator.prefill_chunk);
            if n == 0 {
                return Ok(());
            }
            let started = Instant::now();
            let model = &mut *self.generator.model;
            let before = model.stats().backend_time;
            let new = &sequence.all()[sequence.seen..sequence.seen + n];
            let logits = model.forward(Forward::new(new, n).with_hidden(), &mut self.cache)?;
            let time = started.elapsed();
            for position in 0..n {
                let state = logits.hidden(0, position);
                self.context.push(state.ok_or(ModelError::NoHiddenStates)?);
            }
            self.logits.clear();
            self.logits.extend_from_slice(logits.row(0, n - 1));
            sequence.see(n, &logits, 0, 0);
            let backend = model.stats().backend_time.saturating_sub(before);
            sequence.count_run(time, backend, Duration::ZERO);
        }
    }

    /// Chooses a token and takes it and what is forced behind it.
    fn choose<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        mask: Option<Arc<C::Mask>>,
        on_delta: OnDelta<'_>,
    ) -> Result<Next<C::Mask>, GenerateError> {
        let words = self.generator.words();
        let step = &mut self.generator.step;
        let most = self.options.top_k;
        let (mask, best) = sequence.best(&self.logits, mask.map(Ok), most, step)?;
        let wanted = sequence.wanted();
        let chosen = |token| Chosen {
            accepted: Accepted::certain(token),
            scores: Scores::new(&self.logits, &*mask, token, wanted),
            steered: best.steered,
            lifted: best.lifted,
        };
        if let [(token, _)] = best.tokens[..] {
            // There is nothing to compare; it is run with what comes behind it.
            return match sequence.take_chosen(chosen(token), words, on_delta)? {
                Some(reason) => Ok(Next::Ended(reason)),
                None => sequence.advance(words, on_delta),
            };
        }
        let tokens: Vec<TokenId> = best.tokens.iter().map(|&(token, _)| token).collect();
        let started = Instant::now();
        self.cache.select_rows(&vec![0; tokens.len()])?;
        let model = &mut *self.generator.model;
        let before = model.stats().backend_time;
        let logits = model.forward(Forward::last(&tokens).with_hidden(), &mut self.cache)?;
        let time = started.elapsed();
        let state = |row| logits.hidden(row, 0).ok_or(ModelError::NoHiddenStates);
        let row = self
            .options
            .best_row(&best, |row| Ok(self.context.largest_cosine(state(row)?)))?;
        let known = sequence.all().len();
        let next = match sequence.take_chosen(chosen(tokens[row]), words, on_delta)? {
            Some(reason) => Next::Ended(reason),
            None => sequence.advance(words, on_delta)?,
        };
        // An end is no token of the text.
        if sequence.all().len() > known {
            sequence.see(1, &logits, row, 0);
            self.context.push(state(row)?);
        }
        self.logits.clear();
        self.logits.extend_from_slice(logits.row(row, 0));
        let backend = model.stats().backend_time.saturating_sub(before);
        sequence.count_run(time, backend, Duration::ZERO);
        self.cache.select_rows(&[row])?;
        Ok(next)
    }
}

impl ContrastiveSearch {
    /// The place of the token with the largest score; of equal ones, the more probable.
    fn best_row(
        &self,
        best: &Best,
        mut cosine: impl FnMut(usize) -> Result<f32, ModelError>,
    ) -> Result<usize, ModelError> {
        let mut largest = (f32::NEG_INFINITY, 0);
        for (row, &(_, probability)) in best.tokens.iter().enumerate() {
            let score = (1.0 - self.alpha) * probability - self.alpha * cosine(row)?;
            if score > largest.0 {
                largest = (score, row);
            }
        }
        Ok(largest.1)
    }
}
