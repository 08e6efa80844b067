//! How probable an existing text is under a model.

use serde::Serialize;
use structgen_vocab::TokenId;

/// A model's score of a text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Score {
    /// The natural log probability of each token.
    pub log_probs: Vec<f64>,
}

impl Score {
    /// Returns the log probability of the whole text: the sum over its tokens.
    pub fn log_prob(&self) -> f64 {
        // An empty sum is minus zero.
        self.log_probs.iter().sum::<f64>() + 0.0
    }

    /// Returns the mean surprise per token in nats: `−Σ ln p / n`. Zero if there are no tokens.
    pub fn surprise(&self) -> f64 {
        match self.log_probs.len() {
            0 => 0.0,
            n => -self.log_prob() / n as f64,
        }
    }

    /// Returns the perplexity: `exp` of the mean surprise, equivalent to choosing among that many equally probable
    /// tokens at each step.
    pub fn perplexity(&self) -> f64 {
        self.surprise().exp()
    }

    /// Adds a token that follows these logits.
    pub fn push(&mut self, logits: &[f32], token: TokenId) {
        self.log_probs.push(log_prob(logits, token));
    }
}

/// Returns the log probability of a token: its logit minus the logarithm of the sum of all exponentials. Minus infinity
/// if the token has no logit.
///
/// ```
/// use structgen_lab::heldout::log_prob;
/// use structgen_vocab::TokenId;
///
/// assert!((log_prob(&[1.0, 1.0], TokenId(0)) - 0.5_f64.ln()).abs() < 1e-12);
/// ```
pub fn log_prob(logits: &[f32], token: TokenId) -> f64 {
    let Some(&logit) = logits.get(token.index()) else {
        return f64::NEG_INFINITY;
    };
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let above = |logit: f32| f64::from(logit) - f64::from(largest);
    let total: f64 = logits.iter().map(|&logit| above(logit).exp()).sum();
    above(logit) - total.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_model_has_the_perplexity_of_its_vocabulary() {
        let mut score = Score::default();
        for id in 0..5 {
            score.push(&[0.5; 8], TokenId(id));
        }
        assert!((score.perplexity() - 8.0).abs() < 1e-9);
        assert!((score.log_prob() + 5.0 * 8.0_f64.ln()).abs() < 1e-9);
        assert_eq!(Score::default().perplexity(), 1.0);
        assert_eq!(log_prob(&[0.0], TokenId(7)), f64::NEG_INFINITY);
    }
}
