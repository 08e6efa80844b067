//! The search for a near text ends at its limits.

use std::fmt::Write as _;
use std::time::Duration;

use structgen_constraint::{CancelToken, CompiledConstraint, MatcherError, NearText};
use structgen_frontend::json_schema::{Profile, SchemaOptions, compile_str};

use crate::support::compile;

fn exactly(schema: &str) -> CompiledConstraint {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    compile(compile_str(schema, &options).expect("a schema").grammar)
}

fn nearest(constraint: &CompiledConstraint, text: &str, steps: u64) -> Option<NearText> {
    let found = constraint.matcher().nearest_text(text.as_bytes(), steps);
    found.expect("no limit of the constraint is exceeded")
}

#[test]
fn a_text_that_needs_more_than_64_kib_is_not_found() {
    for (schema, text) in [
        (
            r#"{"type": "array", "minItems": 15000, "items": {"type": "boolean"}}"#,
            "[]",
        ),
        (r#"{"type": "string", "minLength": 100000}"#, "\"a\""),
    ] {
        assert_eq!(nearest(&exactly(schema), text, 100_000), None, "{schema}");
    }
}

#[test]
fn a_long_text_of_free_characters_is_completed() {
    let constraint = exactly(r#"{"type": "string", "minLength": 20000}"#);
    let found = nearest(&constraint, "\"a\"", 100_000).unwrap();
    assert_eq!(
        found.text,
        format!("\"{}\"", "a".repeat(20_000)).into_bytes()
    );
}

#[test]
fn the_search_ends_at_the_deadline() {
    let constraint =
        exactly(r#"{"type": "array", "minItems": 60000, "items": {"type": "boolean"}}"#);
    let token = CancelToken::with_timeout(Duration::from_millis(20));
    let mut matcher = constraint.matcher().with_cancel_token(token);
    let refused = matcher.nearest_text(b"[]", 10_000_000).unwrap_err();
    assert!(matches!(refused, MatcherError::Limit(limit) if limit.is_timeout()));
}

#[test]
fn the_steps_pay_for_the_states_that_the_search_adds() {
    let mut many_classes = String::from(
        r#"{"type": "object", "minProperties": 12, "maxProperties": 24,
            "patternProperties": {"^a": {"type": "integer"}, "^.b": {"type": "number"}, "c$": {"minimum": 3}},
            "dependentRequired": {"a0": ["a1"]"#,
    );
    for i in 1..12 {
        write!(many_classes, r#", "a{i}": ["a{}"]"#, i + 1).unwrap();
    }
    many_classes += "}}";
    let mut many_alternatives = String::from(r#"{"properties": {"k0": {"type": "integer"}"#);
    for i in 1..160 {
        write!(many_alternatives, r#", "k{i}": {{"type": "integer"}}"#).unwrap();
    }
    many_alternatives += r#"}, "type": "object", "anyOf": [{"required": ["k0", "k1"]}"#;
    for i in 1..159 {
        write!(
            many_alternatives,
            r#", {{"required": ["k{i}", "k{}"]}}"#,
            i + 1
        )
        .unwrap();
    }
    many_alternatives += "]}";
    for (schema, text) in [
        (many_classes, r#"{"a0": 1}"#),
        (many_alternatives, r#"{"k3": 1, "k5": 2}"#),
    ] {
        let constraint = exactly(&schema);
        let before = constraint.state_bytes();
        assert!(nearest(&constraint, text, 5_000).is_some(), "{schema}");
        let added = constraint.state_bytes() - before;
        assert!(added < 8_000_000, "{added} bytes: {schema}");
    }
}
