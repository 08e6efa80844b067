//! What becomes of the logits of two opinions, among the tokens that may come.

use std::sync::{Arc, Mutex, PoisonError};

use structgen_vocab::TokenId;

use crate::{Candidates, Sampler, numeric};

/// How two opinions become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// `u + scale * (c - u)` on log-softmax.
    Guidance { scale: f32 },
    /// `(1 + beta) * e - beta * a` on logits, for tokens with at least `alpha` times the largest probability.
    Contrastive { alpha: f32, beta: f32 },
}

impl Rule {
    /// From which share of the largest probability on tokens are looked at, where that matters.
    pub(super) fn alpha(self) -> Option<f32> {
        match self {
            Self::Guidance { .. } => None,
            Self::Contrastive { alpha, .. } => Some(alpha),
        }
    }
}

/// The logits of one step.
#[derive(Debug, Clone, Default)]
pub(super) struct Pair {
    /// The expert's, or those behind the prompt itself.
    pub(super) own: Vec<f32>,
    /// The amateur's, or those behind the other prompt.
    pub(super) other: Vec<f32>,
    /// The logarithms of the sums of their exponentials.
    totals: [f32; 2],
}

impl Pair {
    pub(super) fn set_totals(&mut self) {
        let total = |logits: &[f32]| numeric::log_sum_exp(logits).unwrap_or(0.0) as f32;
        self.totals = [total(&self.own), total(&self.other)];
    }

    /// The score of the token with this id, of which the model itself has this logit.
    fn score(&self, id: usize, own: f32, rule: Rule) -> f32 {
        let other = self
            .other
            .get(id)
            .copied()
            .filter(|other| other.is_finite());
        match (rule, other) {
            (Rule::Guidance { scale }, Some(other)) => {
                let (c, u) = (own - self.totals[0], other - self.totals[1]);
                u + scale * (c - u)
            }
            (Rule::Guidance { .. }, None) => own - self.totals[0],
            (Rule::Contrastive { beta, .. }, Some(other)) => (1.0 + beta) * own - beta * other,
            (Rule::Contrastive { .. }, None) => own,
        }
    }
}

/// Where a chain finds the logits of its step.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Arc<Pair>>>);

impl Shared {
    pub(super) fn set(&self, pair: &Arc<Pair>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(pair);
    }

    pub(super) fn clear(&self) {
        self.set(&Arc::default());
    }

    fn get(&self) -> Arc<Pair> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Puts scores in the place of logits.
#[derive(Debug, Clone)]
pub(super) struct Contrast {
    shared: Shared,
    rule: Rule,
}

impl Contrast {
    pub(super) fn new(shared: &Shared, rule: Rule) -> Self {
        Self {
            shared: shared.clone(),
            rule,
        }
    }
}

impl Sampler for Contrast {
    fn apply(&mut self, candidates: &mut Candidates) {
        let pair = self.shared.get();
        let (ids, logits) = candidates.ids_and_logits_mut();
        for (id, logit) in ids.iter().zip(logits) {
            *logit = pair.score(id.index(), *logit, self.rule);
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// Leaves out what the expert finds too improbable, whatever has become of its logits.
#[derive(Debug, Clone)]
pub(super) struct Plausible {
    shared: Shared,
    ln_alpha: f32,
}

impl Plausible {
    pub(super) fn new(shared: &Shared, alpha: f32) -> Self {
        let ln_alpha = match alpha > 0.0 {
            true => numeric::ln(alpha.into()) as f32,
            false => f32::NEG_INFINITY,
        };
        Self {
            shared: shared.clone(),
            ln_alpha,
        }
    }
}

impl Sampler for Plausible {
    fn apply(&mut self, candidates: &mut Candidates) {
        let pair = self.shared.get();
        let own = |id: TokenId| pair.own.get(id.index()).copied();
        let logits = candidates.ids().iter().filter_map(|&id| own(id));
        let max = logits.fold(f32::NEG_INFINITY, f32::max);
        let threshold = max + self.ln_alpha;
        let plausible: Vec<bool> = { candidates.ids().iter() }
            .map(|&id| own(id).is_some_and(|logit| logit >= threshold))
            .collect();
        candidates.retain(|place, _| plausible[place]);
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
