//! The outputs of a finished search.

use std::collections::{BTreeSet, VecDeque};

use super::choose::silent;
use super::group::Hypothesis;
use crate::demand::{Demand, Given};
use crate::request::{Output, Outputs};
use crate::sequence::Codec;
use crate::{Constraint, GenerateError};

/// Beams that have ended, the best of which become outputs.
pub(super) struct Ranking<C> {
    /// Best first.
    found: VecDeque<Hypothesis<C>>,
    outputs: Vec<Output>,
    /// Why the best of the beams that were cut was cut.
    cut: Option<GenerateError>,
}

impl<C: Constraint> Ranking<C> {
    /// Ranks the beams of all groups, keeping only the best of those with the same key.
    pub(super) fn new(mut found: Vec<Hypothesis<C>>) -> Self {
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut keys = BTreeSet::new();
        found.retain(|one| one.key.as_ref().is_none_or(|key| keys.insert(key.clone())));
        Self {
            found: found.into(),
            outputs: Vec::new(),
            cut: None,
        }
    }

    /// Completes outputs until there are `n_best`, or until the model has to run one of them.
    ///
    /// This is necessary if `with_scores` requests log probabilities and those of forced tokens are missing: the rows
    /// of finished beams are closed, so the text is run once more.
    pub(super) fn advance(
        &mut self,
        n_best: usize,
        with_scores: bool,
        codec: &Codec,
        context_length: usize,
    ) -> Option<Demand> {
        while self.outputs.len() < n_best {
            let sequence = &mut self.found.front_mut()?.sequence;
            if with_scores && sequence.unseen(true) > 0 {
                sequence.seen = 0;
                return sequence.demand(true, context_length);
            }
            let one = self.found.pop_front()?;
            match one.sequence.finish(one.reason, codec, &mut silent) {
                Ok(generation) => self.outputs.push(Output {
                    score: Some(one.score),
                    log_prob: Some(one.sum),
                    ..Output::from(generation)
                }),
                Err(error) => self.cut = self.cut.take().or(Some(error)),
            }
        }
        None
    }

    /// Records that the model has run some of the demanded tokens. A beam's statistics are those of the search alone.
    pub(super) fn take_run(&mut self, given: &Given<'_>) {
        if let (Some(one), [row]) = (self.found.front_mut(), given.rows) {
            one.sequence.seen += given.reused;
            one.sequence.see(given.tokens, row, 0);
        }
    }

    /// Returns the outputs, best first, or the error of the best if all were cut.
    pub(super) fn finish(self) -> Result<Outputs, GenerateError> {
        match self.cut {
            Some(error) if self.outputs.is_empty() => Err(error),
            _ => Ok(Outputs::new(self.outputs.into_iter().map(Ok).collect())),
        }
    }
}
