//! How far two models agree about the next token.
//!
//! Both read the same text, and after each token of it the distributions of the next one are compared: `p`, the
//! reference's, and `q`, the other's, at temperature one.
//!
//! - A position agrees where both have the same likeliest token, so greedy decoding would take the same.
//! - `KL(p || q) = Σ p ln(p / q)`, in nats; zero where both give the same, infinite where `q` excludes what `p` does not.

use serde::Serialize;

use crate::{Distribution, NoDistribution};

/// The agreement over positions that were added one by one.
///
/// ```
/// use structgen_lab::agreement::Agreement;
///
/// let mut agreement = Agreement::default();
/// agreement.push(&[2.0, 1.0], &[2.0, 1.0])?;
/// agreement.push(&[2.0, 1.0], &[1.0, 2.0])?;
/// assert_eq!(agreement.greedy(), 0.5);
/// // tanh(1/2), where probabilities of a logit apart change places.
/// assert_eq!(format!("{:.3}", agreement.largest_kl), "0.462");
/// # Ok::<(), structgen_lab::NoDistribution>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// The number of positions.
    pub positions: usize,
    /// Of these, where both have the same likeliest token.
    pub same: usize,
    /// The largest divergence.
    pub largest_kl: f64,
    #[serde(skip)]
    sum: f64,
}

impl Agreement {
    /// Adds a position: the logits of the reference and of the other. Where one has more, such as padding after the
    /// vocabulary, the rest is left out.
    ///
    /// # Errors
    /// [`NoDistribution`], where logits are none.
    pub fn push(&mut self, reference: &[f32], other: &[f32]) -> Result<(), NoDistribution> {
        let shared = reference.len().min(other.len());
        let (p, q) = (
            Distribution::from_logits(&reference[..shared])?,
            Distribution::from_logits(&other[..shared])?,
        );
        // Rounding makes equal distributions differ by less than nothing.
        let kl = p.kl(&q).max(0.0);
        self.positions += 1;
        self.same += usize::from(p.top().0 == q.top().0);
        self.sum += kl;
        self.largest_kl = self.largest_kl.max(kl);
        Ok(())
    }

    /// The share of positions with the same likeliest token; one where there are none.
    #[must_use]
    pub fn greedy(&self) -> f64 {
        match self.positions {
            0 => 1.0,
            positions => self.same as f64 / positions as f64,
        }
    }

    /// The mean divergence in nats; zero where there are no positions.
    #[must_use]
    pub fn mean_kl(&self) -> f64 {
        self.sum / self.positions.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_agrees_with_itself() {
        let mut agreement = Agreement::default();
        assert_eq!((agreement.greedy(), agreement.mean_kl()), (1.0, 0.0));
        for at in 0..10 {
            let logits: Vec<f32> = (0..50).map(|id| ((id * 7 + at) % 13) as f32).collect();
            agreement.push(&logits, &logits).unwrap();
        }
        assert_eq!((agreement.greedy(), agreement.mean_kl()), (1.0, 0.0));
        assert_eq!(agreement.positions, 10);
    }

    #[test]
    fn padding_is_left_out_and_exclusion_is_infinite() {
        let mut agreement = Agreement::default();
        agreement.push(&[0.0, 1.0, 99.0], &[0.0, 1.0]).unwrap();
        assert_eq!((agreement.same, agreement.mean_kl()), (1, 0.0));
        agreement
            .push(&[0.0, 1.0], &[f32::NEG_INFINITY, 1.0])
            .unwrap();
        assert_eq!(agreement.mean_kl(), f64::INFINITY);
        assert!(agreement.push(&[], &[]).is_err());
    }
}
