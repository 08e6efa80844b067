//! Contrastive search: probable tokens whose hidden states differ from those of the text so far.

mod states;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::contrast::{ContrastError, check};
use super::writing::Writing;
use crate::request::{DRAWING, Outputs, Resources};
use crate::sequence::{Best, Chosen, Next, Scores};
use crate::task::{Context, Demand, Given, RowDemand, Task, TaskSize, Text};
use crate::{
    Constraint, FinishReason, GenerateError, GenerateOptions, ModelError, model::RowOutput,
    samplers::Accepted,
};
use states::States;

/// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"): of the most probable
/// tokens, the one that is both probable and new.
///
/// Of the `top_k` most probable candidates, it takes the one with the largest `(1 - alpha) * p - alpha * s`, where `p`
/// is the token's probability and `s` the largest cosine similarity of its hidden state to that of any earlier token,
/// including the prompt's. An `alpha` of zero is greedy decoding.
///
/// Probabilities are over the tokens that the constraint and the bans leave, after penalties and biases. Temperature
/// and truncating samplers are for draws and are refused, but temperatures set by a grammar apply. Without a
/// constraint, outputs are those of transformers' `generate` with `penalty_alpha` and `top_k`. Each step that is not
/// forced takes one run, with a row per candidate. Log probabilities are the model's own.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_decode::strategies::ContrastiveSearch;
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let search = ContrastiveSearch { alpha: 0.5, top_k: 3 };
/// let request = Request::new([TokenId(0)], free).with_options(options).with_strategy(search);
/// let model = MockModel::new(4, 64, [TokenId(3)]).with_hidden_width(8);
/// let output = Scheduler::new(model, vocabulary).run(request)?.single()?;
/// assert!(output.tokens.len() <= 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContrastiveSearch {
    /// The weight of novelty, from 0 to 1.
    pub alpha: f32,
    /// The number of candidates, at least 1. Each takes a row of the cache.
    pub top_k: usize,
}

impl Default for ContrastiveSearch {
    /// 0.6 and 4, as in Su et al.
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
    /// [`ContrastError::OutOfRange`] for the first invalid field.
    pub fn validate(&self) -> Result<(), ContrastError> {
        let is_share = (0.0..=1.0).contains(&self.alpha);
        check("alpha", self.alpha, is_share, "from 0 to 1")?;
        check("top_k", self.top_k as f32, self.top_k > 0, "1 or more")
    }

    /// Returns the options that contrastive search does not honour.
    pub(crate) fn refuses(&self) -> Vec<&'static str> {
        // The states of dropped tokens would continue to count.
        let mut refused = vec!["sequences", "overflow"];
        refused.extend(DRAWING);
        refused
    }

    /// Returns the index of the token with the largest score; among equals, the more probable.
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

/// A contrastive search. Its rows are the text or, while candidates are compared, the text with each of them.
pub(crate) struct Search<C: Constraint> {
    options: ContrastiveSearch,
    writing: Writing<C>,
    /// The candidates that the model is run on, with their mask.
    compared: Option<(Best, Arc<C::Mask>)>,
    /// The hidden states of the tokens that the model has processed.
    states: States,
    /// The logits after them.
    logits: Vec<f32>,
    /// The row of the last demand that contains the text.
    row: usize,
    /// Whether the output was ended from outside: then nothing more is demanded.
    is_stopped: bool,
}

impl<C: Constraint> Search<C> {
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        search: ContrastiveSearch,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        search.validate()?;
        let width = { resources.target.hidden_width }.ok_or(ModelError::NoHiddenStates)?;
        Ok(Self {
            options: search,
            writing: Writing::start(prompt, constraint, options, 0, resources)?,
            compared: None,
            states: States::new(width),
            logits: Vec::new(),
            row: 0,
            is_stopped: false,
        })
    }

    /// Returns a run of some tokens after those of the text that the model has processed.
    fn row_demand(&self, tokens: Vec<TokenId>, positions: usize) -> RowDemand {
        RowDemand {
            parent: self.row,
            keep: self.writing.sequence.seen,
            tokens,
            positions,
        }
    }

    /// Returns a run of the tokens not processed yet: the prompt, and forced tokens. All of their states count.
    fn reading(&mut self, has_ended: bool) -> Option<Demand> {
        let n = self.writing.sequence.unseen(has_ended);
        if n == 0 {
            return None;
        }
        let seen = self.writing.sequence.seen;
        let tokens = self.writing.sequence.all()[seen..seen + n].to_vec();
        let row = self.row_demand(tokens, n);
        self.row = 0;
        Some(Demand::rows(Text::Main, vec![row]).with_hidden(true))
    }

    /// Finds the best tokens by the logits after the text. Several are compared; a single one is accepted, and run with
    /// what comes after it.
    fn choose(&mut self, cx: &mut Context<'_>) -> Result<Option<Demand>, GenerateError> {
        let most = self.options.top_k;
        let mask = self.writing.mask.take();
        let (mask, best) = self
            .writing
            .sequence
            .best(&self.logits, mask, most, cx.step)?;
        if best.tokens.len() == 1 {
            self.take(&best, &mask, 0, cx)?;
            return Ok(None);
        }
        let tokens = best.tokens.iter();
        let rows = tokens.map(|&(token, _)| self.row_demand(vec![token], 1));
        let demand = Demand::rows(Text::Main, rows.collect()).with_hidden(true);
        self.compared = Some((best, mask));
        Ok(Some(demand))
    }

    /// Accepts one of the best tokens, and those forced after it.
    fn take(
        &mut self,
        best: &Best,
        mask: &C::Mask,
        place: usize,
        cx: &mut Context<'_>,
    ) -> Result<(), GenerateError> {
        let (token, _) = best.tokens[place];
        let sequence = &mut self.writing.sequence;
        let wanted = sequence.wanted();
        let chosen = Chosen {
            accepted: Accepted::certain(token),
            scores: Scores::new(&self.logits, mask, token, wanted, &mut sequence.chain),
            steered: best.steered,
            lifted: best.lifted,
        };
        let mut on_delta = |delta: crate::Delta<'_>| (cx.on_delta)(0, delta);
        let next = match sequence.take_chosen(chosen, cx.codec, &mut on_delta)? {
            Some(reason) => Next::Ended(reason),
            None => sequence.advance(cx.codec, &mut on_delta)?,
        };
        self.writing.set(next);
        Ok(())
    }

    /// Accepts the best of the compared tokens.
    fn compare(
        &mut self,
        best: &Best,
        mask: &C::Mask,
        rows: &[RowOutput<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), GenerateError> {
        let state = |row: usize| rows[row].hidden(0).ok_or(ModelError::NoHiddenStates);
        let states = &self.states;
        let row = { self.options }.best_row(best, |row| Ok(states.largest_cosine(state(row)?)))?;
        let known = self.writing.sequence.all().len();
        self.take(best, mask, row, cx)?;
        // An end is not a token of the text.
        if self.writing.sequence.all().len() > known {
            self.writing.sequence.see(1, &rows[row], 0);
            self.states.push(state(row)?);
        }
        self.row = row;
        self.keep_logits(&rows[row]);
        Ok(())
    }

    fn keep_logits(&mut self, output: &RowOutput<'_>) {
        self.logits.clear();
        self.logits.extend_from_slice(output.last());
    }
}

impl<C: Constraint> Task for Search<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        self.writing.begin(cx)?;
        while !self.writing.has_ended() && demands.is_empty() {
            demands.extend(match self.writing.sequence.unseen(false) {
                0 => self.choose(cx)?,
                _ => self.reading(false),
            });
        }
        if demands.is_empty() && !self.is_stopped {
            demands.extend(self.reading(true));
        }
        Ok(())
    }

    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        if let Some((best, mask)) = self.compared.take() {
            self.compare(&best, &mask, given.rows, cx)?;
            self.writing.sequence.count_run(&given.times);
            return Ok(());
        }
        let output = &given.rows[0];
        for position in 0..output.positions() {
            let state = output.hidden(position);
            self.states.push(state.ok_or(ModelError::NoHiddenStates)?);
        }
        self.writing.sequence.take_run(given, output);
        self.keep_logits(output);
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.writing.sequence.most_tokens();
        TaskSize::new(self.options.top_k, tokens)
    }

    fn can_prepare(&self) -> bool {
        self.compared.is_none() && self.writing.needs_mask()
    }

    fn prepare(&mut self) {
        self.writing.compute_mask();
    }

    fn stop(&mut self, reason: FinishReason) {
        self.writing.stop(reason);
        self.compared = None;
        self.is_stopped = true;
    }

    fn finish(self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        Ok(self.writing.finish(cx))
    }
}
