//! Structural tags that are refused, and large ones.

use serde_json::{Value, json};
use structgen_frontend::json_schema::SchemaOptions;
use structgen_tools::{StructuralTag, StructuralTagError};

fn structural_tag(format: &Value) -> Result<StructuralTag, StructuralTagError> {
    let tag = json!({"type": "structural_tag", "format": format});
    StructuralTag::new(&tag, &SchemaOptions::new())
}

#[test]
fn what_is_ambiguous_or_no_number_is_refused() {
    for (text, pointer) in [
        (
            r#"{"format": {"type": "json_schema", "json_schema": {"type": "null", "type": "string"}}}"#,
            Some("#/format/json_schema"),
        ),
        (
            r#"{"triggers": ["<"], "structures": [{"begin": "<", "schema": "{\"a\": 1, \"a\": 1}", "end": ">"}]}"#,
            Some("#/structures/0/schema"),
        ),
        (
            r#"{"format": {"type": "json_schema", "json_schema": {"const": 1e400}}}"#,
            Some("#/format/json_schema"),
        ),
        (
            r#"{"format": {"type": "regex", "pattern": "a", "pattern": "b"}}"#,
            None,
        ),
        (
            r#"{"format": {"type": "json_schema", "json_schema": true, "json_schema": false}}"#,
            None,
        ),
    ] {
        let error = StructuralTag::from_json(text, &SchemaOptions::new()).unwrap_err();
        assert_eq!(error.pointer(), pointer, "{text}: {error}");
    }
}

#[test]
fn many_tags_may_share_a_trigger() {
    let trigger = format!("b{}", "a".repeat(199));
    let tags: Vec<Value> = (0..16_000)
        .map(|number| {
            json!({"begin": format!("{trigger}{number}"), "content": {"type": "const_string", "value": "x"}, "end": ""})
        })
        .collect();
    let format = json!({"type": "triggered_tags", "triggers": [trigger], "tags": tags});
    let grammar = structural_tag(&format).unwrap().grammar().to_string();
    // Free text excludes it once.
    let without = format!("complement(.* \"{trigger}\" .*)");
    assert!(grammar.contains(&without));
}

#[test]
fn texts_to_exclude_have_a_limit() {
    let long = "a".repeat(20_000);
    let ends: Vec<String> = (0..2_000).map(|number| format!("{number}")).collect();
    let free: Vec<Value> = (0..2_000).map(|_| json!({"type": "any_text"})).collect();
    for (format, pointer) in [
        (json!({"type": "any_text", "excludes": [long]}), "#/format"),
        (
            json!({"type": "tag", "begin": "", "content": {"type": "or", "elements": free}, "end": ends}),
            "#/format/content/elements/",
        ),
    ] {
        let error = structural_tag(&format).unwrap_err();
        let is_limit = matches!(&error, StructuralTagError::Limit { pointer: at, .. } if at.starts_with(pointer));
        assert!(is_limit, "{error}");
    }
}
