//! The continuations of beams with their log probabilities, in the usual order of precedence.

use std::cmp::Ordering;

use structgen_vocab::TokenId;

use super::BeamOptions;
use crate::sequence::{Sequence, fits, set_temperature};
use crate::{
    Constraint,
    constraint::ConstraintError,
    numeric,
    samplers::{Candidates, SequenceRng, masked_softmax},
};

/// A token after a beam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Continuation {
    /// The index of the beam in its group.
    pub(super) beam: usize,
    pub(super) token: TokenId,
    /// The beam's sum including this token's log probability.
    pub(super) sum: f64,
}

/// All continuations of a group's beams that the constraint and the bans allow.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    candidates: Candidates,
    all: Vec<Continuation>,
    /// How many of the first are sorted.
    sorted: usize,
    /// How many were returned.
    returned: usize,
    /// Proportional to the probability, for those not drawn yet.
    weights: Vec<f32>,
    /// For each beam, whether the budget refused a token.
    pub(super) steered: Vec<bool>,
}

impl Expansion {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.sorted = 0;
        self.returned = 0;
        self.weights.clear();
        self.steered.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds the continuations of a beam with the given sum; `penalty` is subtracted from a token's log probability,
    /// before the samplers. Returns whether a ban was lifted.
    ///
    /// A grammar's temperatures matter only if beams are drawn. At temperature 0, a beam has one continuation.
    ///
    /// If `within_budget` is set, samplers see no token after which the output could not be completed in time.
    #[expect(clippy::too_many_arguments, reason = "what a step is made of")]
    pub(super) fn add<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<C>,
        sum: f64,
        logits: &[f32],
        mask: &C::Mask,
        options: &BeamOptions,
        within_budget: bool,
        penalty: impl Fn(TokenId) -> f64,
    ) -> Result<bool, ConstraintError> {
        let beam = self.steered.len();
        self.steered.push(false);
        let limits = sequence.limits();
        let mut over_budget = Vec::new();
        if within_budget {
            self.candidates.fill(logits, mask, &[]);
            for &token in self.candidates.ids() {
                let is_end = limits.eos.contains(&token);
                if !is_end && !fits(&mut sequence.constraint, token, &limits)? {
                    over_budget.push(token);
                }
            }
        }
        let mut banned = over_budget.clone();
        if limits.ban_eos {
            banned.extend_from_slice(&limits.eos);
            banned.sort_unstable();
        }
        let total = match options.renormalize {
            true if sequence.chain.has_own() => {
                let candidates = &mut self.candidates;
                sequence.chain.own_log_sum_exp(candidates, logits, mask)
            }
            true => masked_softmax(logits, mask, &[]).map(|softmax| softmax.log_sum_exp()),
            false => numeric::log_sum_exp(logits),
        };
        // If nothing has a logit, there is no continuation.
        let Some(total) = total else {
            return Ok(false);
        };
        self.candidates.fill(logits, mask, &banned);
        let lifted = self.candidates.is_empty() && limits.ban_eos;
        if lifted {
            self.candidates.fill(logits, mask, &over_budget);
        }
        let log_prob = |token, logit: f32| {
            let log = f64::from(logit) - total;
            // Logits of +inf share all of the probability.
            let log = if log.is_nan() { 0.0 } else { log };
            log - penalty(token)
        };
        let mut push = |token, log: f64| {
            if log > f64::NEG_INFINITY {
                let sum = sum + log;
                self.all.push(Continuation { beam, token, sum });
            }
        };
        if sequence.chain.is_plain() {
            // Not rounded to f32, so that different logits stay different.
            for (&token, &logit) in self.candidates.ids().iter().zip(self.candidates.logits()) {
                push(token, log_prob(token, logit));
            }
            return Ok(lifted);
        }
        // In transformers, too, diversity comes before the repetition penalty.
        let (ids, logits) = self.candidates.ids_and_logits_mut();
        for (&token, logit) in ids.iter().zip(logits) {
            *logit = log_prob(token, *logit) as f32;
        }
        if options.sample {
            set_temperature(&mut sequence.chain, &mut sequence.constraint)?;
        }
        sequence.chain.apply(&mut self.candidates);
        if options.sample && sequence.chain.is_greedy() {
            self.candidates.keep_largest(1);
        }
        for (&token, &log) in self.candidates.ids().iter().zip(self.candidates.logits()) {
            push(token, f64::from(log));
        }
        Ok(lifted)
    }

    /// Adds the only possible token after a beam, with a log probability of zero.
    pub(super) fn add_forced(&mut self, token: TokenId, sum: f64) {
        let beam = self.steered.len();
        self.steered.push(false);
        self.all.push(Continuation { beam, token, sum });
    }

    /// Returns the best continuation that was not returned yet. Among equals, the earlier beam comes first, then the
    /// lower id.
    pub(super) fn next_best(&mut self) -> Option<Continuation> {
        /// The number of continuations to sort at once.
        const CHUNK: usize = 32;
        if self.returned == self.sorted {
            let rest = self.all.get_mut(self.sorted..)?;
            if rest.len() > CHUNK {
                rest.select_nth_unstable_by(CHUNK - 1, by_rank);
            }
            let chunk = rest.len().min(CHUNK);
            rest[..chunk].sort_unstable_by(by_rank);
            self.sorted += chunk;
        }
        let next = self.all[..self.sorted].get(self.returned).copied()?;
        self.returned += 1;
        Some(next)
    }

    /// Draws a continuation that was not returned yet, in proportion to the softmax of the sums.
    pub(super) fn draw(&mut self, rng: &mut SequenceRng) -> Option<Continuation> {
        let weigh = |weights: &[f32]| weights.iter().map(|&w| f64::from(w)).sum::<f64>();
        let mut total = weigh(&self.weights);
        if total == 0.0 {
            // At first, and once only those are left that were next to impossible compared with the others.
            let sums = self.all.iter().map(|continuation| continuation.sum);
            let max = sums.clone().fold(f64::NEG_INFINITY, f64::max);
            if max == f64::NEG_INFINITY {
                return None;
            }
            self.weights.clear();
            self.weights
                .extend(sums.map(|sum| numeric::weight((sum - max) as f32, 0.0)));
            total = weigh(&self.weights);
        }
        let target = rng.uniform() * total;
        let mut sum = 0.0;
        let mut drawn = None;
        for (at, &weight) in self.weights.iter().enumerate() {
            if weight > 0.0 {
                sum += f64::from(weight);
                drawn = Some(at);
                if sum > target {
                    break;
                }
            }
        }
        let at = drawn?;
        self.weights[at] = 0.0;
        let drawn = self.all[at];
        self.all[at].sum = f64::NEG_INFINITY;
        Some(drawn)
    }
}

/// Orders by falling sums, then rising beams and ids.
fn by_rank(a: &Continuation, b: &Continuation) -> Ordering {
    let sums = b.sum.total_cmp(&a.sum);
    sums.then(a.beam.cmp(&b.beam)).then(a.token.cmp(&b.token))
}
