//! The options of sequential Monte Carlo, and its estimates.

use serde::{Deserialize, Serialize};

use super::check_ranges;
use super::faithful::{FaithfulError, ForcedEnd};

/// How [`Strategy::Smc`](crate::Strategy::Smc) draws weighted outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmcOptions {
    /// The number of particles, which run together; at most 65,536.
    pub particles: usize,
    /// Resample the particles when their effective number falls below this share of them, from 0 (never) to 1.
    pub threshold: f64,
    /// How to resample them.
    pub resampling: Resampling,
    /// How the end counts if nothing can follow.
    pub forced_end: ForcedEnd,
}

impl Default for SmcOptions {
    /// 16 particles, resampled systematically when their effective number falls below half; their ends count.
    fn default() -> Self {
        Self {
            particles: 16,
            threshold: 0.5,
            resampling: Resampling::Systematic,
            forced_end: ForcedEnd::Counted,
        }
    }
}

/// How to resample particles in proportion to their weights (Douc and Cappé 2005 compare the methods).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resampling {
    /// One random number, and equal steps from there through the weights: a particle with weight 2.3 is copied twice or
    /// three times.
    #[default]
    Systematic,
    /// One random number in each of as many equal parts as there are particles.
    Stratified,
    /// Independent draws.
    Multinomial,
}

/// Estimates from all particles of a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SmcEstimates {
    /// The natural logarithm of an estimate of the model's probability of all complete outputs together. The estimate
    /// itself is unbiased.
    pub log_z: f64,
    /// The effective number of particles after each run of the model: the square of the sum of the weights divided by
    /// the sum of their squares, before resampling.
    pub effective: Vec<f64>,
    /// The number of times that particles were resampled.
    pub resampled: usize,
}

impl SmcOptions {
    /// Checks every field.
    ///
    /// # Errors
    /// [`FaithfulError::OutOfRange`] for the first invalid field.
    pub fn validate(&self) -> Result<(), FaithfulError> {
        Ok(check_ranges("smc", self)?)
    }
}
