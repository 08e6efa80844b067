//! Partial values while they are generated.

use serde_json::{Value, json};
use structgen::{Extractor, GenerateOptions, SchemaExtractor, SchemaOptions};

use crate::support::{PEOPLE, Person, model};

/// Returns whether a value is only extended by becoming another one; a value that has not started is null.
fn grows(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(before), Value::String(after)) => after.starts_with(before),
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len() && before.iter().zip(after).all(|(b, a)| grows(b, a))
        }
        (Value::Object(before), Value::Object(after)) => {
            let mut members = before.iter();
            members.all(|(key, value)| after.get(key).is_some_and(|after| grows(value, after)))
        }
        _ => before == after,
    }
}

/// Returns the final value of an extraction, and the number of partial ones.
fn streamed(schema: &Value, text: &str) -> (Value, usize) {
    let options = GenerateOptions::default();
    let values = SchemaExtractor::new(model(), schema.clone(), &SchemaOptions::new(), options);
    let values = values.unwrap();
    let mut stream = values.extract_stream(text).unwrap();
    let partials: Vec<Value> = stream.by_ref().map(Result::unwrap).collect();
    for pair in partials.windows(2) {
        assert!(grows(&pair[0], &pair[1]) && pair[0] != pair[1], "{pair:?}");
    }
    let found = stream.finish().unwrap();
    assert_eq!(partials.last(), Some(&found.value), "{}", found.json);
    assert_eq!(found.value, values.extract(text).unwrap().value);
    (found.value, partials.len())
}

#[test]
fn partial_values_grow_and_end_in_the_value() {
    let text = "Mia Brandt, 41, called about invoices 12, 1300 and -7.5.";
    let person = json!({"type": "object", "required": ["name", "age"], "properties": {
        "name": {"type": "string", "minLength": 4, "maxLength": 20}, "age": {"type": "integer"}}});
    let (_, partials) = streamed(&person, text);
    assert!(partials > 3, "{partials}");
    let numbers =
        json!({"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "number"}});
    assert!(streamed(&numbers, text).1 >= 4);
    let nested = json!({"type": "array", "minItems": 2, "maxItems": 2, "items": {
        "type": "array", "minItems": 1, "maxItems": 2, "items": person}});
    streamed(&nested, text);
    // A number is complete at the end of the text.
    let (number, partials) = streamed(&json!({"type": "integer"}), text);
    assert!(number.is_number() && partials == 1);
}

#[test]
fn escapes_nested_arrays_and_numbers_come_as_they_are() {
    let value = json!({
        "quoted \"key\"/~": "a \"b\" \\ \n\t\u{7} é 😀",
        "rows": [[1.5, -2.5], [[], [1.25e-3]], {"deep": [{"x": null}, true]}],
        "n": 0.5
    });
    assert_eq!(streamed(&json!({"const": value}), "anything").0, value);
}

#[test]
fn a_typed_stream_ends_in_the_type() {
    let people = Extractor::<Person>::with_model(model(), GenerateOptions::default()).unwrap();
    let mut stream = people.extract_stream(PEOPLE[0]).unwrap();
    let last = stream.by_ref().last().unwrap().unwrap();
    let found = stream.finish().unwrap();
    assert_eq!(serde_json::from_value::<Person>(last).unwrap(), found.value);
    // Nobody has to look at the partial values, or to wait for the end.
    let whole = people.extract_stream(PEOPLE[0]).unwrap().finish().unwrap();
    assert_eq!(whole.json, found.json);
    drop(people.extract_stream(PEOPLE[1]).unwrap());
    assert_eq!(people.extract(PEOPLE[0]).unwrap().json, found.json);
}
