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
/// values than with others. A model's reader knows better than its decoder how certain a value is, but not of every
/// field. `structgen-bench extract --calibrate` fits the numbers. Without a calibration, the confidence is the
/// probability under the model with the constraint.
///
/// ```
/// use structgen::Calibration;
///
/// let calibration: Calibration = serde_json::from_str(
///     r#"{"unread": {
///         "string": {"intercept": -0.5, "probability": 0.4, "model": 0.1},
///         "number": {"intercept": -0.1, "probability": 0.3, "model": 0.2},
///         "boolean": {"intercept": 0.0, "probability": 0.2, "model": 0.1},
///         "null": {"intercept": -0.3, "probability": 0.2, "model": 0.2},
///         "container": {"intercept": -0.4, "probability": 0.4, "model": 0.1}
///     }}"#,
/// )?;
/// let number = calibration.unread.number;
/// assert!(number.confidence_of(0.99, 0.9) > number.confidence_of(0.99, 0.5));
/// assert_eq!(calibration.read, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Of fields that have a [probability by the reader](crate::Field::read_probability), from that; absent if the
    /// model has no reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<TypeCalibration>,
    /// Of fields that have none, from the probability under the model with the constraint. Fitted to all fields.
    pub unread: TypeCalibration,
}

/// A calibration of the fields of each type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeCalibration {
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

/// How often fields of a type are correct: a logistic regression (Platt 1999) on which fields were correct in texts
/// with known answers.
///
/// A field with the probability *p*, whose tokens have the probability *m* under the model alone, has the confidence
///
/// > 1 / (1 + exp(-(`intercept` + `probability` · *L*(*p*) + `model` · *L*(*m*)))),
///
/// where *L*(*p*) = ln(*p* / (1 - *p*)) are the log odds, of probabilities from 0.0001 to 0.9999.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldCalibration {
    /// The log odds of a field that is as probable as not.
    pub intercept: f64,
    /// The weight of the log odds of the probability.
    pub probability: f64,
    /// The weight of the log odds under the model alone.
    pub model: f64,
}

impl Calibration {
    /// Returns the confidence of a field with a value of this type, this score and this [probability by the
    /// reader](crate::Field::read_probability), from 0 to 1.
    #[must_use]
    pub fn confidence(&self, kind: JsonKind, score: &SpanScore, read: Option<f64>) -> f64 {
        let (types, probability) = match (&self.read, read) {
            (Some(types), Some(read)) => (types, read),
            _ => (&self.unread, score.allowed.probability()),
        };
        types
            .of(kind)
            .confidence_of(probability, score.model.probability())
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

impl TypeCalibration {
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
}

impl FieldCalibration {
    /// Returns the confidence of a field with this probability, and this one under the model alone.
    #[must_use]
    pub fn confidence_of(&self, probability: f64, model: f64) -> f64 {
        let log_odds = self.intercept
            + self.probability * Self::log_odds(probability)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_calibrated_by_itself() {
        let types = |probability| {
            let own = FieldCalibration {
                intercept: 0.0,
                probability,
                model: 0.0,
            };
            TypeCalibration {
                string: own,
                number: own,
                boolean: own,
                null: own,
                container: own,
            }
        };
        // The score of no tokens is that of certainty, whose log odds are those of 0.9999.
        let score = SpanScore::default();
        let certain = 1.0 - MARGIN;
        let confidence = |read, probability| {
            let calibration = Calibration {
                read,
                unread: types(1.0),
            };
            calibration.confidence(JsonKind::String, &score, probability)
        };
        for (read, probability, wanted) in [
            (Some(types(1.0)), Some(0.3), 0.3),
            (Some(types(0.0)), Some(0.3), 0.5),
            (Some(types(0.0)), None, certain),
            (None, Some(0.3), certain),
        ] {
            let found = confidence(read, probability);
            assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        }
    }
}
