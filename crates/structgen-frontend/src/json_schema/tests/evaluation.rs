//! Evaluation in cases that the official suite does not cover: negations, and mutually exclusive cases.

use super::corpus::limits;
use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Profile, SchemaOptions};

fn check(schema: &str, fits: &[&str], does_not: &[&str]) {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let read = |text| Json::from_text(text, &limits()).expect("a test is JSON");
    let texts = fits.iter().chain(does_not);
    let instances: Vec<Json<'_>> = texts.map(|text| read(text)).collect();
    let verdicts = judge(&read(schema), &instances, &options)
        .canonical
        .expect("the schema is taken");
    for (index, verdict) in verdicts.iter().enumerate() {
        assert_eq!(
            *verdict,
            index < fits.len(),
            "{schema}: {:?}",
            instances[index]
        );
    }
}

#[test]
fn arms_that_fit_together_evaluate_together() {
    check(
        r#"{"anyOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": true}, "required": ["b"]}],
            "unevaluatedProperties": false}"#,
        &[
            "{}",
            r#"{"a": null}"#,
            r#"{"b": 1}"#,
            r#"{"a": null, "b": 1}"#,
            "1",
        ],
        &[
            r#"{"a": 1, "b": 1}"#,
            r#"{"c": 1}"#,
            r#"{"a": null, "b": 1, "c": 1}"#,
        ],
    );
}

#[test]
fn a_negation_asks_for_something_that_is_left_over() {
    check(
        r#"{"not": {"if": {"required": ["a"]}, "then": {"properties": {"a": true, "b": true}},
            "unevaluatedProperties": {"type": "null"}}}"#,
        &[r#"{"b": 1}"#, r#"{"a": 1, "c": 1}"#],
        &[
            "{}",
            "1",
            r#"{"a": 1, "b": 1}"#,
            r#"{"b": null}"#,
            r#"{"a": 1, "c": null}"#,
        ],
    );
}

#[test]
fn a_condition_without_consequence_and_a_count_of_none_still_evaluate() {
    check(
        r#"{"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": false}"#,
        &["{}", r#"{"a": 1}"#],
        &[r#"{"a": 2}"#],
    );
    check(
        r#"{"contains": {"type": "string"}, "minContains": 0, "unevaluatedItems": {"type": "null"}}"#,
        &["[]", r#"["a", null]"#, "[null]"],
        &["[1]", r#"["a", 1]"#],
    );
}

#[test]
fn a_nested_keyword_evaluates_all_that_is_left() {
    check(
        r#"{"allOf": [{"unevaluatedProperties": true}], "unevaluatedProperties": false}"#,
        &["{}", r#"{"a": 1}"#],
        &[],
    );
}
