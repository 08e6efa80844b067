//! Fields with low confidence are requested from another model.

use serde_json::{Value, json};
use structgen::{Extraction, GenerateOptions, Model, SchemaExtractor, SchemaOptions, Source};

use crate::support::{golden_model, model};

const TEXT: &str = "Mia Brandt, 41, lives in Graz with Otto, who is 36, and they have 2 cats.";

fn extractor(model: Model) -> SchemaExtractor {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "age": {"type": "integer", "maximum": 150},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 2, "maxItems": 3, "uniqueItems": true},
            "cats": {"type": ["integer", "null"], "maximum": 9},
        },
        "required": ["name", "age", "tags", "cats"],
    });
    SchemaExtractor::new(
        model,
        schema,
        &SchemaOptions::new(),
        GenerateOptions::default(),
    )
    .unwrap()
}

fn extract(below: f64) -> Extraction<Value> {
    let found = extractor(model())
        .with_larger(extractor(golden_model()), below)
        .extract(TEXT)
        .unwrap();
    let whole = serde_json::to_string(&found.value).unwrap();
    assert_eq!(found.json, whole);
    // Valid, whatever was replaced.
    let mut larger = extractor(golden_model()).compiled().matcher();
    assert_eq!(larger.check_text(whole.as_bytes()).unwrap(), None);
    found
}

#[test]
fn a_field_is_passed_on_where_its_confidence_is_too_low_and_all_others_stay() {
    let alone = extractor(model()).extract(TEXT).unwrap();
    let none = extract(0.0);
    assert_eq!(none.json, alone.json);
    assert!(none.fields.iter().all(|field| !field.is_passed_on));
    let mut confidences: Vec<f64> = { none.fields.iter() }
        .map(|field| field.confidence.unwrap())
        .collect();
    confidences.sort_by(f64::total_cmp);
    let below = (confidences[0] + confidences[1]) / 2.0;
    let one = extract(below);
    for (before, after) in none.fields.iter().zip(&one.fields) {
        assert_eq!(before.pointer, after.pointer);
        match before.confidence.unwrap() < below {
            // The other model's answer may be rejected, because of a duplicate item.
            true => assert!(after.is_passed_on || after.value == before.value),
            false => assert_eq!((&after.value, after.is_passed_on), (&before.value, false)),
        }
    }
}

#[test]
fn all_fields_can_be_passed_on() {
    let all = extract(2.0);
    assert!(all.fields.iter().any(|field| field.is_passed_on));
    for field in &all.fields {
        assert!(!field.is_passed_on || !field.is_grounded);
        assert!((0.0..=1.0).contains(&field.confidence.unwrap()));
    }
}

#[test]
fn a_value_that_the_larger_model_may_not_write_stays() {
    let schema = json!({
        "type": "object",
        "properties": {"id": {"const": 987654}, "name": {"type": "string", "maxLength": 20}},
        "required": ["id", "name"],
    });
    let extractor = |model, schema: &Value, options| {
        SchemaExtractor::new(model, schema.clone(), &options, GenerateOptions::default()).unwrap()
    };
    let small = || extractor(golden_model(), &schema, SchemaOptions::new());
    let mut loose = schema.clone();
    loose["properties"]["id"] = json!({"type": "integer"});
    let grounded = SchemaOptions::new().with_source(Source::Input);
    let larger = extractor(model(), &loose, grounded);
    let alone = { small().with_larger(larger.clone(), 0.0) }
        .extract(TEXT)
        .unwrap();
    let [id, name] = &alone.fields[..] else {
        panic!("{:?}", alone.fields)
    };
    // `id` has only one value, and `name` goes to the larger model, which would have to write the `id` before it.
    assert!(id.confidence > name.confidence);
    let below = (id.confidence.unwrap() + name.confidence.unwrap()) / 2.0;
    let found = small().with_larger(larger, below).extract(TEXT).unwrap();
    assert_eq!(found.value, alone.value);
    assert!(found.fields.iter().all(|field| !field.is_passed_on));
}
