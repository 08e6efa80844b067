use crate::{Candidates, Sampler};

/// Keeps exactly the `k` candidates with the largest logits; of equal ones, those with the lowest ids.
///
/// Fan, Lewis and Dauphin 2018. Zero is off, and so is a `k` that reaches the number of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopK(usize);

impl TopK {
    /// Keeps `k` candidates; zero keeps all.
    pub fn new(k: usize) -> Self {
        Self(k)
    }
}

impl Sampler for TopK {
    fn apply(&mut self, candidates: &mut Candidates) {
        if self.0 == 0 || self.0 >= candidates.len() {
            return;
        }
        candidates.keep_largest(self.0);
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
    fn minus_zero_ties_with_zero() {
        assert_eq!(kept(1, &[-0.0, 0.0]), [0]);
    }

    #[test]
    fn zero_and_a_large_k_change_nothing() {
        assert_eq!(kept(0, &[1.0, 2.0]), [0, 1]);
        assert_eq!(kept(9, &[1.0, 2.0]), [0, 1]);
    }
}
