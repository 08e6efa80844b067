//! Calibration: from probabilities to how often fields are correct.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use structgen_decode::confidence::SpanScore;
use structgen_decode::events::JsonKind;

use crate::prompt::read;
use crate::{Error, Result};

/// Probabilities closer to 0 or 1 count as this close.
const MARGIN: f64 = 1e-4;

/// How often a model's fields are correct, given their probabilities: `calibration.json` of a model folder.
///
/// Models are overconfident, especially on kinds of texts that they were not trained on, and more so with some types of
/// values than with others. So each type has its own [`FieldCalibration`]. `structgen-bench extract --calibrate` fits
/// them. Without a calibration, the confidence is the probability under the model with the constraint.
///
/// ```
/// use structgen::{Calibration, FieldCalibration};
///
/// let calibration: Calibration = serde_json::from_str(
///     r#"{
///         "string": {"intercept": -0.5, "allowed": 0.4, "model": 0.1},
///         "number": {"intercept": -0.1, "allowed": 0.3, "model": 0.2},
///         "boolean": {"intercept": 0.0, "allowed": 0.2, "model": 0.1},
///         "null": {"intercept": -0.3, "allowed": 0.2, "model": 0.2},
///         "container": {"intercept": -0.4, "allowed": 0.4, "model": 0.1}
///     }"#,
/// )?;
/// let FieldCalibration { allowed, .. } = calibration.string;
/// assert_eq!(allowed, 0.4);
/// assert!(calibration.number.confidence_of(0.99, 0.9) > calibration.number.confidence_of(0.99, 0.5));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Of strings.
    pub string: FieldCalibration,
    /// Of numbers.
    pub number: FieldCalibration,
    /// Of `true` and `false`.
    pub boolean: FieldCalibration,
    /// Of `null`.
    pub null: FieldCalibration,
    /// Of arrays and objects.
    pub container: FieldCalibration,
}

/// How often fields of a type are correct: a logistic regression (Platt 1999) on which fields were correct in texts with
/// known answers.
///
/// A field whose tokens have the probability *a* under the model with the constraint, and *m* under the model alone, has
/// the confidence
///
/// > 1 / (1 + exp(-(`intercept` + `allowed` · *L*(*a*) + `model` · *L*(*m*)))),
///
/// where *L*(*p*) = ln(*p* / (1 - *p*)) are the log odds, of probabilities from 0.0001 to 0.9999.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldCalibration {
    /// The log odds of a field that is as probable as not.
    pub intercept: f64,
    /// The weight of the log odds under the model with the constraint.
    pub allowed: f64,
    /// The weight of the log odds under the model alone.
    pub model: f64,
}

impl Calibration {
    /// Returns the confidence of a field with a value of this type and this score, from 0 to 1.
    #[must_use]
    pub fn confidence(&self, kind: JsonKind, score: &SpanScore) -> f64 {
        self.of(kind)
            .confidence_of(score.allowed.probability(), score.model.probability())
    }

    /// Returns the calibration of fields with a value of this type.
    #[must_use]
    pub fn of(&self, kind: JsonKind) -> &FieldCalibration {
        match kind {
            JsonKind::String => &self.string,
            JsonKind::Number => &self.number,
            JsonKind::Boolean => &self.boolean,
            JsonKind::Null => &self.null,
            JsonKind::Array | JsonKind::Object => &self.container,
        }
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

impl FieldCalibration {
    /// Returns the confidence of a field with these probabilities, under the model with the constraint and under the
    /// model alone.
    #[must_use]
    pub fn confidence_of(&self, allowed: f64, model: f64) -> f64 {
        let log_odds = self.intercept
            + self.allowed * Self::log_odds(allowed)
            + self.model * Self::log_odds(model);
        1.0 / (1.0 + (-log_odds).exp())
    }

    /// Returns the log odds of a probability, as they count in [`confidence_of`](Self::confidence_of).
    #[must_use]
    pub fn log_odds(probability: f64) -> f64 {
        let p = probability.clamp(MARGIN, 1.0 - MARGIN);
        (p / (1.0 - p)).ln()
    }
}

/// Returns the type of a value.
pub(crate) fn kind_of(value: &Value) -> JsonKind {
    match value {
        Value::Null => JsonKind::Null,
        Value::Bool(_) => JsonKind::Boolean,
        Value::Number(_) => JsonKind::Number,
        Value::String(_) => JsonKind::String,
        Value::Array(_) => JsonKind::Array,
        Value::Object(_) => JsonKind::Object,
    }
}
