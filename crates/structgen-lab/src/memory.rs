//! How much of a device's memory a model needs.
//!
//! Gigabytes are 10^9 bytes, as parameters are counted in 10^9.
//!
//! There are two methods. [`Estimate`] needs only the number of parameters: it uses the published shape of that size
//! and assumes a key and a value of full width per layer. [`CacheShape`] is exact for a model with a known
//! configuration; if queries share keys and values (grouped-query attention), the cache is several times smaller than
//! the estimate.

use serde::Serialize;

/// Bytes in a gigabyte.
pub const GIGABYTE: f64 = 1e9;

/// The estimated size of activations and buffers, as a share of the weights.
const ACTIVATIONS: f64 = 0.1;

/// Bytes per key or value in the estimate: half precision.
const CACHE_VALUE_BYTES: f64 = 2.0;

/// Up to this factor of the available memory, a shorter context or fewer bits are worth trying.
const SLIGHTLY_OVER: f64 = 1.2;

/// A decoder's number of layers and the width of its hidden states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// The parameters of the published model of this shape, in 10^9.
    pub billions: u32,
    /// The number of layers.
    pub layers: usize,
    /// The width of the hidden states.
    pub width: usize,
}

/// The shapes that an [`Estimate`] chooses from: those of the Llama family.
pub const SHAPES: [Shape; 3] = [
    Shape {
        billions: 7,
        layers: 32,
        width: 4096,
    },
    Shape {
        billions: 13,
        layers: 40,
        width: 5120,
    },
    Shape {
        billions: 70,
        layers: 80,
        width: 8192,
    },
];

/// Returns the published shape whose number of parameters is closest; of two, the smaller.
#[must_use]
pub fn nearest_shape(billions: f64) -> Shape {
    let distance = |shape: &Shape| (f64::from(shape.billions) - billions).abs();
    SHAPES
        .into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(SHAPES[0])
}

/// What to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Workload {
    /// The number of parameters, in 10^9.
    pub billions: f64,
    /// Bits per weight.
    pub bits: f64,
    /// Positions per sequence.
    pub context: usize,
    /// Sequences in a batch.
    pub batch: usize,
}

/// The estimated memory of a model with a known number of parameters, in gigabytes.
///
/// - weights = parameters · bits / 8
/// - cache = 2 · layers · width · context · batch · 2 bytes, of the [nearest shape](nearest_shape)
/// - activations = 10% of the weights
///
/// ```
/// use structgen_lab::memory::{Estimate, Workload};
///
/// let estimate = Estimate::new(Workload { billions: 7.0, bits: 4.0, context: 4096, batch: 1 });
/// assert_eq!(format!("{:.2}", estimate.total()), "6.00");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The shape that the cache is computed for.
    pub shape: Shape,
    /// Gigabytes of weights.
    pub weights: f64,
    /// Gigabytes of keys and values.
    pub cache: f64,
    /// Gigabytes of activations.
    pub activations: f64,
}

impl Estimate {
    /// Estimates a workload.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        let shape = nearest_shape(workload.billions);
        let weights = workload.billions * workload.bits / 8.0;
        let positions = workload.context as f64 * workload.batch as f64;
        let values = 2.0 * shape.layers as f64 * shape.width as f64 * positions;
        Self {
            shape,
            weights,
            cache: values * CACHE_VALUE_BYTES / GIGABYTE,
            activations: weights * ACTIVATIONS,
        }
    }

    /// Returns weights, cache and activations together, in gigabytes.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.weights + self.cache + self.activations
    }
}

/// The shape of a model's KV cache, from its configuration.
///
/// Bytes = 2 · layers · KV heads · head size · context · batch · bytes per value.
///
/// ```
/// use structgen_lab::memory::CacheShape;
///
/// // Llama 3.1 8B: eight heads of keys and values for 32 of queries.
/// let shape = CacheShape { layers: 32, kv_heads: 8, head_size: 128, value_bytes: 2 };
/// assert_eq!(shape.bytes(4096, 1), 536_870_912);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CacheShape {
    /// The number of layers that cache keys and values.
    pub layers: usize,
    /// Heads of keys, and of values, per layer.
    pub kv_heads: usize,
    /// Numbers per head and key.
    pub head_size: usize,
    /// Bytes per number: four for `f32`, two for `f16`, one for `int8`.
    pub value_bytes: usize,
}

impl CacheShape {
    /// Returns the bytes per token of a sequence.
    #[must_use]
    pub fn bytes_per_token(&self) -> u64 {
        let Self {
            layers,
            kv_heads,
            head_size,
            value_bytes,
        } = *self;
        { [layers, kv_heads, head_size, value_bytes].into_iter() }
            .fold(2, |product: u64, factor| {
                product.saturating_mul(factor as u64)
            })
    }

    /// Returns the bytes of `batch` sequences of `context` tokens.
    #[must_use]
    pub fn bytes(&self, context: usize, batch: usize) -> u64 {
        let tokens = (context as u64).saturating_mul(batch as u64);
        self.bytes_per_token().saturating_mul(tokens)
    }
}

/// Whether something fits into memory, and what to change if it does not. Both numbers are in the same unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It fits.
    Fits,
    /// It exceeds the memory by less than 20%: a shorter context, a smaller batch or fewer bits may be enough.
    SlightlyOver,
    /// It exceeds the memory by more: a smaller model is needed.
    FarOver,
}

impl Fit {
    /// Compares the needed with the available memory.
    #[must_use]
    pub fn of(needed: f64, available: f64) -> Self {
        if needed <= available {
            Self::Fits
        } else if needed < available * SLIGHTLY_OVER {
            Self::SlightlyOver
        } else {
            Self::FarOver
        }
    }

    /// Returns what to change, in a sentence.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Fits => "it fits",
            Self::SlightlyOver => {
                "it is less than 20% over: shorten the context, or store the weights in fewer bits"
            }
            Self::FarOver => "it is 20% over or more: choose a smaller model",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(billions: f64, context: usize) -> Estimate {
        Estimate::new(Workload {
            billions,
            bits: 4.0,
            context,
            batch: 1,
        })
    }

    fn assert_close(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() <= tolerance,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn seven_billions_at_four_bits_take_six_gigabytes() {
        let found = estimate(7.0, 4096);
        assert_close(found.weights, 3.50, 0.005);
        assert_close(found.cache, 2.15, 0.005);
        assert_close(found.activations, 0.35, 0.005);
        assert_close(found.total(), 6.00, 0.005);
        assert_close(24.0 - found.total(), 18.0, 0.05);
    }

    #[test]
    fn thirteen_billions_leave_headroom_and_seventy_do_not() {
        let thirteen = estimate(13.0, 2048).total();
        assert_close(thirteen, 8.83, 0.005);
        assert_close(24.0 - thirteen, 15.2, 0.05);
        assert_eq!(Fit::of(thirteen, 24.0), Fit::Fits);
        let seventy = estimate(70.0, 4096).total();
        assert_close(seventy, 49.24, 0.005);
        assert_close(seventy - 24.0, 25.2, 0.05);
        assert_eq!(Fit::of(seventy, 24.0), Fit::FarOver);
    }

    #[test]
    fn twice_the_context_adds_the_cache_once_more() {
        let added = estimate(70.0, 8192).total() - estimate(70.0, 4096).total();
        assert_close(added, 10.74, 0.005);
    }

    #[test]
    fn the_nearest_shape_is_taken() {
        assert_eq!(nearest_shape(0.5).billions, 7);
        assert_eq!(nearest_shape(8.0).billions, 7);
        assert_eq!(nearest_shape(34.0).billions, 13);
        assert_eq!(nearest_shape(405.0).billions, 70);
    }

    #[test]
    fn the_verdict_changes_at_what_there_is_and_at_a_fifth_more() {
        assert_eq!(Fit::of(10.0, 10.0), Fit::Fits);
        assert_eq!(Fit::of(11.99, 10.0), Fit::SlightlyOver);
        assert_eq!(Fit::of(12.0, 10.0), Fit::FarOver);
    }

    #[test]
    fn grouped_queries_make_the_cache_smaller() {
        let full = CacheShape {
            layers: 32,
            kv_heads: 32,
            head_size: 128,
            value_bytes: 2,
        };
        let grouped = CacheShape {
            kv_heads: 8,
            ..full
        };
        assert_eq!(full.bytes(4096, 1), grouped.bytes(4096, 4));
        assert_close(
            full.bytes(4096, 1) as f64 / GIGABYTE,
            estimate(7.0, 4096).cache,
            1e-9,
        );
        assert_eq!(full.bytes(usize::MAX, usize::MAX), u64::MAX);
    }
}
