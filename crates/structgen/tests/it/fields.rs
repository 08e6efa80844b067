//! What is known of each field of an extraction.

use serde_json::{Value, json};
use structgen::grammar::{Indent, Whitespace};
use structgen::{Extraction, GenerateOptions, SchemaExtractor, SchemaOptions};

use crate::support::model;

const TEXT: &str = "Zo\u{eb} Ray is 36 years old and lives in Graz; her brother Otto is 41.";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "maximum": 150},
            "married": {"type": "boolean"},
            "pets": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
            "more": {"type": "object", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"]},
        },
        "required": ["name", "age", "married", "pets", "more"],
    })
}

fn extractor(options: &SchemaOptions) -> SchemaExtractor {
    SchemaExtractor::new(model(), schema(), options, GenerateOptions::default()).unwrap()
}

#[test]
fn the_fields_are_the_leaves_with_their_places() {
    let found = extractor(&SchemaOptions::new()).extract(TEXT).unwrap();
    let pointers: Vec<&str> = found.fields.iter().map(|it| &*it.pointer).collect();
    assert_eq!(
        pointers,
        ["/name", "/age", "/married", "/pets", "/more/a~1b"]
    );
    for field in &found.fields {
        assert_eq!(found.value.pointer(&field.pointer), Some(&field.value));
        assert_eq!((field.probability, field.confidence), (None, None));
        assert!(field.alternatives.is_empty());
        for (bytes, characters) in field.bytes.iter().zip(&field.characters) {
            let start = TEXT[..bytes.start].chars().count();
            let length = TEXT[bytes.clone()].chars().count();
            assert_eq!(*characters, start..start + length);
        }
    }
}

/// Checks properties of alternatives that hold for every model.
fn check_alternatives(found: &Extraction<Value>, most: usize) {
    for field in &found.fields {
        let others = &field.alternatives;
        assert!(others.len() <= most);
        assert!(others.is_sorted_by(|a, b| a.probability >= b.probability));
        for (at, other) in others.iter().enumerate() {
            assert_ne!(other.value, field.value);
            assert!(
                others[..at]
                    .iter()
                    .all(|earlier| earlier.value != other.value)
            );
        }
        let sum: f64 = others.iter().map(|other| other.probability).sum();
        let own = field.probability.unwrap();
        assert!(own + sum < 1.0 + 1e-3, "{}: {own} + {sum}", field.pointer);
    }
}

#[test]
fn alternatives_are_other_values_with_what_is_left_of_the_probability() {
    let extractor = extractor(&SchemaOptions::new()).with_alternatives(3);
    let found = extractor.extract(TEXT).unwrap();
    check_alternatives(&found, 3);
    // Of two values, the other one has the rest of the probability.
    let married = &found.fields[2];
    let [other] = &married.alternatives[..] else {
        panic!("{married:?}")
    };
    assert_eq!(
        Some(other.value.as_bool()),
        Some(married.value.as_bool().map(|it| !it))
    );
    let sum = married.probability.unwrap() + other.probability;
    assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    // With a single value, there is no alternative.
    assert!(found.fields[3].alternatives.is_empty());
    // Alternatives also come from the text, and both numbers are whole.
    let ages = found.fields[1]
        .alternatives
        .iter()
        .map(|other| &other.value);
    assert!(
        ages.clone()
            .all(|age| [36, 41].contains(&age.as_i64().unwrap()))
    );
    // The value itself is the same as without alternatives.
    let plain = extractor.with_alternatives(0).extract(TEXT).unwrap();
    assert_eq!(plain.json, found.json);
}

#[test]
fn the_root_can_be_the_only_field() {
    let extractor = SchemaExtractor::new(
        model(),
        json!({"type": "integer"}),
        &SchemaOptions::new(),
        GenerateOptions::default(),
    );
    let found = extractor
        .unwrap()
        .with_alternatives(2)
        .extract(TEXT)
        .unwrap();
    check_alternatives(&found, 2);
    assert_eq!((found.fields.len(), &*found.fields[0].pointer), (1, ""));
    assert!(!found.fields[0].alternatives.is_empty());
}

#[test]
fn whitespace_is_added_after_generation() {
    let compact = extractor(&SchemaOptions::new()).extract(TEXT).unwrap();
    let whitespace = Whitespace::Indented {
        indent: Indent::default(),
    };
    let indented = extractor(&SchemaOptions::new().with_whitespace(whitespace));
    let indented = indented.extract(TEXT).unwrap();
    assert_eq!(indented.outputs[0].generation.text, compact.json);
    let pretty = serde_json::to_string_pretty(&compact.value).unwrap();
    assert_eq!(indented.json, pretty);
}
