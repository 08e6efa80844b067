use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::SequenceStart;
use crate::{
    numeric,
    samplers::{Accepted, Candidates, Sampler},
};

/// When the end becomes more likely, and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthDecayParams {
    /// The number of output tokens after which the decay starts.
    pub start: usize,
    /// The factor per further token; above 1 it shortens outputs, below 1 it lengthens them.
    pub factor: f32,
}

/// Adds `|l| * (f^(t - start) - 1)` to the logit `l` of every end-of-sequence token after `t > start` tokens of output.
///
/// The exponential decay length penalty of transformers. With `f > 1` the end becomes ever more likely, and with `f <
/// 1` less so. A power beyond the range of `f32` is clamped to its largest number. Only tokens that the constraint
/// allows are changed.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, LengthDecay, Sampler, SequenceStart};
/// use structgen_vocab::TokenId;
///
/// let mut decay = LengthDecay::new(1, 2.0);
/// decay.reset(SequenceStart { prompt: &[], prefilled: 0, eos: &[TokenId(9)] });
/// decay.accept(Accepted::certain(TokenId(1)));
/// decay.accept(Accepted::certain(TokenId(1)));
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(9), -3.0)]);
/// decay.apply(&mut candidates);
/// assert_eq!(candidates.logits(), [1.0, 0.0]);
/// ```
#[derive(Debug, Clone)]
pub struct LengthDecay {
    start: usize,
    factor: f32,
    tokens: usize,
    eos: Vec<(TokenId, ())>,
}

impl LengthDecay {
    /// Multiplies by `factor`, above zero, for each token after the first `start` ones.
    pub fn new(start: usize, factor: f32) -> Self {
        Self {
            start,
            factor,
            tokens: 0,
            eos: Vec::new(),
        }
    }
}

impl Sampler for LengthDecay {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.tokens <= self.start {
            return;
        }
        let power = numeric::power(self.factor.into(), self.tokens - self.start);
        let grown = (power - 1.0).min(f64::from(f32::MAX));
        candidates.change_logits_of(&self.eos, |logit, ()| {
            let changed = f64::from(logit) + f64::from(logit).abs() * grown;
            changed.min(f64::from(f32::MAX)) as f32
        });
    }

    fn accept(&mut self, _: Accepted) {
        self.tokens += 1;
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.tokens = 0;
        self.eos.clear();
        self.eos.extend(start.eos.iter().map(|&id| (id, ())));
        self.eos.sort_unstable();
        self.eos.dedup();
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        tokens.extend(self.eos.iter().map(|&(id, ())| id));
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, token};

    fn changed(factor: f32, tokens: usize, logit: f32) -> f32 {
        let mut sampler = LengthDecay::new(2, factor);
        sampler.reset(SequenceStart {
            prompt: &[token(0); 50],
            prefilled: 0,
            eos: &[token(1)],
        });
        (0..tokens).for_each(|_| sampler.accept(Accepted::certain(token(0))));
        let mut c = candidates(&[0.5, logit]);
        sampler.apply(&mut c);
        assert_eq!(c.logits()[0], 0.5);
        c.logits()[1]
    }

    #[test]
    fn grows_behind_the_start_and_not_with_the_prompt() {
        assert_eq!(changed(1.5, 2, -2.0), -2.0);
        assert_eq!(changed(1.5, 3, -2.0), -1.0);
        assert_eq!(changed(1.5, 4, 2.0), 4.5);
        assert_eq!(changed(0.5, 4, 2.0), 0.5);
    }

    #[test]
    fn stays_finite_however_long_the_output() {
        assert_eq!(changed(1.5, 100_000, 2.0), f32::MAX);
        assert_eq!(changed(1.5, 100_000, 0.0), 0.0);
        assert_eq!(changed(0.5, 100_000, 2.0), 0.0);
    }
}
