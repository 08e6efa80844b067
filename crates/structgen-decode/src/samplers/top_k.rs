use crate::samplers::{Candidates, Sampler};

/// Keeps the `k` candidates with the largest logits: exactly `k`, preferring low ids among equals, unless ties are
/// kept.
///
/// Fan, Lewis and Dauphin 2018. Zero is off, and so is a `k` of at least the number of candidates. transformers keeps
/// all candidates equal to the `k`-th: [`with_ties`](TopK::with_ties).
///
/// ```
/// use structgen_decode::samplers::{Candidates, Sampler, TopK};
/// use structgen_vocab::TokenId;
///
/// let all = Candidates::from_pairs((0..4).map(TokenId).zip([1.0, 2.0, 1.0, 3.0]));
/// let (mut exact, mut ties) = (all.clone(), all);
/// TopK::new(3).apply(&mut exact);
/// TopK::new(3).with_ties().apply(&mut ties);
/// assert_eq!((exact.len(), ties.len()), (3, 4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopK {
    k: usize,
    ties: bool,
}

impl TopK {
    /// Keeps `k` candidates; zero keeps all.
    pub fn new(k: usize) -> Self {
        Self { k, ties: false }
    }

    /// Also keeps all candidates that are as large as the `k`-th.
    #[must_use]
    pub fn with_ties(self) -> Self {
        Self { ties: true, ..self }
    }
}

impl Sampler for TopK {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.k == 0 || self.k >= candidates.len() {
            return;
        }
        if self.ties {
            candidates.keep_from_kth(self.k);
        } else {
            candidates.keep_largest(self.k);
        }
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids};

    fn kept(k: usize, logits: &[f32]) -> Vec<u32> {
        let mut c = candidates(logits);
        TopK::new(k).apply(&mut c);
        ids(&c)
    }

    #[test]
    fn keeps_the_largest_in_order_of_id() {
        assert_eq!(kept(2, &[1.0, 5.0, 3.0, 4.0]), [1, 3]);
    }

    #[test]
    fn ties_keep_exactly_k_with_the_lowest_ids() {
        assert_eq!(kept(2, &[1.0, 1.0, 1.0, 1.0]), [0, 1]);
        assert_eq!(kept(2, &[0.0, 1.0, 2.0, 1.0, 1.0]), [1, 2]);
    }

    #[test]
    fn ties_stay_where_they_are_asked_for() {
        let mut c = candidates(&[0.0, 1.0, 2.0, 1.0, 1.0]);
        TopK::new(2).with_ties().apply(&mut c);
        assert_eq!(ids(&c), [1, 2, 3, 4]);
    }

    #[test]
    fn minus_zero_ties_with_zero() {
        assert_eq!(kept(1, &[-0.0, 0.0]), [0]);
    }

    #[test]
    fn zero_and_a_large_k_change_nothing() {
        assert_eq!(kept(0, &[1.0, 2.0]), [0, 1]);
        assert_eq!(kept(9, &[1.0, 2.0]), [0, 1]);
    }
}
