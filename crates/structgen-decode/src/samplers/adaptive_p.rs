use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::SequenceStart;
use crate::samplers::{Accepted, Candidates, Sampler};

/// The width around the target within which probabilities are favoured.
const WIDTH: f32 = 0.3;
/// The logit of a candidate exactly at the target.
const PEAK: f32 = 5.0;
/// How steeply logits fall with the distance.
const SHARPNESS: f32 = 10.0;
/// The largest decay: beyond it the average would hardly move.
const LARGEST_DECAY: f32 = 0.99;

/// Capacity that is always reserved, in candidates.
const ROOM: usize = 1024;

/// The target probability. The default is a target of one half and a decay of 0.9.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptivePParams {
    /// The desired mean probability of the chosen tokens, from 0 to 1.
    pub target: f32,
    /// The factor by which each choice reduces the weight of earlier ones in the average, from 0 to 0.99.
    pub decay: f32,
}

impl Default for AdaptivePParams {
    fn default() -> Self {
        Self {
            target: 0.5,
            decay: 0.9,
        }
    }
}

/// Favours candidates whose probability is near a target, corrected by an average over past choices.
///
/// Adaptive-p of llama.cpp (#17927, by MrJackSpade and ddh0). The target of a step is `2 t - average`, from 0 to 1; a
/// candidate of probability `p` gets the logit `5 - 10 d^2 / (1 + d)` with `d = |p - target| / 0.3`. The average is
/// over the chosen tokens' probabilities *before* this change, and starts at `t`. The sampler must be the last of a
/// chain: it determines the draw. Forced tokens do not count.
///
/// ```
/// use structgen_decode::samplers::{AdaptiveP, Candidates, Sampler};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.7f32, 0.3].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..2).map(TokenId).zip(logits));
/// AdaptiveP::new(0.3, 0.9).apply(&mut candidates);
/// assert_eq!(candidates.largest().unwrap().0, TokenId(1));
/// ```
#[derive(Debug, Clone)]
pub struct AdaptiveP {
    target: f32,
    decay: f32,
    sum: f32,
    weight: f32,
    /// The candidates of the step, and their probabilities before the change.
    ids: Vec<TokenId>,
    probabilities: Vec<f32>,
}

impl AdaptiveP {
    /// Sets the target probability; a `decay` above 0.99 is lowered to that.
    pub fn new(target: f32, decay: f32) -> Self {
        let decay = decay.min(LARGEST_DECAY);
        let weight = 1.0 / (1.0 - decay);
        Self {
            target,
            decay,
            sum: target * weight,
            weight,
            ids: Vec::with_capacity(ROOM),
            probabilities: Vec::with_capacity(ROOM),
        }
    }
}

impl Sampler for AdaptiveP {
    fn apply(&mut self, candidates: &mut Candidates) {
        let total = candidates.weigh();
        self.ids.clear();
        self.ids.extend_from_slice(candidates.ids());
        self.probabilities.clear();
        let weights = candidates.weights().iter();
        self.probabilities
            .extend(weights.map(|&w| (f64::from(w) / total) as f32));
        let target = (2.0 * self.target - self.sum / self.weight).clamp(0.0, 1.0);
        for (logit, p) in candidates.logits_mut().iter_mut().zip(&self.probabilities) {
            let distance = ((p - target) / WIDTH).abs();
            *logit = PEAK - SHARPNESS * distance * distance / (1.0 + distance);
        }
    }

    fn accept(&mut self, accepted: Accepted) {
        if accepted.probability.is_some()
            && let Ok(at) = self.ids.binary_search(&accepted.token)
        {
            self.sum = self.probabilities[at] + self.decay * self.sum;
            self.weight = 1.0 + self.decay * self.weight;
        }
        self.ids.clear();
    }

    fn reset(&mut self, _: SequenceStart<'_>) {
        self.weight = 1.0 / (1.0 - self.decay);
        self.sum = self.target * self.weight;
        self.ids.clear();
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, log, token};

    fn applied(sampler: &mut AdaptiveP, probabilities: &[f64]) -> Vec<f32> {
        let mut c = candidates(&log(probabilities));
        sampler.apply(&mut c);
        c.logits().to_vec()
    }

    #[test]
    fn the_nearest_to_the_target_is_favoured() {
        let logits = applied(&mut AdaptiveP::new(0.2, 0.9), &[0.7, 0.2, 0.1]);
        assert!((logits[1] - 5.0).abs() < 1e-5);
        // d = 1/3: 5 - 10 / 9 / (4 / 3).
        assert!((logits[2] - (5.0 - 10.0 / 12.0)).abs() < 1e-5);
        assert!(logits[0] < logits[2]);
    }

    #[test]
    fn picks_above_the_target_lower_the_next_one() {
        let mut sampler = AdaptiveP::new(0.5, 0.0);
        applied(&mut sampler, &[0.8, 0.2]);
        sampler.accept(Accepted::drawn(token(0), 0.5));
        // The average is 0.8: the target is 0.2.
        assert!((applied(&mut sampler, &[0.8, 0.2])[1] - 5.0).abs() < 1e-5);
        // Tokens that were forced or absent do not count.
        sampler.accept(Accepted::certain(token(0)));
        assert!((applied(&mut sampler, &[0.8, 0.2])[1] - 5.0).abs() < 1e-5);
        sampler.accept(Accepted::drawn(token(9), 0.5));
        assert!((applied(&mut sampler, &[0.8, 0.2])[1] - 5.0).abs() < 1e-5);
        sampler.reset(SequenceStart {
            prompt: &[],
            prefilled: 0,
            eos: &[],
        });
        assert!((applied(&mut sampler, &[0.5, 0.5])[1] - 5.0).abs() < 1e-5);
    }
}
