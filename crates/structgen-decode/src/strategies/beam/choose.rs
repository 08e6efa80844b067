//! Chooses the continuations of beams.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use structgen_vocab::TokenId;

use super::expand::{Continuation, Expansion};
use super::group::{Beam, Child, Group, Hypothesis};
use super::{BeamOptions, Distinct, distinct};
use crate::demand::{Demand, RowDemand, Text};
use crate::sequence::{Chosen, Codec, Limits, Scores, Sequence, fits};
use crate::{
    Constraint, Delta, FinishReason, GenerateError,
    constraint::{AllowedTokens, ConstraintError},
    model::RowOutput,
    samplers::{Accepted, SequenceRng},
};

/// All beams of a search, in groups.
pub(super) struct Beams<C: Constraint> {
    pub(super) groups: Vec<Group<C>>,
    options: BeamOptions,
    rng: SequenceRng,
    expansion: Expansion,
}

impl<C: Constraint + Clone> Beams<C> {
    /// Creates the beams before the first token: one in each group.
    pub(super) fn new(first: &Sequence<C>, options: BeamOptions, rng: SequenceRng) -> Self {
        let width = options.width / options.groups;
        let groups = (0..options.groups).map(|_| Group::new(first.clone(), width));
        Self {
            groups: groups.collect(),
            options,
            rng,
            expansion: Expansion::default(),
        }
    }

    /// Returns the beams of all groups.
    pub(super) fn all(&self) -> impl Iterator<Item = &Beam<C>> {
        self.groups.iter().flat_map(|group| &group.beams)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Beam<C>> {
        self.groups.iter_mut().flat_map(|group| &mut group.beams)
    }

    /// Returns whether every group has ended.
    pub(super) fn are_done(&self) -> bool {
        self.groups.iter().all(|group| group.done)
    }

    /// Returns the demand for the next choice: a row for each beam.
    pub(super) fn demand(&mut self) -> Demand {
        let mut rows: Vec<RowDemand> = Vec::new();
        for beam in self.all_mut() {
            let sequence = &beam.sequence;
            if sequence.seen == 0 && !rows.is_empty() {
                // Before the first run, the beams of all groups are equal, and share a row.
                continue;
            }
            rows.push(RowDemand {
                parent: beam.row,
                keep: sequence.seen,
                tokens: sequence.all()[sequence.seen..].to_vec(),
                positions: sequence.positions(sequence.unseen(false)),
            });
            beam.row = rows.len() - 1;
        }
        Demand::rows(Text::Main, rows)
    }

    /// Returns whether a beam has no mask yet.
    pub(super) fn need_masks(&self) -> bool {
        self.all().any(|beam| beam.mask.is_none())
    }

    /// Computes the missing masks, in parallel.
    pub(super) fn compute_masks(&mut self) {
        let missing = self.all_mut().filter(|beam| beam.mask.is_none());
        let missing: Vec<&mut Beam<C>> = missing.collect();
        missing
            .into_par_iter()
            .for_each(|beam| beam.mask = Some(beam.sequence.constraint.mask()));
    }

    /// Returns whether every beam has only one possible token, whose log probability is zero: then the model is not
    /// needed.
    pub(super) fn are_forced(&mut self) -> Result<bool, GenerateError> {
        if !self.options.renormalize {
            return Ok(false);
        }
        for beam in self.all_mut() {
            let ready = beam.sequence.ready_mask()?;
            let count = ready.as_ref().map(|mask| mask.count());
            beam.mask = ready.map(Ok);
            if count != Some(1) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Advances every group, by the last logits of the beams' rows or, without any, by the masks alone.
    pub(super) fn choose(
        &mut self,
        rows: Option<&[RowOutput<'_>]>,
        codec: &Codec,
    ) -> Result<(), GenerateError> {
        let mut chosen: BTreeMap<TokenId, u32> = BTreeMap::new();
        let mut groups = std::mem::take(&mut self.groups);
        for group in groups.iter_mut().filter(|group| !group.done) {
            for token in self.choose_in(group, rows, codec, &chosen)? {
                *chosen.entry(token).or_default() += 1;
            }
        }
        self.groups = groups;
        Ok(())
    }

    fn choose_in(
        &mut self,
        group: &mut Group<C>,
        rows: Option<&[RowOutput<'_>]>,
        codec: &Codec,
        chosen: &BTreeMap<TokenId, u32>,
    ) -> Result<Vec<TokenId>, GenerateError> {
        let mut masks = Vec::with_capacity(group.beams.len());
        let mut limits = None;
        for beam in &mut group.beams {
            let step = beam.sequence.len();
            let mask = beam.mask.take();
            let mask = mask.unwrap_or_else(|| beam.sequence.constraint.mask());
            masks.push(mask.map_err(|source| GenerateError::Constraint { step, source })?);
            limits = Some(beam.sequence.limits());
        }
        // A group that is not done has beams, all of the same length.
        let Some(limits) = limits else {
            group.done = true;
            return Ok(Vec::new());
        };
        let step = limits.step;
        self.expand(group, &masks, rows, chosen, false)?;
        if self.expansion.is_empty() && group.finished.is_empty() {
            let allowed = masks.iter().map(|mask| mask.count()).sum();
            return Err(match allowed {
                0 => GenerateError::DeadEnd { step },
                _ => GenerateError::NoFiniteLogit { step, allowed },
            });
        }
        let (mut children, is_enough) = self.children(group, &masks, rows, codec, &limits)?;
        if !is_enough && self.expansion.steered.contains(&true) {
            // The budget refused what the samplers left: run them again on the tokens that fit.
            self.expand(group, &masks, rows, chosen, true)?;
            self.expansion.steered.fill(true);
            (children, _) = self.children(group, &masks, rows, codec, &limits)?;
        }
        let most = step + limits.remaining;
        Ok(group.step(children, step + 1, most, &self.options))
    }

    /// Returns the beams' continuations from the expansion, best first; and whether there were as many as requested.
    fn children(
        &mut self,
        group: &mut Group<C>,
        masks: &[Arc<C::Mask>],
        rows: Option<&[RowOutput<'_>]>,
        codec: &Codec,
        limits: &Limits,
    ) -> Result<(Vec<Child<C>>, bool), GenerateError> {
        let step = limits.step;
        let scorer = self.options.groups > 1;
        let width = group.width();
        let draws = limits.eos.len().max(1).saturating_add(1) * width;
        let mut children = Vec::new();
        let mut texts = BTreeSet::new();
        let (mut rank, mut going) = (0, 0);
        while let Some(next) = self.next() {
            let parent = &mut group.beams[next.beam].sequence;
            let fail = |source| GenerateError::Constraint { step, source };
            let is_end = limits.eos.contains(&next.token);
            if !is_end && !fits(&mut parent.constraint, next.token, limits).map_err(fail)? {
                self.expansion.steered[next.beam] = true;
                continue;
            }
            if rank >= width && !self.options.sample {
                // A beam that ends here is too bad to be an output.
                if limits.remaining == 1 && !scorer {
                    return Ok((children, true));
                }
                if is_end || ends(&mut parent.constraint, next.token).map_err(fail)? {
                    rank += 1;
                    continue;
                }
            }
            let mask = &masks[next.beam];
            let child = self.child(&group.beams[next.beam], next, mask, rows, codec, rank)?;
            if child.reason.is_none()
                && self.options.distinct != Distinct::Tokens
                && !texts.insert(child.beam.sequence.text().to_vec())
            {
                continue;
            }
            let goes_on = match child.reason {
                None => true,
                Some(FinishReason::MaxTokens) => scorer,
                Some(_) => false,
            };
            children.push(child);
            rank += 1;
            going += usize::from(goes_on);
            let is_enough = match self.options.sample {
                true => rank == draws,
                false => going == width,
            };
            if is_enough {
                return Ok((children, true));
            }
        }
        Ok((children, false))
    }

    /// Expands the beams of a group with all possible tokens.
    fn expand(
        &mut self,
        group: &mut Group<C>,
        masks: &[Arc<C::Mask>],
        rows: Option<&[RowOutput<'_>]>,
        chosen: &BTreeMap<TokenId, u32>,
        within_budget: bool,
    ) -> Result<(), GenerateError> {
        let diversity = self.options.diversity_penalty;
        let penalty = |token| diversity * f64::from(chosen.get(&token).copied().unwrap_or(0));
        self.expansion.clear();
        for (beam, mask) in group.beams.iter_mut().zip(masks) {
            let step = beam.sequence.len();
            let Some(rows) = rows else {
                let token = mask.list().and_then(|list| list.first().copied());
                let token = token.or_else(|| mask.bits().first());
                let token = token.ok_or(GenerateError::DeadEnd { step })?;
                self.expansion.add_forced(token, beam.sum);
                continue;
            };
            let lifted = self.expansion.add(
                &mut beam.sequence,
                beam.sum,
                rows[beam.row].last(),
                &**mask,
                &self.options,
                within_budget,
                penalty,
            );
            let lifted = lifted.map_err(|source| GenerateError::Constraint { step, source })?;
            beam.sequence.stats.lifted_bans += usize::from(lifted && !within_budget);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Continuation> {
        match self.options.sample {
            true => self.expansion.draw(&mut self.rng),
            false => self.expansion.next_best(),
        }
    }

    /// Creates a beam with one more token.
    fn child(
        &self,
        parent: &Beam<C>,
        next: Continuation,
        mask: &C::Mask,
        rows: Option<&[RowOutput<'_>]>,
        codec: &Codec,
        rank: usize,
    ) -> Result<Child<C>, GenerateError> {
        let mut sequence = parent.sequence.clone();
        let token = next.token;
        let reason = match mask.count() {
            1 => sequence.take_forced(token, codec, &mut silent)?,
            _ => {
                let chosen = Chosen {
                    accepted: Accepted::certain(token),
                    scores: rows.map_or_else(Scores::default, |rows| {
                        let logits = rows[parent.row].last();
                        let wanted = sequence.wanted();
                        Scores::new(logits, mask, token, wanted, &mut sequence.chain)
                    }),
                    steered: self.expansion.steered[next.beam],
                    lifted: false,
                };
                sequence.take_chosen(chosen, codec, &mut silent)?
            }
        };
        if let Some(rows) = rows {
            // A forced token's own logits are those of this run.
            sequence.see(0, &rows[parent.row], 0);
        }
        let reason = reason.or_else(|| sequence.ended());
        let key = match reason {
            Some(_) => distinct::key(sequence.text(), self.options.distinct),
            None => None,
        };
        Ok(Child {
            rank,
            token,
            beam: Beam {
                sequence,
                mask: None,
                sum: next.sum,
                row: parent.row,
            },
            reason,
            key,
        })
    }

    /// Takes the beams that have ended.
    pub(super) fn take_found(&mut self) -> Vec<Hypothesis<C>> {
        let groups = std::mem::take(&mut self.groups);
        groups
            .into_iter()
            .flat_map(|group| group.finished)
            .collect()
    }

    /// Ends all groups. If a group has no output, its best beam becomes one as it is.
    pub(super) fn stop(&mut self, reason: &FinishReason) {
        for group in &mut self.groups {
            if group.finished.is_empty() && !group.beams.is_empty() {
                let beam = group.beams.swap_remove(0);
                let len = beam.sequence.len().max(1);
                group.add(beam, reason.clone(), None, len, &self.options);
            }
            group.end();
        }
    }
}

/// The text of a beam is not passed on before the search has ended.
pub(super) fn silent(_: Delta<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Returns whether nothing can follow a token, which is not accepted.
fn ends<C: Constraint>(constraint: &mut C, token: TokenId) -> Result<bool, ConstraintError> {
    constraint.accept_token(token)?;
    let is_finished = constraint.is_finished();
    constraint.rollback(1)?;
    Ok(is_finished)
}
