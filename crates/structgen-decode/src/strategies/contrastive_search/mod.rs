//! Contrastive search: probable tokens whose hidden states differ from those of the text so far.

mod states;

pub use crate::request::strategy::ContrastiveSearch;

use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use super::writing::Writing;
use crate::demand::{Demand, Given, RowDemand, Text};
use crate::request::Outputs;
use crate::sequence::{Best, Chosen, Next, Scores};
use crate::task::{Context, Task, TaskSize};
use crate::{
    Constraint, FinishReason, GenerateError, GenerateOptions, ModelError, model::RowOutput,
    samplers::Accepted,
};
use states::States;

impl ContrastiveSearch {
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
