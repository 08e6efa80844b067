//! The continuations of beams: log probabilities, in the order of force of every step.

use std::cmp::Ordering;

use structgen_vocab::TokenId;

use crate::generate::sequence::Sequence;
use crate::{Candidates, Constraint, SequenceRng, masked_softmax, numeric};

/// A token behind a beam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Continuation {
    /// Which of the group's beams.
    pub(super) beam: usize,
    pub(super) token: TokenId,
    /// The beam's sum with this token's log probability.
    pub(super) sum: f64,
}

/// All continuations of a group's beams that the constraint and the bans allow.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    candidates: Candidates,
    all: Vec<Continuation>,
    /// How many of the first are in order.
    sorted: usize,
    /// How many were handed out.
    handed: usize,
    /// In proportion to the probability, of those that were not drawn yet.
    weights: Vec<f32>,
    /// Whether the budget refused one, by beam.
    pub(super) steered: Vec<bool>,
}

impl Expansion {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.sorted = 0;
        self.handed = 0;
        self.steered.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds what may follow a beam with the sum given; `penalty` is taken from a token's log probability. Says whether a ban was lifted.
    pub(super) fn add<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        sum: f64,
        logits: &[f32],
        mask: &C::Mask,
        renormalize: bool,
        penalty: impl Fn(TokenId) -> f64,
    ) -> bool {
        let beam = self.steered.len();
        self.steered.push(false);
        let limits = sequence.limits();
        let mut banned: Vec<TokenId> = match limits.ban_eos {
            true => limits.eos.to_vec(),
            false => Vec::new(),
        };
        banned.sort_unstable();
        let total = match renormalize {
            true => masked_softmax(logits, mask, &[]).map(|softmax| softmax.log_sum_exp()),
            false => numeric::log_sum_exp(logits),
        };
        // Where nothing has a logit, there is no continuation.
        let Some(total) = total else { return false };
        self.candidates.fill(logits, mask, &banned);
        let lifted = self.candidates.is_empty() && limits.ban_eos;
        if lifted {
            self.candidates.fill(logits, mask, &[]);
        }
        let mut push = |token, log: f64| {
            // Logits of +inf share everything.
            let log = if log.is_nan() { 0.0 } else { log };
            if log == f64::NEG_INFINITY {
                return;
            }
            self.all.push(Continuation {
                beam,
                token,
                sum: sum + log - penalty(token),
            });
        };
        if sequence.chain.is_plain() {
            // Not rounded to f32, so that different logits stay different.
            for (&token, &logit) in self.candidates.ids().iter().zip(self.candidates.logits()) {
                push(token, f64::from(logit) - total);
            }
            return lifted;
        }
        for logit in self.candidates.logits_mut() {
            *logit = (f64::from(*logit) - total) as f32;
        }
        sequence.chain.apply(&mut self.candidates);
        for (&token, &log) in self.candidates.ids().iter().zip(self.candidates.logits()) {
            push(token, f64::from(log));
        }
        lifted
    }

    /// Adds the one token that may follow a beam, with a log probability of zero.
    pub(super) fn add_forced(&mut self, token: TokenId, sum: f64) {
        let beam = self.steered.len();
        self.steered.push(false);
        self.all.push(Continuation { beam, token, sum });
    }

    /// The best continuation that was not handed out yet. Of equal ones, the one of the earlier beam goes first, then the one of the lower id.
    pub(super) fn next_best(&mut self) -> Option<Continuation> {
        /// So many are put in order at once.
        const CHUNK: usize = 32;
        if self.handed == self.sorted {
            let rest = self.all.get_mut(self.sorted..)?;
            if rest.len() > CHUNK {
                rest.select_nth_unstable_by(CHUNK - 1, by_rank);
            }
            let chunk = rest.len().min(CHUNK);
            rest[..chunk].sort_unstable_by(by_rank);
            self.sorted += chunk;
        }
        let next = self.all[..self.sorted].get(self.handed).copied()?;
        self.handed += 1;
        Some(next)
    }

    /// A continuation that was not handed out yet, in proportion to the softmax of the sums.
    pub(super) fn draw(&mut self, rng: &mut SequenceRng) -> Option<Continuation> {
        if self.handed == 0 {
            let sums = self.all.iter().map(|continuation| continuation.sum);
            let max = sums.clone().fold(f64::NEG_INFINITY, f64::max);
            self.weights.clear();
            self.weights
                .extend(sums.map(|sum| numeric::weight((sum - max) as f32, 0.0)));
        }
        self.handed += 1;
        let total: f64 = self.weights.iter().map(|&weight| f64::from(weight)).sum();
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
        Some(self.all[at])
    }
}

/// Falling sums, then rising beams and ids.
fn by_rank(a: &Continuation, b: &Continuation) -> Ordering {
    let sums = b.sum.total_cmp(&a.sum);
    sums.then(a.beam.cmp(&b.beam)).then(a.token.cmp(&b.token))
}
