//! The division of logits by a temperature.

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
