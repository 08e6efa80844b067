//! How far two models agree on the next token.
//!
//! Both read the same text, and after each of its tokens the distributions of the next one are compared: `p`, the
//! reference's, and `q`, the other's, at temperature 1.
//!
//! - The models agree at a position if both have the same most probable token, which greedy decoding takes.
//! - `KL(p || q) = Σ p ln(p / q)`, in nats; zero if both are equal, infinite if `q` excludes something that `p` does
//!   not.

use serde::Serialize;

use crate::{Distribution, NoDistribution};

/// The agreement over positions, which are added one by one.
///
/// ```
/// use structgen_lab::agreement::Agreement;
///
/// let mut agreement = Agreement::default();
/// agreement.push(&[2.0, 1.0], &[2.0, 1.0])?;
/// agreement.push(&[2.0, 1.0], &[1.0, 2.0])?;
/// assert_eq!(agreement.greedy(), 0.5);
/// // tanh(1/2): the probabilities, one logit apart, are swapped.
/// assert_eq!(format!("{:.3}", agreement.largest_kl), "0.462");
/// # Ok::<(), structgen_lab::NoDistribution>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// The number of positions.
    pub positions: usize,
    /// The number of these at which both have the same most probable token.
    pub same: usize,
    /// The largest divergence.
    pub largest_kl: f64,
    #[serde(skip)]
    sum: f64,
}

impl Agreement {
    /// Adds a position: the logits of the reference and of the other model. If one has more logits, such as padding
    /// after the vocabulary, the rest is ignored.
    ///
    /// # Errors
    /// [`NoDistribution`] if logits are not a distribution.
    pub fn push(&mut self, reference: &[f32], other: &[f32]) -> Result<(), NoDistribution> {
        let shared = reference.len().min(other.len());
        let (p, q) = (
            Distribution::from_logits(&reference[..shared])?,
            Distribution::from_logits(&other[..shared])?,
        );
        // Rounding can make the divergence of equal distributions negative.
        let kl = p.kl(&q).max(0.0);
        self.positions += 1;
        self.same += usize::from(p.top().0 == q.top().0);
        self.sum += kl;
        self.largest_kl = self.largest_kl.max(kl);
        Ok(())
    }

    /// Returns the share of positions with the same most probable token; one if there are no positions.
    #[must_use]
    pub fn greedy(&self) -> f64 {
        match self.positions {
            0 => 1.0,
            positions => self.same as f64 / positions as f64,
        }
    }

    /// Returns the mean divergence in nats; zero if there are no positions.
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
