//! Calibration: from probabilities to how often fields are correct.

use std::path::Path;

use serde::{Deserialize, Serialize};
use structgen_decode::confidence::SpanScore;

use crate::prompt::read;
use crate::{Error, Result};

/// Log probabilities below this count as equal.
const LEAST: f64 = -50.0;

/// How often a model's fields are correct, given their probabilities: `calibration.json` of a model folder.
///
/// Models are overconfident, especially on kinds of texts that they were not trained on. A field whose tokens have the
/// log probabilities *a* under the model with the constraint, and *m* under the model alone, has the confidence
///
/// > 1 / (1 + exp(-(`intercept` + `allowed` · *a* + `model` · *m*))),
///
/// a logistic regression (Platt 1999) on which fields were correct in texts with known answers. `structgen-bench
/// extract --calibrate` fits it. Without a calibration, the confidence is the probability under the model with the
/// constraint.
///
/// ```
/// let calibration: structgen::Calibration =
///     serde_json::from_str(r#"{"intercept": 2.2, "allowed": 1.5, "model": 0.5}"#)?;
/// assert!((calibration.confidence_of(0.0, 0.0) - 0.9).abs() < 0.01);
/// assert!(calibration.confidence_of(-1.0, -2.0) < 0.5);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The log odds of a field whose tokens were all certain.
    pub intercept: f64,
    /// The weight of the log probability under the model with the constraint.
    pub allowed: f64,
    /// The weight of the log probability under the model alone.
    pub model: f64,
}

impl Calibration {
    /// Returns the confidence of a field with this score, from 0 to 1.
    #[must_use]
    pub fn confidence(&self, score: &SpanScore) -> f64 {
        self.confidence_of(score.allowed.log_prob, score.model.log_prob)
    }

    /// Returns the confidence of a field from the natural log probabilities of its tokens, under the model with the
    /// constraint and under the model alone.
    #[must_use]
    pub fn confidence_of(&self, allowed: f64, model: f64) -> f64 {
        let log_odds =
            self.intercept + self.allowed * allowed.max(LEAST) + self.model * model.max(LEAST);
        1.0 / (1.0 + (-log_odds).exp())
    }

    /// Parses a calibration from JSON.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(Error::Calibration)
    }

    /// Reads the calibration of a model folder, if it has one.
    pub(crate) fn of_folder(folder: &Path) -> Result<Option<Self>> {
        let text = read(&folder.join("calibration.json"))?;
        text.map(|text| Self::from_json(&text)).transpose()
    }
}
