//! The effect of a temperature on a distribution, and which temperature suits a task.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::{Distribution, NoDistribution};

/// The temperatures in a table.
pub const TEMPERATURES: [f64; 7] = [0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0];

/// The probability from which a token belongs to the effective vocabulary.
pub const EFFECTIVE: f64 = 0.01;

/// The smallest and the largest temperature to recommend.
const SEARCHED: (f64, f64) = (0.01, 10.0);

/// A distribution at a temperature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TemperatureRow {
    /// The temperature, which divides the logits.
    pub temperature: f64,
    /// The entropy in nats.
    pub entropy: f64,
    /// The entropy in bits.
    pub entropy_bits: f64,
    /// The largest probability.
    pub top: f64,
    /// The number of tokens with a probability above 0.01.
    pub effective: usize,
    /// The probabilities, largest first.
    pub probabilities: Vec<f64>,
}

/// Returns a row for each temperature.
///
/// ```
/// use structgen_lab::temperature::temperatures;
///
/// let rows = temperatures(&[2.0, 1.0, 0.5, -1.0], &[1.0])?;
/// assert_eq!(format!("{:.3}", rows[0].top), "0.609");
/// # Ok::<(), structgen_lab::NoDistribution>(())
/// ```
///
/// # Errors
/// [`NoDistribution`] if the logits or a temperature are invalid.
pub fn temperatures(
    logits: &[f32],
    temperatures: &[f64],
) -> Result<Vec<TemperatureRow>, NoDistribution> {
    let row = |&temperature: &f64| {
        let found = Distribution::at_temperature(logits, temperature)?;
        Ok(TemperatureRow {
            temperature,
            entropy: found.entropy(),
            entropy_bits: found.entropy_bits(),
            top: found.top().1,
            effective: found.effective(EFFECTIVE),
            probabilities: found.sorted(),
        })
    };
    temperatures.iter().map(row).collect()
}

/// The purpose of a text, for choosing a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TemperatureTask {
    /// One right answer.
    Factual,
    /// A compromise between the others.
    Balanced,
    /// Variety.
    Creative,
}

impl TemperatureTask {
    /// All tasks.
    pub const ALL: [Self; 3] = [Self::Factual, Self::Balanced, Self::Creative];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Factual => "factual",
            Self::Balanced => "balanced",
            Self::Creative => "creative",
        }
    }

    /// Returns the range of entropies, in nats, that suits the task: equivalent to 1.1 to 1.6, 2 to 4, and 4.5 to 10
    /// equally probable tokens.
    pub fn band(self) -> (f64, f64) {
        match self {
            Self::Factual => (0.1, 0.5),
            Self::Balanced => (0.7, 1.4),
            Self::Creative => (1.5, 2.3),
        }
    }
}

impl fmt::Display for TemperatureTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a task's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the tasks factual, balanced and creative")]
pub struct UnknownTemperatureTask(pub String);

impl FromStr for TemperatureTask {
    type Err = UnknownTemperatureTask;

    fn from_str(name: &str) -> Result<Self, UnknownTemperatureTask> {
        let found = Self::ALL.into_iter().find(|task| task.name() == name);
        found.ok_or_else(|| UnknownTemperatureTask(name.to_owned()))
    }
}

/// A recommended temperature for a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Recommendation {
    /// The task.
    pub task: TemperatureTask,
    /// The smallest and the largest suitable entropy, in nats.
    pub band: (f64, f64),
    /// The temperature whose entropy is closest to the middle of the range.
    pub temperature: f64,
    /// The entropy at this temperature, in nats.
    pub entropy: f64,
    /// Whether the entropy is within the range.
    pub is_in_band: bool,
}

/// Finds the temperature, from 0.01 to 10, whose entropy is closest to the middle of the task's range. Entropy grows
/// with the temperature, so bisection works.
///
/// # Errors
/// [`NoDistribution`] if the logits are invalid.
pub fn recommend(logits: &[f32], task: TemperatureTask) -> Result<Recommendation, NoDistribution> {
    let band = task.band();
    let wanted = (band.0 + band.1) / 2.0;
    let entropy = |temperature| -> Result<f64, NoDistribution> {
        Ok(Distribution::at_temperature(logits, temperature)?.entropy())
    };
    let (mut low, mut high) = SEARCHED;
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if entropy(middle)? < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    let found = entropy(high)?;
    Ok(Recommendation {
        task,
        band,
        temperature: high,
        entropy: found,
        is_in_band: (band.0..=band.1).contains(&found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 12] = [5.0, 4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -1.0, -2.0];

    #[test]
    fn entropy_top_and_effective_vocabulary_are_as_published() {
        let rows = temperatures(&LOGITS, &[1.0, 0.3, 2.0]).unwrap();
        let expected = [(1.492, 0.519, 7), (0.200, 0.958, 2), (2.109, 0.283, 11)];
        for (row, (entropy, top, effective)) in rows.iter().zip(expected) {
            assert!((row.entropy - entropy).abs() < 5e-4, "{row:?}");
            assert!((row.top - top).abs() < 5e-4, "{row:?}");
            assert_eq!(row.effective, effective);
        }
    }

    #[test]
    fn probabilities_of_a_step_are_as_published() {
        let rows = temperatures(&[2.0, 1.0, 0.5, -1.0], &[0.5, 1.0, 2.0]).unwrap();
        let expected = [
            [0.842, 0.114, 0.042, 0.002],
            [0.609, 0.224, 0.136, 0.030],
            [0.434, 0.263, 0.205, 0.097],
        ];
        for (row, expected) in rows.iter().zip(expected) {
            for (found, expected) in row.probabilities.iter().zip(expected) {
                assert!((found - expected).abs() < 6e-4, "{found} {expected}");
            }
        }
    }

    #[test]
    fn what_is_recommended_lies_within_the_band_and_grows_with_the_task() {
        let found = TemperatureTask::ALL.map(|task| recommend(&LOGITS, task).unwrap());
        assert!(found.iter().all(|found| found.is_in_band), "{found:?}");
        assert!(found[0].temperature < found[1].temperature);
        assert!(found[1].temperature < found[2].temperature);
        for recommendation in found {
            let row = temperatures(&LOGITS, &[recommendation.temperature]).unwrap();
            assert!((row[0].entropy - recommendation.entropy).abs() < 1e-9);
        }
    }

    #[test]
    fn where_no_temperature_has_the_entropy_the_nearest_is_returned() {
        let flat = recommend(&[1.0; 50], TemperatureTask::Factual).unwrap();
        assert!(!flat.is_in_band && flat.temperature < 0.02);
        let two = recommend(&[1.0, 0.0], TemperatureTask::Creative).unwrap();
        assert!(!two.is_in_band && (two.temperature - 10.0).abs() < 1e-9);
    }
}
