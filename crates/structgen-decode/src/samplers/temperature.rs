use crate::samplers::{Candidates, Sampler, Temperature};

impl Sampler for Temperature {
    fn apply(&mut self, candidates: &mut Candidates) {
        candidates.divide_by(*self);
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
