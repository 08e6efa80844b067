//! The random number generator of a sequence.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The random number generator of one sequence, seeded once. It yields the same numbers on every platform.
///
/// ChaCha with eight rounds (Bernstein 2008). Sequences drawn from one prompt share the seed but not the stream, so
/// that a sequence draws the same numbers however many run concurrently.
///
/// ```
/// use structgen_decode::samplers::SequenceRng;
///
/// let mut first = SequenceRng::new(7, 0);
/// let mut again = first.clone();
/// assert_eq!(first.uniform(), again.uniform());
/// assert_ne!(SequenceRng::new(7, 1).uniform(), SequenceRng::new(7, 0).uniform());
/// ```
#[derive(Debug, Clone)]
pub struct SequenceRng(ChaCha8Rng);

impl SequenceRng {
    /// Creates the generator of sequence number `sequence` of a run seeded with `seed`.
    pub fn new(seed: u64, sequence: u64) -> Self {
        Self::keyed(seed, 0, sequence)
    }

    /// Creates the generator of decisions that are not draws, such as those of [`Xtc`](crate::samplers::Xtc):
    /// independent of that of [`new`](SequenceRng::new).
    pub fn coins(seed: u64, sequence: u64) -> Self {
        Self::keyed(seed, 1, sequence)
    }

    /// Creates the generator for drawing drafts, independent of that for accepting them.
    pub(crate) fn drafts(seed: u64, sequence: u64) -> Self {
        Self::keyed(seed, 2, sequence)
    }

    /// Creates the generator for resampling particles, independent of those for drawing their tokens.
    pub(crate) fn resampling(seed: u64) -> Self {
        Self::keyed(seed, 3, 0)
    }

    fn keyed(seed: u64, purpose: u8, sequence: u64) -> Self {
        // The key is written out here: `seed_from_u64` expands a short seed in a way that may change between library
        // versions.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8] = purpose;
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(sequence);
        Self(rng)
    }

    /// Returns the next number, uniform over the multiples of 2^-53 in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_recorded_ones() {
        let mut rng = SequenceRng::new(42, 3);
        let bits: Vec<u64> = (0..3).map(|_| rng.uniform().to_bits()).collect();
        expect_test::expect![[r#"
            [
                4601899914926068118,
                4604227717779925313,
                4606027894478411854,
            ]
        "#]]
        .assert_debug_eq(&bits);
    }

    #[test]
    fn numbers_lie_in_the_unit_interval_with_the_right_mean() {
        let mut rng = SequenceRng::new(1, 0);
        let numbers: Vec<f64> = (0..20_000).map(|_| rng.uniform()).collect();
        assert!(numbers.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
