//! A position of an attempt: a token is drawn, or the attempt ends there.

use structgen_vocab::TokenId;

use super::Score;
use super::allowed::{AllowedDraw, ln_mass, ln_of, ln_total};
use super::path::Continuation;
use crate::request::strategy::learned::{Beginning, BoundTree, NodeId};
use crate::{GenerateError, constraint::AllowedTokens, numeric, samplers::SequenceRng};

/// The result of a position.
pub(super) enum Visit {
    Token {
        token: TokenId,
        score: Score,
        next: Beginning,
    },
    Rejected,
    /// No token has any probability left.
    Nothing,
}

/// The random numbers of an output.
#[derive(Debug)]
pub(super) struct Draws {
    /// For tokens, and for the mass that masks remove when a prefix is visited for the first time.
    tokens: SequenceRng,
    /// For what other requests have learned since a prefix was drawn.
    late: SequenceRng,
}

impl Draws {
    pub(super) fn new(seed: u64, number: usize) -> Self {
        Self {
            tokens: SequenceRng::new(seed, number as u64),
            late: SequenceRng::coins(seed, number as u64),
        }
    }
}

/// What is needed to visit a position.
pub(super) struct Visitor<'v> {
    pub(super) bounds: &'v mut BoundTree,
    pub(super) draw: &'v mut AllowedDraw,
    /// A buffer for the remembered tokens at a position.
    pub(super) known: &'v mut Vec<TokenId>,
    /// Whether the mass that masks remove ends an attempt.
    pub(super) rejects: bool,
    pub(super) eos: &'v [TokenId],
    pub(super) draws: &'v mut Draws,
}

impl Visitor<'_> {
    /// Draws the continuation of a prefix, each token in proportion to its probability times the bound of the result.
    pub(super) fn visit<M: AllowedTokens>(
        &mut self,
        at: Beginning,
        continuation: &Continuation<M>,
        logits: &[f32],
        step: usize,
    ) -> Result<Visit, GenerateError> {
        let ln_total = ln_total(logits, step)?;
        let node = at.node;
        let is_new = !self.bounds.is_known(node);
        self.known.clear();
        self.known.extend(self.bounds.tokens(node));
        let allowed = self.draw.allowed(continuation);
        let forced = allowed.count() == 1;
        let ln_rest = ln_mass(logits, &allowed, self.known) - ln_total;
        self.bounds.set_rest(node, ln_rest);

        let rest = std::iter::once(ln_rest);
        let children = self.bounds.children(node);
        let kept = rest
            .clone()
            .chain(children.clone().map(|(_, ln_p, _)| ln_p));
        let ln_kept = numeric::ln_sum(kept);
        let weighed = children.map(|(_, ln_p, ln_bound)| ln_p + ln_bound);
        let ln_bound = numeric::ln_sum(rest.chain(weighed));
        let score = |ln_p: f64| Score {
            ln_p,
            ln_kept,
            forced,
        };
        if self.rejects && self.is_rejected(is_new, ln_bound, at.ln_bound) {
            return Ok(Visit::Rejected);
        }
        if ln_bound == f64::NEG_INFINITY {
            return Ok(Visit::Nothing);
        }
        if let Some((token, ln_p, ln_bound)) = self.draw_remembered(node, ln_rest, ln_bound) {
            let node = self.bounds.child(node, token);
            return Ok(Visit::Token {
                token,
                score: score(ln_p),
                next: Beginning { node, ln_bound },
            });
        }
        let rng = &mut self.draws.tokens;
        let Some(token) = self.draw.draw(logits, continuation, self.known, rng) else {
            return Ok(Visit::Nothing);
        };
        // Any end-of-sequence token forces the end: their probabilities are added.
        let ln_p = match continuation {
            Continuation::ForcedEnd => ln_kept,
            _ => ln_of(logits, token) - ln_total,
        };
        let is_end = matches!(continuation, Continuation::ForcedEnd) || self.eos.contains(&token);
        let mut next = None;
        if !is_end {
            next = self.bounds.add(node, token, ln_p);
        }
        if next.is_some() {
            let place = self.known.partition_point(|&known| known < token);
            self.known.insert(place, token);
            let allowed = self.draw.allowed(continuation);
            let ln_rest = ln_mass(logits, &allowed, self.known) - ln_total;
            self.bounds.set_rest(node, ln_rest);
        }
        Ok(Visit::Token {
            token,
            score: score(ln_p),
            next: Beginning::unknown(next),
        })
    }

    /// Returns whether the attempt ends because of what a prefix's bound has lost since it was drawn.
    ///
    /// For a new prefix, that is the mass its mask removes; from then on the bounds of its own prefixes exclude it. For
    /// a known prefix, it is what requests that share the bounds have learned in the meantime, usually nothing; these
    /// rare tests have their own random numbers, so that they affect no draw.
    fn is_rejected(&mut self, is_new: bool, ln_bound: f64, ln_bound_drawn: f64) -> bool {
        let Draws { tokens, late } = &mut *self.draws;
        match is_new {
            true => tokens.uniform() >= numeric::exp_f64(ln_bound),
            false => {
                ln_bound < ln_bound_drawn
                    && late.uniform() >= numeric::exp_f64(ln_bound - ln_bound_drawn)
            }
        }
    }

    /// Draws among the remembered tokens after a prefix and all others together; returns `None` for one of the others.
    fn draw_remembered(
        &mut self,
        node: NodeId,
        ln_rest: f64,
        ln_bound: f64,
    ) -> Option<(TokenId, f64, f64)> {
        let mut target = self.draws.tokens.uniform() - numeric::exp_f64(ln_rest - ln_bound);
        if target < 0.0 {
            return None;
        }
        let mut drawn = None;
        for child in self.bounds.children(node) {
            let (_, ln_p, ln_bound_of) = child;
            let share = numeric::exp_f64(ln_p + ln_bound_of - ln_bound);
            if share > 0.0 {
                drawn = Some(child);
                target -= share;
                if target < 0.0 {
                    break;
                }
            }
        }
        // If rounding leaves no child, the others have all of the probability.
        drawn
    }
}
