//! Scores of two opinions in the place of logits, among the tokens that may come.

use std::sync::Arc;

use structgen_vocab::TokenId;

use crate::{numeric, samplers::Candidates};

/// How two opinions become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ContrastRule {
    /// `u + scale * (c - u)` on log-softmax.
    Guidance { scale: f32 },
    /// `(1 + beta) * e - beta * a` on logits, for tokens with at least `alpha` times the largest probability.
    Contrastive { alpha: f32, beta: f32 },
}

/// The logits of one step, twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opinions {
    /// The expert's, or those after the prompt itself.
    pub(crate) own: Vec<f32>,
    /// The amateur's, or those after the other prompt.
    pub(crate) other: Vec<f32>,
    /// The logarithms of the sums of their exponentials.
    totals: [f32; 2],
}

impl Opinions {
    /// Prepares the scores, once both are known.
    pub(crate) fn set_totals(&mut self) {
        let total = |logits: &[f32]| numeric::log_sum_exp(logits).unwrap_or(0.0) as f32;
        self.totals = [total(&self.own), total(&self.other)];
    }

    /// The score of the token with this id, of which the model itself has this logit.
    fn score(&self, id: usize, own: f32, rule: ContrastRule) -> f32 {
        let other = self.other.get(id).copied();
        let other = other.filter(|other| other.is_finite());
        match (rule, other) {
            (ContrastRule::Guidance { scale }, Some(other)) => {
                let (c, u) = (own - self.totals[0], other - self.totals[1]);
                u + scale * (c - u)
            }
            (ContrastRule::Guidance { .. }, None) => own - self.totals[0],
            (ContrastRule::Contrastive { beta, .. }, Some(other)) => {
                (1.0 + beta) * own - beta * other
            }
            (ContrastRule::Contrastive { .. }, None) => own,
        }
    }
}

/// The part of a chain that contrasts.
#[derive(Debug, Clone)]
pub(super) struct Contrast {
    rule: ContrastRule,
    pub(super) opinions: Arc<Opinions>,
}

impl Contrast {
    pub(super) fn new(rule: ContrastRule) -> Self {
        let opinions = Arc::default();
        Self { rule, opinions }
    }

    /// Puts scores in the place of logits.
    pub(super) fn score(&self, candidates: &mut Candidates) {
        let (ids, logits) = candidates.ids_and_logits_mut();
        for (id, logit) in ids.iter().zip(logits) {
            *logit = self.opinions.score(id.index(), *logit, self.rule);
        }
    }

    /// Leaves out what the expert finds too improbable among the candidates, whatever their scores are.
    pub(super) fn keep_plausible(&self, candidates: &mut Candidates) {
        let ContrastRule::Contrastive { alpha, .. } = self.rule else {
            return;
        };
        let ln_alpha = match alpha > 0.0 {
            true => numeric::ln(alpha.into()) as f32,
            false => f32::NEG_INFINITY,
        };
        let own = |id: TokenId| self.opinions.own.get(id.index()).copied();
        let logits = candidates.ids().iter().filter_map(|&id| own(id));
        let max = logits.fold(f32::NEG_INFINITY, f32::max);
        let threshold = max + ln_alpha;
        let plausible: Vec<bool> = { candidates.ids().iter() }
            .map(|&id| own(id).is_some_and(|logit| logit >= threshold))
            .collect();
        candidates.retain(|place, _| plausible[place]);
    }
}

#[cfg(test)]
mod tests;
