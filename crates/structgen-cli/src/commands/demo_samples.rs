//! The demonstration's samples: ten texts of the hand-written test set, chosen by a rule that ignores how the model
//! does on them (`training/demo_samples.py`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A text, a schema, and the answer that a careful reader would give.
#[derive(Deserialize)]
pub(crate) struct Sample {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) schema: Box<RawValue>,
    pub(crate) expected: Value,
}

pub(crate) fn samples() -> serde_json::Result<Vec<Sample>> {
    serde_json::from_str(include_str!("demo_samples.json"))
}

/// A field whose value differs from the expected one.
pub(crate) struct Wrong {
    /// Its JSON Pointer.
    pub(crate) pointer: String,
    pub(crate) expected: Option<Value>,
}

/// Returns the number of fields, and which are wrong. A field is a value that is not an object: an array counts as one,
/// and so does a field that one side lacks.
pub(crate) fn compare(found: &Value, expected: &Value) -> (usize, Vec<Wrong>) {
    let (mut found_fields, mut expected_fields) = (BTreeMap::new(), BTreeMap::new());
    collect(found, String::new(), &mut found_fields);
    collect(expected, String::new(), &mut expected_fields);
    let mut wrong = Vec::new();
    for (pointer, &value) in &expected_fields {
        if !{ found_fields.get(pointer) }.is_some_and(|found| are_equal(found, value)) {
            wrong.push(Wrong {
                pointer: pointer.clone(),
                expected: Some(value.clone()),
            });
        }
    }
    let extra = { found_fields.keys() }.filter(|pointer| !expected_fields.contains_key(*pointer));
    let mut total = expected_fields.len();
    for pointer in extra {
        total += 1;
        wrong.push(Wrong {
            pointer: pointer.clone(),
            expected: None,
        });
    }
    (total, wrong)
}

fn collect<'v>(value: &'v Value, pointer: String, fields: &mut BTreeMap<String, &'v Value>) {
    let Value::Object(members) = value else {
        fields.insert(pointer, value);
        return;
    };
    for (key, value) in members {
        let key = key.replace('~', "~0").replace('/', "~1");
        collect(value, format!("{pointer}/{key}"), fields);
    }
}

/// Compares numbers by value, and all else exactly.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_there = |(key, a): (&String, _)| b.get(key).is_some_and(|b| are_equal(a, b));
            a.len() == b.len() && a.iter().all(is_there)
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_samples_are_those_of_the_rule() {
        let samples = samples().unwrap();
        assert_eq!(samples.len(), 10);
        assert!(
            samples
                .iter()
                .all(|sample| sample.text.chars().count() <= 600)
        );
    }

    #[test]
    fn fields_are_compared_one_by_one() {
        let expected = json!({"a": 1.0, "b": {"c": "x", "d": null}, "e": [1, 2]});
        let (total, wrong) = compare(&expected, &expected);
        assert_eq!((total, wrong.len()), (4, 0));
        let found = json!({"a": 1, "b": {"c": "y"}, "e": [1], "f": 2});
        let (total, wrong) = compare(&found, &expected);
        let wrong: Vec<&str> = wrong.iter().map(|wrong| &*wrong.pointer).collect();
        assert_eq!((total, &wrong[..]), (5, &["/b/c", "/b/d", "/e", "/f"][..]));
    }
}
