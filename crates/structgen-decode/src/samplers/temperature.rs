use crate::samplers::{Candidates, Sampler};

/// Divides every logit by a positive temperature.
///
/// Temperature 0 is not a division: [`SamplingParams`](crate::SamplingParams) turns it into an arg-max, which takes the
/// lowest id among equals. The order of the logits is kept, except that quotients may become equal.
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, Temperature};
/// use structgen_vocab::TokenId;
///
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 1.0), (TokenId(2), -4.0)]);
/// Temperature::new(2.0).apply(&mut candidates);
/// assert_eq!(candidates.logits(), [0.5, -2.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature(f32);

impl Temperature {
    /// Sets a temperature above zero; anything else, including NaN, counts as one.
    pub fn new(temperature: f32) -> Self {
        let valid = temperature.is_finite() && temperature > 0.0;
        Self(if valid { temperature } else { 1.0 })
    }

    /// Returns what to subtract from every logit first; `max` returns the largest one.
    pub(crate) fn shift(self, max: impl FnOnce() -> f32) -> f32 {
        if self.0 == 1.0 {
            return 0.0;
        }
        let max = max();
        // A tiny temperature takes the quotient out of f32's range, where differences are lost. A softmax is invariant
        // under a common shift, so the largest logit is then shifted to zero first.
        if (max / self.0).is_finite() || !max.is_finite() {
            0.0
        } else {
            max
        }
    }

    pub(crate) fn is_one(self) -> bool {
        self.0 == 1.0
    }

    /// Divides a logit. This never reverses the order of two, but may make them equal.
    pub(crate) fn divide(self, logit: f32, shift: f32) -> f32 {
        (logit - shift) / self.0
    }
}

impl Sampler for Temperature {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.0 == 1.0 {
            return;
        }
        let shift = self.shift(|| crate::numeric::max(candidates.logits()));
        for logit in candidates.logits_mut() {
            *logit = self.divide(*logit, shift);
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;

    fn apply(t: f32, logits: &[f32]) -> Vec<f32> {
        let mut c = candidates(logits);
        Temperature::new(t).apply(&mut c);
        c.logits().to_vec()
    }

    #[test]
    fn divides() {
        assert_eq!(apply(2.0, &[1.0, -4.0]), [0.5, -2.0]);
        assert_eq!(apply(1.0, &[1.0, -4.0]), [1.0, -4.0]);
    }

    #[test]
    fn a_tiny_temperature_keeps_the_largest_logit_apart() {
        let scaled = apply(1e-38, &[10.0, 11.0, 11.0]);
        assert_eq!(scaled[1], scaled[2]);
        assert!(scaled[1] > scaled[0]);
        assert!(scaled.iter().all(|l| !l.is_nan()));
    }

    #[test]
    fn negative_logits_and_a_tiny_temperature_do_not_vanish_together() {
        let scaled = apply(1e-38, &[-10.0, -11.0]);
        assert_eq!(scaled[0], 0.0);
        assert!(scaled[1] < 0.0);
    }
}
