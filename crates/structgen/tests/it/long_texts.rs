//! Texts that exceed the model's context.

use serde_json::{Value, json};
use structgen::decode::{GenerateError, SchedulerLimits};
use structgen::{
    Error, GenerateOptions, LongText, Model, ModelOptions, SchemaExtractor, SchemaOptions, Source,
};

use crate::support::{model, open};

fn extractor(schema: Value) -> SchemaExtractor {
    extractor_of(model(), schema)
}

fn extractor_of(model: Model, schema: Value) -> SchemaExtractor {
    SchemaExtractor::new(
        model,
        schema,
        &SchemaOptions::new(),
        GenerateOptions::default(),
    )
    .unwrap()
}

/// Several times the context.
fn long_text() -> String {
    let lines = (0..700).map(|number| format!("Mia bought {number} apples in Graz.\n"));
    lines.collect()
}

#[test]
fn the_answers_of_windows_become_one_that_fits() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "city": {"type": ["string", "null"], "maxLength": 20},
            "counts": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        },
        "required": ["name", "city", "counts"],
    });
    let extractor = extractor(schema);
    let text = long_text();
    let found = extractor.extract(&text).unwrap();
    assert!(found.outputs.len() > 2, "{}", found.outputs.len());
    let refusal = extractor
        .compiled()
        .matcher()
        .check_text(found.json.as_bytes());
    assert!(refusal.unwrap().is_none(), "{}", found.json);
    // Each value is one of the answers for some window.
    let answers: Vec<Value> = { found.outputs.iter() }
        .map(|output| serde_json::from_str(&output.generation.text).unwrap())
        .collect();
    for key in ["name", "city"] {
        assert!(
            answers.iter().any(|answer| answer[key] == found.value[key]),
            "{key}"
        );
    }
    let confidence = found.confidence.as_ref().unwrap();
    assert_eq!(confidence.fields()[0].span, 0..found.json.len());
    assert_eq!(found.json, extractor.extract(&text).unwrap().json);

    let short = extractor.extract("Mia bought 3 apples in Graz.").unwrap();
    assert_eq!(short.outputs.len(), 1);
    assert_eq!(short.confidence, None);
}

#[test]
fn a_word_that_cannot_be_written_in_the_rest_of_the_context_is_no_value() {
    let extractor = extractor(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
        "additionalProperties": false,
    }));
    let word = "a".repeat(8_000);
    let mixed = extractor.extract(&format!("Ada is 3. {word}")).unwrap();
    assert!(mixed.outputs.len() > 1, "{}", mixed.outputs.len());
    // Some window has a name.
    assert_eq!(mixed.ungrounded, [""; 0]);
    let alone = extractor.extract(&word[..3_000]).unwrap();
    assert_eq!(alone.ungrounded, ["/properties/name"]);
}

#[test]
fn alternatives_of_windows_are_in_the_text() {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 20}, "count": {"type": "integer"}},
        "required": ["name", "count"],
    });
    let text = long_text();
    let extractor = extractor(schema).with_alternatives(2);
    let found = extractor.extract(&text).unwrap();
    assert!(found.outputs.len() > 2, "{}", found.outputs.len());
    assert_eq!(found.fields.len(), 2);
    for field in &found.fields {
        assert!(!field.bytes.is_empty(), "{}", field.pointer);
        assert!(field.alternatives.len() <= 2);
        for other in &field.alternatives {
            assert_ne!(other.value, field.value);
            let written = match &other.value {
                Value::String(string) => string.clone(),
                number => number.to_string(),
            };
            assert!(text.contains(&written), "{}: {written}", field.pointer);
        }
    }
}

#[test]
fn many_long_texts_at_a_time_fit_into_a_short_queue() {
    let mut limits = SchedulerLimits::default();
    (limits.rows, limits.queue) = (1, 2);
    let model = open(&ModelOptions::new().with_limits(limits));
    let schema = json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]});
    let text = "Mia bought 3 apples in Graz.\n".repeat(250);
    let extractor = extractor_of(model, schema);
    let texts = [&*text, &*text, "Otto", &*text];
    let windows: Vec<usize> = { extractor.extract_all(texts) }
        .map(|found| found.unwrap().outputs.len())
        .collect();
    assert!(windows[0] > 1, "{windows:?}");
    assert_eq!(windows, [windows[0], windows[0], 1, windows[0]]);
}

#[test]
fn a_long_text_can_be_refused() {
    let refusing = extractor(json!({"type": "integer"})).with_long_text(LongText::Refuse);
    let error = refusing.extract(&long_text()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Generate(GenerateError::ContextOverflow { .. })
        ),
        "{error}"
    );
}

#[test]
fn a_value_is_reported_as_lacking_only_if_every_window_lacks_it() {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    });
    let options = SchemaOptions::new().with_source(Source::Input);
    let extractor =
        SchemaExtractor::new(model(), schema, &options, GenerateOptions::default()).unwrap();
    let lines = "Mia lives in Graz.\n".repeat(700);
    for (text, lacking) in [
        (format!("Mia is 36 years old.\n{lines}"), &[][..]),
        (lines.clone(), &["/properties/age"][..]),
    ] {
        let found = extractor.extract(&text).unwrap();
        assert!(found.outputs.len() > 2, "{}", found.outputs.len());
        assert_eq!(found.ungrounded, lacking);
        // What a window without a value made up is not grounded.
        let is_from_text = found.value["age"] == 36;
        let age = { found.fields.iter() }.find(|field| field.pointer == "/age");
        assert!(!age.unwrap().is_grounded || is_from_text);
    }
}
