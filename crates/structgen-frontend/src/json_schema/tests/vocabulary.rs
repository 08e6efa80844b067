//! Dialects that a caller's metaschema composes from vocabularies.

use serde_json::{Value, json};

use crate::json_schema::{Effect, FormatMode, SchemaOptions, compile};

const META: &str = "http://example.com/meta";

fn metaschema(draft: &str, vocabularies: &[(&str, bool)]) -> Value {
    let uri = |name: &str| match name.contains(':') {
        true => name.to_owned(),
        false => format!("https://json-schema.org/draft/{draft}/vocab/{name}"),
    };
    let entries = vocabularies.iter();
    let vocabulary: serde_json::Map<_, _> = entries
        .map(|&(name, required)| (uri(name), json!(required)))
        .collect();
    json!({
        "$schema": format!("https://json-schema.org/draft/{draft}/schema"),
        "$id": META,
        "$vocabulary": vocabulary,
    })
}

/// The effect on a keyword of a schema in the dialect, as its first word, or the error.
fn effect(options: SchemaOptions, metaschema: &Value, mut schema: Value, pointer: &str) -> String {
    schema["$schema"] = json!(META);
    let options = options.with_document("http://example.com/elsewhere", metaschema.clone());
    match compile(&schema, &options) {
        Ok(compiled) => {
            let entries = &compiled.report.entries;
            let entry = entries.iter().find(|entry| entry.pointer() == pointer);
            entry.map_or_else(String::new, |entry| entry.effect.name().to_owned())
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn keywords_of_a_vocabulary_that_is_left_out_assert_nothing() {
    let options = SchemaOptions::new;
    let without = metaschema("2020-12", &[("core", true), ("applicator", true)]);
    let schema = json!({"minimum": 1, "contains": {"type": "null"}, "minContains": 2, "unevaluatedItems": false});
    for (pointer, expected) in [
        ("#/minimum", "annotation"),
        ("#/minContains", "annotation"),
        ("#/unevaluatedItems", "annotation"),
        ("#/contains", "enforced"),
    ] {
        let effect = effect(options(), &without, schema.clone(), pointer);
        assert_eq!(effect, expected, "{pointer}");
    }
    let with = metaschema(
        "2019-09",
        &[("core", true), ("applicator", true), ("validation", true)],
    );
    assert_eq!(
        effect(options(), &with, schema.clone(), "#/minimum"),
        "enforced"
    );
    assert_eq!(
        effect(options(), &with, schema, "#/unevaluatedItems"),
        "enforced"
    );
}

#[test]
fn a_vocabulary_that_is_not_known_must_not_be_required() {
    let schema = json!({"type": "null"});
    let vocabularies = |required| {
        let own = ("http://example.com/units", required);
        metaschema("2020-12", &[("core", true), ("validation", true), own])
    };
    let options = SchemaOptions::new;
    assert_eq!(
        effect(options(), &vocabularies(false), schema.clone(), "#/type"),
        "enforced"
    );
    assert_eq!(
        effect(options(), &vocabularies(true), schema, "#/type"),
        "#/$schema: the metaschema http://example.com/meta requires the unknown vocabulary http://example.com/units"
    );
}

#[test]
fn the_vocabulary_says_what_formats_do_unless_the_caller_does() {
    let schema = json!({"format": "date", "maxLength": 10});
    let of = |options, draft, vocabulary| {
        effect(
            options,
            &metaschema(draft, &[("validation", true), vocabulary]),
            schema.clone(),
            "#/format",
        )
    };
    let options = SchemaOptions::new;
    for (draft, vocabulary, expected) in [
        ("2020-12", ("format-annotation", true), "annotation"),
        ("2020-12", ("format-assertion", false), "enforced"),
        ("2019-09", ("format", true), "enforced"),
        ("2019-09", ("format", false), "annotation"),
    ] {
        assert_eq!(of(options(), draft, vocabulary), expected, "{vocabulary:?}");
    }
    let asserted = options().with_formats(FormatMode::Assert);
    let annotated = options().with_formats(FormatMode::Annotate);
    assert_eq!(of(asserted, "2019-09", ("format", false)), "enforced");
    assert_eq!(of(annotated, "2019-09", ("format", true)), "annotation");
}

#[test]
fn without_vocabularies_the_dialect_is_the_one_that_the_metaschema_is_written_in() {
    let metaschema = json!({"$schema": "http://json-schema.org/draft-04/schema#"});
    let options = SchemaOptions::new().with_document(META, metaschema);
    let schema = json!({"$schema": META, "const": 1, "type": "null"});
    let report = compile(&schema, &options).unwrap().report;
    let entry = report
        .entries
        .iter()
        .find(|entry| entry.pointer() == "#/const");
    let note = "not a keyword of this draft";
    assert_eq!(
        entry.map(|entry| &entry.effect),
        Some(&Effect::Annotation { note })
    );
}

#[test]
fn draft_3_is_refused_and_metaschemas_may_name_one_another() {
    let schema = json!({"$schema": "http://json-schema.org/draft-03/schema#"});
    let error = compile(&schema, &SchemaOptions::new()).unwrap_err();
    assert!(error.to_string().contains("is not supported"), "{error}");
    let circle = SchemaOptions::new()
        .with_document("a:b", json!({"$schema": "a:c"}))
        .with_document("a:c", json!({"$schema": "a:b"}));
    compile(&json!({"$schema": "a:b", "type": "null"}), &circle).unwrap();
}
