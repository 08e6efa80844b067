//! Classifies why a field is wrong.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::equality::equal;
use super::fields::Field;
use super::source::Source;

/// How the value of a wrong field differs from the expected one: the first cause that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// There was no answer: the text exceeds the model's context, or the document the remaining tokens.
    DoesNotFit,
    /// There was no answer: the output is not JSON.
    NotJson,
    /// There was no answer for another reason.
    NoAnswer,
    /// A value is expected, but it is missing or null.
    Missing,
    /// No value is expected, or null, but there is one.
    Invented,
    /// A value of another JSON type.
    OtherType,
    /// Another one of the schema's enumerated values.
    Enum,
    /// True instead of false, or the reverse.
    Boolean,
    /// An array or object of the wrong size.
    Length,
    /// An array or object of the right size with other items.
    Items,
    /// The expected value of another field.
    OtherField,
    /// A part of the text that overlaps the correct one.
    Borders,
    /// Another part of the text.
    OtherPart,
    /// Another number of the text.
    OtherNumber,
    /// A string or number that is not in the text. Number words are not recognised.
    NotInText,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DoesNotFit => "no answer: does not fit",
            Self::NotJson => "no answer: not JSON",
            Self::NoAnswer => "no answer: an error",
            Self::Missing => "missing or null",
            Self::Invented => "invented",
            Self::OtherType => "another type",
            Self::Enum => "another enum value",
            Self::Boolean => "the other boolean",
            Self::Length => "another number of items",
            Self::Items => "other items",
            Self::OtherField => "another field's value",
            Self::Borders => "wrong borders",
            Self::OtherPart => "another part of the text",
            Self::OtherNumber => "another number of the text",
            Self::NotInText => "not in the text",
        })
    }
}

impl Cause {
    /// Returns the cause for a field of an answer, or `None` if it is correct. `all` are the fields of the same
    /// document.
    #[must_use]
    pub fn of(field: &Field<'_>, all: &[Field<'_>], source: &Source) -> Option<Self> {
        if field.is_right {
            return None;
        }
        let value = |value: Option<&'_ Value>| value.is_some_and(|value| !value.is_null());
        let (Some(expected), Some(actual)) = (field.expected, field.actual) else {
            return Some(match value(field.actual) {
                true => Self::Invented,
                false => Self::Missing,
            });
        };
        let is_of_another = || {
            { all.iter() }
                .filter(|other| other.pointer != field.pointer)
                .filter_map(|other| other.expected)
                .any(|other| holds(other, actual))
        };
        Some(match (expected, actual) {
            (_, Value::Null) => Self::Missing,
            (Value::Null, _) => Self::Invented,
            (Value::String(_) | Value::Number(_), _) if field.kind == "enum" => Self::Enum,
            (Value::Bool(_), Value::Bool(_)) => Self::Boolean,
            (Value::Array(expected), Value::Array(actual)) => sizes(expected.len(), actual.len()),
            (Value::Object(expected), Value::Object(actual)) => sizes(expected.len(), actual.len()),
            (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_))
                if is_of_another() =>
            {
                Self::OtherField
            }
            (Value::String(expected), Value::String(actual)) => {
                match (source.overlap(expected, actual), source.contains(actual)) {
                    (true, _) => Self::Borders,
                    (false, true) => Self::OtherPart,
                    (false, false) => Self::NotInText,
                }
            }
            (Value::Number(_), Value::Number(actual)) => {
                match { actual.as_f64() }.is_some_and(|actual| source.has_number(actual)) {
                    true => Self::OtherNumber,
                    false => Self::NotInText,
                }
            }
            _ => Self::OtherType,
        })
    }
}

fn sizes(expected: usize, actual: usize) -> Cause {
    match expected == actual {
        true => Cause::Items,
        false => Cause::Length,
    }
}

/// Returns whether a value is a leaf of another.
fn holds(value: &Value, leaf: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| holds(item, leaf)),
        Value::Object(members) => members.values().any(|member| holds(member, leaf)),
        _ => equal(value, leaf),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::fields;
    use super::*;
    use serde_json::json;

    const TEXT: &str = "Ada Lovelace, 36, of London ordered 12 crates at 14.80 from Boreal Foods.";

    #[test]
    fn every_wrong_field_has_a_cause() {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string"}, "age": {"type": "integer"}, "firm": {"type": "string"},
            "paid": {"type": "boolean"}, "state": {"enum": ["new", "old"]}, "note": {"type": ["string", "null"]},
            "goods": {"type": "array"}, "rates": {"type": "object"}, "nick": {"type": "string"},
        }});
        let expected = json!({"name": "Ada Lovelace", "age": 36, "firm": "Boreal Foods", "paid": true, "state": "new",
            "note": null, "goods": ["crates", "boxes"], "rates": {"a": 1}});
        for (key, wrong, cause) in [
            ("name", json!(null), Cause::Missing),
            ("note", json!("crates"), Cause::Invented),
            ("nick", json!("Ada"), Cause::Invented),
            ("name", json!(36), Cause::OtherType),
            ("paid", json!("true"), Cause::OtherType),
            ("goods", json!("crates"), Cause::OtherType),
            ("state", json!("old"), Cause::Enum),
            ("paid", json!(false), Cause::Boolean),
            ("goods", json!(["crates"]), Cause::Length),
            ("goods", json!(["boxes", "crates"]), Cause::Items),
            ("rates", json!({}), Cause::Length),
            ("rates", json!({"a": 2}), Cause::Items),
            ("name", json!("Boreal Foods"), Cause::OtherField),
            // The items of an array count as well.
            ("name", json!("crates"), Cause::OtherField),
            ("age", json!(1), Cause::OtherField),
            ("name", json!("Ada"), Cause::Borders),
            ("name", json!("Ada Lovelace,"), Cause::Borders),
            ("name", json!("London"), Cause::OtherPart),
            ("age", json!(12.0), Cause::OtherNumber),
            ("age", json!(14.8), Cause::OtherNumber),
            ("name", json!("Byron"), Cause::NotInText),
            ("name", json!(""), Cause::NotInText),
            ("age", json!(35), Cause::NotInText),
        ] {
            let mut answer = expected.clone();
            answer[key] = wrong.clone();
            let all = fields(&schema, &expected, Some(&answer));
            let source = Source::new(TEXT);
            let causes: Vec<_> = { all.iter() }
                .filter_map(|field| Some((&*field.pointer, Cause::of(field, &all, &source)?)))
                .collect();
            let pointer = format!("/{key}");
            assert_eq!(causes, [(&*pointer, cause)], "{key}: {wrong}");
        }
    }

    #[test]
    fn a_property_that_is_not_there_is_missing() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}}});
        let expected = json!({"a": "x", "b": null});
        let answer = json!({});
        let all = fields(&schema, &expected, Some(&answer));
        for field in &all {
            let cause = Cause::of(field, &all, &Source::new(TEXT));
            assert_eq!(cause, Some(Cause::Missing), "{}", field.pointer);
        }
    }
}
