//! Beam search: several sequences in parallel, of which the best are continued.

mod choose;
mod distinct;
mod expand;
mod group;
mod ranking;

pub use crate::request::strategy::{BeamError, BeamOptions, Distinct, EarlyStopping};

use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use crate::demand::{Demand, Given};
use crate::request::Outputs;
use crate::sequence::Sequence;
use crate::task::{Context, Task, TaskSize};
use crate::{Constraint, FinishReason, GenerateError, GenerateOptions, samplers::SequenceRng};
use choose::Beams;
use group::Beam;
use ranking::Ranking;

/// A beam search. The rows of its demands are the beams, each with its own constraint and samplers.
pub(crate) struct BeamSearch<C: Constraint> {
    beams: Beams<C>,
    n_best: usize,
    size: TaskSize,
    /// The search's results, once it is over.
    ranking: Option<Ranking<C>>,
    /// Whether the search was stopped from outside: then nothing more is demanded.
    is_stopped: bool,
}

impl<C: Constraint + Clone> BeamSearch<C> {
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        beams: &BeamOptions,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        beams.validate()?;
        if beams.sample && options.sampling.temperature == 0.0 {
            return Err(BeamError::ColdDraw.into());
        }
        let mut beams = beams.clone();
        if beams.width == 1 && !beams.sample {
            // A single beam has no rivals.
            beams.early_stopping = EarlyStopping::Always;
        }
        let (info, codec) = (resources.target, resources.codec);
        let first = Sequence::start(prompt, constraint, Arc::clone(options), 0, info, codec)?;
        // An output that is run for its scores is opened in addition to the beams' last rows.
        let rows = beams.width + usize::from(options.log_probs);
        let size = TaskSize::new(rows, first.most_tokens());
        let n_best = beams.n_best;
        let rng = SequenceRng::new(options.sampling.seed, 0);
        let mut search = Self {
            beams: Beams::new(&first, beams, rng),
            n_best,
            size,
            ranking: None,
            is_stopped: false,
        };
        if let Some(reason) = first.ended() {
            // All groups would have the same output.
            search.beams.groups.truncate(1);
            search.beams.stop(&reason);
        }
        Ok(search)
    }

    /// Continues up to where the model is needed.
    fn next_demand(&mut self, cx: &Context<'_>) -> Result<Option<Demand>, GenerateError> {
        while !self.beams.are_done() {
            if self.beams.all().any(|beam| beam.sequence.is_late()) {
                self.beams.stop(&FinishReason::TimeLimit);
                break;
            }
            if !self.beams.are_forced()? {
                return Ok(Some(self.beams.demand()));
            }
            self.beams.choose(None, cx.codec)?;
        }
        let beams = &mut self.beams;
        let ranking = self
            .ranking
            .get_or_insert_with(|| Ranking::new(beams.take_found()));
        let (with_scores, context_length) = (!self.is_stopped, cx.target.context_length);
        Ok(ranking.advance(self.n_best, with_scores, cx.codec, context_length))
    }
}

impl<C: Constraint + Clone> Task for BeamSearch<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        demands.extend(self.next_demand(cx)?);
        Ok(())
    }

    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        if let Some(ranking) = &mut self.ranking {
            ranking.take_run(given);
            return Ok(());
        }
        for Beam { sequence, row, .. } in self.beams.all_mut() {
            sequence.take_run(given, &given.rows[*row]);
        }
        match given.is_done {
            true => self.beams.choose(Some(given.rows), cx.codec),
            false => Ok(()),
        }
    }

    fn size(&self) -> TaskSize {
        self.size
    }

    fn can_prepare(&self) -> bool {
        self.beams.need_masks()
    }

    fn prepare(&mut self) {
        self.beams.compute_masks();
    }

    fn stop(&mut self, reason: FinishReason) {
        self.beams.stop(&reason);
        self.is_stopped = true;
    }

    fn finish(self: Box<Self>, _: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        match self.ranking {
            Some(ranking) => ranking.finish(),
            None => Ok(Outputs::default()),
        }
    }
}
