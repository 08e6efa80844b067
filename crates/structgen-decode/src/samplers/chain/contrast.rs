//! Replaces the logits of allowed tokens by scores of two opinions.

use std::sync::Arc;

use structgen_vocab::TokenId;

use crate::{numeric, samplers::Candidates};

/// How to combine two opinions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ContrastRule {
    /// `u + scale * (c - u)` on log-softmax.
    Guidance { scale: f32 },
    /// `(1 + beta) * e - beta * a` on logits, for tokens with at least `alpha` times the largest probability.
    Contrastive { alpha: f32, beta: f32 },
}

/// Two sets of logits for one step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opinions {
    /// The expert's, or those after the real prompt.
    pub(crate) own: Vec<f32>,
    /// The amateur's, or those after the other prompt.
    pub(crate) other: Vec<f32>,
    /// The logarithms of the sums of their exponentials.
    totals: [f32; 2],
}

impl Opinions {
    /// Computes the sums, once both sets are known.
    pub(crate) fn set_totals(&mut self) {
        let total = |logits: &[f32]| numeric::log_sum_exp(logits).unwrap_or(0.0) as f32;
        self.totals = [total(&self.own), total(&self.other)];
    }

    /// Returns the score of the token with this id, to which the model itself gives the logit `own`.
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

/// The contrasting part of a chain.
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

    /// Replaces the logits by scores.
    pub(super) fn score(&self, candidates: &mut Candidates) {
        let (ids, logits) = candidates.ids_and_logits_mut();
        for (id, logit) in ids.iter().zip(logits) {
            *logit = self.opinions.score(id.index(), *logit, self.rule);
        }
    }

    /// Returns whether it removes candidates.
    pub(super) fn cuts(&self) -> bool {
        matches!(self.rule, ContrastRule::Contrastive { .. })
    }

    /// Removes the candidates that the expert finds too improbable, whatever their scores.
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
