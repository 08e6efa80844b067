//! The probabilities of choices.

use crate::FinishReason;

/// The probability of a choice.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ChoiceProbability {
    /// The natural logarithm of the probability, as far as it was summed; `-inf` for 0.
    pub log_probability: f64,
    /// An upper bound of what was left out of the probability: 0 if all tokenizations are counted.
    pub left_out: f64,
    /// The probability divided by the sum over all distinct choices; 0 if that is 0.
    pub share: f64,
}

impl ChoiceProbability {
    /// Returns the probability, as far as it was summed; the true one is between this and this plus `left_out`.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.log_probability.exp()
    }
}

/// Why probabilities cannot be computed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// There are no choices.
    #[error("there is no choice to choose from")]
    NoChoices,
    /// The model's logits are not a distribution: none of them is a number above minus infinity.
    #[error("after {tokens} tokens the model gives no token any probability")]
    NoDistribution {
        /// The number of tokens before, including those of the prompt.
        tokens: usize,
    },
    /// The request was ended before all probabilities were known.
    #[error("the choices were not all looked at ({reason})")]
    Stopped {
        /// What ended it.
        reason: FinishReason,
    },
}

structgen_sentence::debug_as_sentence!(ChoiceError);
