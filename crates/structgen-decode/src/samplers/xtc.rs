use serde::{Deserialize, Serialize};

use super::SequenceStart;
use crate::candidates::logit_of;
use crate::{
    numeric,
    samplers::{Accepted, Candidates, Sampler, SequenceRng},
};

/// When likely tokens are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XtcParams {
    /// The probability that a step drops anything.
    pub probability: f32,
    /// The probability from which a token is a top choice; above one half, nothing is ever dropped.
    pub threshold: f32,
}

/// With some probability, drops every candidate whose probability reaches a threshold, except the least likely of them.
///
/// "Exclude top choices", by p-e-w (text-generation-webui #6335). Among equally unlikely ones, that with the highest id
/// is kept. A threshold above one half is off, as two candidates cannot reach it. A step that would leave fewer than
/// `min_keep` drops nothing.
///
/// Whether a step drops is decided once per position of the output, by the sampler's own random numbers, so that a
/// repeated step, and one that verifies a draft, see the same coin.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, SequenceRng, Xtc};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.5f32, 0.3, 0.2].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..3).map(TokenId).zip(logits));
/// Xtc::new(1.0, 0.25, 1, SequenceRng::new(0, 0)).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(1), TokenId(2)]);
/// ```
#[derive(Debug, Clone)]
pub struct Xtc {
    probability: f32,
    threshold: f32,
    min_keep: usize,
    rng: SequenceRng,
    coin: f64,
}

impl Xtc {
    /// Drops candidates that reach `threshold` with this probability, keeping at least `min_keep`; `rng` decides when.
    pub fn new(probability: f32, threshold: f32, min_keep: usize, mut rng: SequenceRng) -> Self {
        Self {
            probability,
            threshold,
            min_keep: min_keep.max(1),
            coin: rng.uniform(),
            rng,
        }
    }
}

impl Sampler for Xtc {
    fn apply(&mut self, candidates: &mut Candidates) {
        let drops = self.coin < f64::from(self.probability);
        if !drops || self.threshold > 0.5 || candidates.len() < 2 {
            return;
        }
        let total = candidates.weigh();
        let max = numeric::max(candidates.logits());
        let from = logit_of(self.threshold.into(), max, total);
        let logits = candidates.logits();
        let top = |logit: f32| f64::from(logit) >= from;
        let reaching = logits.iter().filter(|&&l| top(l)).count();
        // The least likely of them: the smallest logit, and the highest id among equals.
        let mut least: Option<(usize, f32)> = None;
        for (i, &logit) in logits.iter().enumerate().filter(|&(_, &l)| top(l)) {
            if least.is_none_or(|(_, smallest)| logit <= smallest) {
                least = Some((i, logit));
            }
        }
        let Some((least, _)) = least else { return };
        if reaching > 1 && candidates.len() - (reaching - 1) >= self.min_keep {
            candidates.retain(|i, logit| i == least || !top(logit));
        }
    }

    fn accept(&mut self, _: Accepted) {
        self.coin = self.rng.uniform();
    }

    fn reset(&mut self, _: SequenceStart<'_>) {
        self.coin = self.rng.uniform();
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log};

    fn kept(threshold: f32, min_keep: usize, probabilities: &[f64]) -> Vec<u32> {
        let mut c = candidates(&log(probabilities));
        Xtc::new(1.0, threshold, min_keep, SequenceRng::new(3, 0)).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn leaves_the_least_likely_of_the_top_choices() {
        assert_eq!(kept(0.1, 1, &[0.2, 0.5, 0.26, 0.04]), [0, 3]);
        assert_eq!(kept(0.3, 1, &[0.2, 0.5, 0.26, 0.04]), [0, 1, 2, 3]);
        assert_eq!(kept(0.2, 1, &[0.3, 0.3, 0.4]), [1]);
        assert_eq!(kept(0.51, 1, &[0.5, 0.5]), [0, 1]);
    }

    #[test]
    fn min_keep_calls_it_off() {
        assert_eq!(kept(0.1, 2, &[0.2, 0.5, 0.26, 0.04]), [0, 3]);
        assert_eq!(kept(0.1, 3, &[0.2, 0.5, 0.26, 0.04]), [0, 1, 2, 3]);
    }

    /// The coin is tossed once per position, and not by `apply`.
    #[test]
    fn the_coin_is_the_same_within_a_step_and_fair_over_steps() {
        let mut sampler = Xtc::new(0.25, 0.1, 1, SequenceRng::new(9, 0));
        let mut dropped = 0;
        for _ in 0..4000 {
            let mut apply = || {
                let mut c = candidates(&log(&[0.5, 0.5]));
                sampler.apply(&mut c);
                c.len()
            };
            let len = apply();
            assert_eq!(apply(), len);
            dropped += usize::from(len == 1);
            sampler.accept(Accepted::certain(crate::candidates::tests::token(0)));
        }
        // A deviation of 27 from 1000 is one sigma.
        assert!((880..1120).contains(&dropped), "{dropped}");
    }
}
