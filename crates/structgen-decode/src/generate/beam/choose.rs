//! Which continuations are taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use structgen_vocab::TokenId;

use super::expand::{Continuation, Expansion};
use super::group::{Beam, Child, Group};
use super::{BeamOptions, Distinct, distinct, silent};
use crate::generate::error::GenerateError;
use crate::generate::jump::Words;
use crate::generate::result::FinishReason;
use crate::generate::step::{Chosen, Limits, Scores, fits};
use crate::{Accepted, AllowedTokens, Constraint, ConstraintError, Logits, SequenceRng};

/// All beams of a search, in groups.
pub(super) struct Beams<'r, 'a, 'o, C: Constraint> {
    pub(super) groups: Vec<Group<'o, C>>,
    pub(super) rng: SequenceRng,
    pub(super) words: Words<'a>,
    pub(super) options: &'r BeamOptions,
    pub(super) expansion: Expansion,
}

impl<'o, C: Constraint + Clone> Beams<'_, '_, 'o, C> {
    /// The beams of all groups, in the order of their rows.
    pub(super) fn all(&self) -> impl Iterator<Item = &Beam<'o, C>> {
        self.groups.iter().flat_map(|group| &group.beams)
    }

    /// Adds the backend's time of run number `run` to all that took part in it.
    pub(super) fn count_backend(&mut self, run: u64, time: Duration) {
        for group in &mut self.groups {
            let beams = group.beams.iter_mut().map(|beam| &mut beam.sequence);
            let finished = group.finished.iter_mut().map(|one| &mut one.sequence);
            for sequence in beams.chain(finished).filter(|one| one.stats.runs == run) {
                sequence.stats.backend_time += time;
            }
        }
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Beam<'o, C>> {
        self.groups.iter_mut().flat_map(|group| &mut group.beams)
    }

    /// Whether every beam has one token that may follow, of log probability zero: then the model need not be asked.
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

    /// Lets every group go on, by the logits of the last position or, without any, by the masks alone.
    pub(super) fn choose(&mut self, logits: Option<&Logits<'_>>) -> Result<(), GenerateError> {
        let mut chosen: BTreeMap<TokenId, u32> = BTreeMap::new();
        let mut groups = std::mem::take(&mut self.groups);
        for group in groups.iter_mut().filter(|group| !group.done) {
            for token in self.choose_in(group, logits, &chosen)? {
                *chosen.entry(token).or_default() += 1;
            }
        }
        self.groups = groups;
        Ok(())
    }

    fn choose_in(
        &mut self,
        group: &mut Group<'o, C>,
        logits: Option<&Logits<'_>>,
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
        self.expand(group, &masks, logits, chosen, false)?;
        if self.expansion.is_empty() && group.finished.is_empty() {
            let allowed = masks.iter().map(|mask| mask.count()).sum();
            return Err(match allowed {
                0 => GenerateError::DeadEnd { step },
                _ => GenerateError::NoFiniteLogit { step, allowed },
            });
        }
        let (mut children, is_enough) = self.children(group, &masks, logits, &limits)?;
        if !is_enough && self.expansion.steered.contains(&true) {
            // What samplers left was refused by the budget: they choose again among what fits.
            self.expand(group, &masks, logits, chosen, true)?;
            self.expansion.steered.fill(true);
            (children, _) = self.children(group, &masks, logits, &limits)?;
        }
        let most = step + limits.remaining;
        Ok(group.step(children, step + 1, most, self.options))
    }

    /// The beams' continuations of the expansion, best first; and whether they were as many as wanted.
    fn children(
        &mut self,
        group: &mut Group<'o, C>,
        masks: &[Arc<C::Mask>],
        logits: Option<&Logits<'_>>,
        limits: &Limits,
    ) -> Result<(Vec<Child<'o, C>>, bool), GenerateError> {
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
                // What ends here is too bad to be an output.
                if limits.remaining == 1 && !scorer {
                    return Ok((children, true));
                }
                if is_end || ends(&mut parent.constraint, next.token).map_err(fail)? {
                    rank += 1;
                    continue;
                }
            }
            let mask = &masks[next.beam];
            let child = self.child(&group.beams[next.beam], next, mask, logits, rank)?;
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

    /// All that may follow the beams of a group.
    fn expand(
        &mut self,
        group: &mut Group<'o, C>,
        masks: &[Arc<C::Mask>],
        logits: Option<&Logits<'_>>,
        chosen: &BTreeMap<TokenId, u32>,
        within_budget: bool,
    ) -> Result<(), GenerateError> {
        let diversity = self.options.diversity_penalty;
        let penalty = |token| diversity * f64::from(chosen.get(&token).copied().unwrap_or(0));
        self.expansion.clear();
        for (beam, mask) in group.beams.iter_mut().zip(masks) {
            let step = beam.sequence.len();
            let Some(logits) = logits else {
                let token = mask.list().and_then(|list| list.first().copied());
                let token = token.or_else(|| mask.bits().first());
                let token = token.ok_or(GenerateError::DeadEnd { step })?;
                self.expansion.add_forced(token, beam.sum);
                continue;
            };
            let row = logits.row(beam.place, logits.positions() - 1);
            let lifted = self.expansion.add(
                &mut beam.sequence,
                beam.sum,
                row,
                &**mask,
                self.options.renormalize,
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

    /// A beam with one token more.
    fn child(
        &self,
        parent: &Beam<'o, C>,
        next: Continuation,
        mask: &C::Mask,
        logits: Option<&Logits<'_>>,
        rank: usize,
    ) -> Result<Child<'o, C>, GenerateError> {
        let mut sequence = parent.sequence.clone();
        let words = self.words;
        let token = next.token;
        let reason = match mask.count() {
            1 => sequence.take_forced(token, words, &mut silent)?,
            _ => {
                let chosen = Chosen {
                    accepted: Accepted::certain(token),
                    scores: logits.map_or_else(Scores::default, |logits| {
                        let row = logits.row(parent.place, logits.positions() - 1);
                        Scores::new(row, mask, token, sequence.wanted())
                    }),
                    steered: self.expansion.steered[next.beam],
                    lifted: false,
                };
                sequence.take_chosen(chosen, words, &mut silent)?
            }
        };
        if let Some(logits) = logits {
            // A forced token's own logits are at hand.
            sequence.see(0, logits, parent.place, 0);
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
                place: parent.place,
            },
            reason,
            key,
        })
    }

    /// The time is up: where a group has no output, its best beam is one as it is.
    pub(super) fn stop(&mut self) {
        for group in &mut self.groups {
            if group.finished.is_empty() && !group.beams.is_empty() {
                let beam = group.beams.swap_remove(0);
                let len = beam.sequence.len().max(1);
                group.add(beam, FinishReason::TimeLimit, None, len, self.options);
            }
        }
    }
}

/// Whether nothing can follow a token, which is not taken.
fn ends<C: Constraint>(constraint: &mut C, token: TokenId) -> Result<bool, ConstraintError> {
    constraint.accept_token(token)?;
    let is_finished = constraint.is_finished();
    constraint.rollback(1)?;
    Ok(is_finished)
}
