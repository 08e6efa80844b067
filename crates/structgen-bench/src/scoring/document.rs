//! A text with the correct document, and the score of an answer.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use structgen::decode::events::JsonKind;

use super::cause::Cause;
use super::equality::equal;
use super::fields::fields;
use super::soft::soft_score;
use super::source::Source;

/// A text, its schema, and the correct answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The text.
    pub text: String,
    /// The JSON Schema.
    pub schema: Value,
    /// The correct document.
    pub expected: Value,
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// The kind of text, such as `receipt`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its language.
    #[serde(default)]
    pub language: Option<String>,
    /// Its domain.
    #[serde(default)]
    pub domain: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", content = "message", rename_all = "snake_case")]
pub enum Failure {
    /// The text exceeds the model's context, or the document the remaining tokens.
    DoesNotFit(String),
    /// The output is not JSON. The message is the output.
    NotJson(String),
    /// Anything else, such as a schema that is not supported.
    Other(String),
}

/// An answer, compared with the correct one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Document {
    /// The sample's id.
    pub id: String,
    /// The sample's kind of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The sample's language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The sample's domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the answer is completely correct: it equals the expected document.
    pub is_exact: bool,
    /// The [soft score](soft_score); 0 without an answer.
    pub soft: f64,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Its fields.
    pub fields: Vec<ScoredField>,
}

/// A field, and the cause if it is wrong.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ScoredField {
    /// The JSON Pointer of its value.
    pub pointer: String,
    /// Its type: see [`Field::kind`](super::Field::kind).
    #[serde(rename = "type")]
    pub kind: String,
    /// The expected value; `None` for an absent property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The answer's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// Why it is wrong; `None` for a correct one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// How probable its value was, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Probability>,
}

/// How probable a value was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Probability {
    /// The type of the value.
    pub kind: JsonKind,
    /// By the reader, if it was read.
    pub read: Option<f64>,
    /// Under the model alone.
    pub model: f64,
    /// Under the model with the constraint.
    pub allowed: f64,
    /// How often such fields are correct, by the model's calibration.
    pub calibrated: f64,
}

impl Sample {
    /// Compares an answer with the correct one. `confidence` returns how probable the value at a JSON Pointer was.
    #[must_use]
    pub fn score(
        &self,
        answer: &Result<Value, Failure>,
        confidence: impl Fn(&str) -> Option<Probability>,
    ) -> Document {
        let value = answer.as_ref().ok();
        let source = Source::new(&self.text);
        let found = fields(&self.schema, &self.expected, value);
        let failure = answer.as_ref().err();
        let scored = found.iter().map(|field| ScoredField {
            cause: match failure {
                Some(failure) => Some(failure.cause()),
                None => Cause::of(field, &found, &source),
            },
            confidence: field.actual.and_then(|_| confidence(&field.pointer)),
            pointer: field.pointer.clone(),
            kind: field.kind.clone(),
            expected: field.expected.cloned(),
            actual: field.actual.cloned(),
        });
        Document {
            id: self.id.clone(),
            kind: self.kind.clone(),
            language: self.language.clone(),
            domain: self.domain.clone(),
            is_exact: value.is_some_and(|value| equal(&self.expected, value)),
            soft: value.map_or(0.0, |value| soft_score(&self.expected, value)),
            failure: failure.cloned(),
            fields: scored.collect(),
        }
    }
}

impl ScoredField {
    /// Returns whether the answer is correct.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.cause.is_none()
    }
}

impl Failure {
    fn cause(&self) -> Cause {
        match self {
            Self::DoesNotFit(_) => Cause::DoesNotFit,
            Self::NotJson(_) => Cause::NotJson,
            Self::Other(_) => Cause::NoAnswer,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::DoesNotFit(message) | Self::NotJson(message) | Self::Other(message)) = self;
        write!(f, "{}: {message}", self.cause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Sample {
        serde_json::from_value(json!({
            "text": "Ada Lovelace was 36.",
            "schema": {"type": "object", "properties": {
                "name": {"type": "string"}, "age": {"type": "integer"}, "nick": {"type": "string"}}},
            "expected": {"name": "Ada Lovelace", "age": 36},
        }))
        .unwrap()
    }

    #[test]
    fn an_answer_is_exact_if_all_of_it_is_right() {
        let sample = sample();
        let none = |_: &str| None;
        let right = sample.score(&Ok(json!({"age": 36.0, "name": "Ada Lovelace"})), none);
        assert!(
            right.is_exact && right.soft == 1.0 && right.fields.iter().all(ScoredField::is_right)
        );
        // An unexpected key is not a field, but the document is not exact.
        let more = sample.score(
            &Ok(json!({"age": 36, "name": "Ada Lovelace", "x": 1})),
            none,
        );
        assert!(!more.is_exact && more.fields.iter().all(ScoredField::is_right));
        assert!((more.soft - 2.0 / 3.0).abs() < 1e-12);
        let wrong = sample.score(&Ok(json!({"age": 36, "name": "Ada"})), |pointer| {
            (pointer == "/name").then_some(Probability {
                kind: JsonKind::String,
                read: None,
                model: 0.5,
                allowed: 0.6,
                calibrated: 0.4,
            })
        });
        let causes: Vec<_> = wrong.fields.iter().map(|field| field.cause).collect();
        assert_eq!(causes, [Some(Cause::Borders), None, None]);
        assert_eq!(wrong.fields[0].confidence.unwrap().allowed, 0.6);
        assert!(!wrong.is_exact && wrong.soft > 0.5);
    }

    #[test]
    fn without_an_answer_every_field_is_wrong_for_that_reason() {
        let failure = Failure::DoesNotFit("a prompt of 2000 tokens".to_owned());
        let document = sample().score(&Err(failure.clone()), |_| None);
        assert_eq!((document.is_exact, document.soft), (false, 0.0));
        assert_eq!(document.fields.len(), 3);
        let all = { document.fields.iter() }.all(|field| field.cause == Some(Cause::DoesNotFit));
        assert!(all && document.failure == Some(failure));
    }

    #[test]
    fn a_member_that_a_sample_does_not_have_is_refused() {
        let line = r#"{"text": "", "schema": {}, "expected": {}, "langauge": "en"}"#;
        assert!(serde_json::from_str::<Sample>(line).is_err());
    }
}
