//! Arrays of distinct items: how they are written, what they cost, and how deep they nest.

use serde_json::Value;
use structgen_constraint::{CompiledConstraint, ConstraintOptions};
use structgen_frontend::json_schema::{Profile, SchemaOptions, compile_str};
use structgen_grammar::{Indent, Whitespace};
use structgen_vocab::TokenId;

use crate::support::{compile, vocabulary, walk_and_compare, walk_and_hold};

#[test]
fn what_distinct_items_are_promised_to_cost_is_enough_in_every_form() {
    let schemas = [
        r#"{"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 1}}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 3, "items": {"type": ["object", "array", "integer"]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": ["a", "b", "ab"]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"required": ["a"], "type": "object"}}"#,
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 9,
            "items": {"type": "array", "items": {"type": "integer"}}}}}"#,
        // The item of an array of distinct items needs several distinct items itself.
        r#"{"type": "object", "required": ["x"], "properties": {"x": {"type": "array", "uniqueItems": true, "minItems": 4,
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "uniqueItems": true,
                "minItems": 2, "items": {"type": "integer"}}}}}}}"#,
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "object", "required": ["a"], "properties": {"a":
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 5,
                "items": {"type": "array", "items": {"type": "integer"}}}}}}}}}"#,
    ];
    let indent = |indent| Whitespace::Indented { indent };
    for whitespace in [
        Whitespace::Compact,
        Whitespace::Spaced,
        Whitespace::OneSpace,
        indent(Indent::Spaces(2)),
        indent(Indent::Tab),
    ] {
        let options = SchemaOptions::new().with_whitespace(whitespace);
        for schema in schemas {
            let compiled = compile_str(schema, &options).expect("a schema");
            let constraint = compile(compiled.grammar);
            for seed in 0..12 {
                walk_and_hold(&constraint, seed, 40);
            }
        }
    }
}

#[test]
fn the_limit_on_nesting_is_that_of_the_document() {
    let tree = r##"{"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "additionalProperties": false,
        "properties": {"c": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/tree"}}}}}}"##;
    let schemas = [
        (tree, "{\"c\":[", "]}"),
        (r#"{"type": "array", "uniqueItems": true}"#, "[", "]"),
        (
            r##"{"type": "array", "uniqueItems": true, "items": {"$ref": "#"}}"##,
            "[",
            "]",
        ),
        (
            r##"{"type": "array", "prefixItems": [{"items": {"$ref": "#"}}], "uniqueItems": true}"##,
            "[",
            "]",
        ),
    ];
    for profile in [Profile::Rust, Profile::Generate] {
        let options = SchemaOptions::new().with_profile(profile);
        for (schema, open, close) in schemas {
            let compiled = compile_str(schema, &options).expect("a schema");
            let most =
                compiled.grammar.form().max_depth as usize / open.matches(['[', '{']).count();
            let constraint = compile(compiled.grammar);
            let is_valid = |levels: usize| {
                let text = open.repeat(levels) + &close.repeat(levels);
                let refused = constraint.matcher().check_text(text.as_bytes());
                refused.expect("within limits").is_none()
            };
            assert!((1..=most).all(is_valid), "{schema}");
            assert!(!is_valid(most + 1), "{schema}");
            // A mask at every level says the same.
            let mut matcher = constraint.matcher();
            for byte in open.repeat(most).bytes() {
                let token = TokenId(byte.into());
                assert!(matcher.mask().expect("within limits").contains(token));
                matcher.accept_token(token).expect("it is allowed");
            }
            let mask = matcher.mask().expect("within limits");
            assert!(!mask.contains(TokenId(b'['.into())), "{schema}");
        }
    }
}

#[test]
fn several_distinct_items_inside_distinct_items_are_refused_or_written() {
    let around = |levels: usize, inner: &str| {
        let mut schema = inner.to_owned();
        for _ in 0..levels {
            schema = format!(r#"{{"type": "array", "uniqueItems": true, "items": {schema}}}"#);
        }
        let compiled = compile_str(&schema, &SchemaOptions::new()).expect("a schema");
        let options = ConstraintOptions::default();
        CompiledConstraint::new(compiled.grammar, &vocabulary(), &options)
    };
    let needed =
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "integer"}}"#;
    let listed =
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": ["a", "b"]}}"#;
    let needs_one =
        r#"{"type": "array", "uniqueItems": true, "minItems": 1, "items": {"type": "integer"}}"#;
    for (inner, levels, text) in [
        (needed, 3, "[1,2]"),
        (listed, 9, r#"["b","a"]"#),
        (needs_one, 9, "[7]"),
    ] {
        let constraint = around(levels, inner).expect("within limits");
        let text = "[".repeat(levels) + text + &"]".repeat(levels);
        let mut matcher = constraint.matcher();
        for byte in text.bytes() {
            let token = TokenId(byte.into());
            assert!(matcher.mask().expect("within limits").contains(token));
            matcher.accept_token(token).expect("it is allowed");
        }
    }
    let refused = around(4, needed).expect_err("a limit").to_string();
    let limit = "arrays inside one another that need several distinct items exceed the limit of 4";
    assert_eq!(refused, limit);
}

#[test]
fn distinct_items_are_indented_like_others() {
    let items = r#""type": "array", "uniqueItems": true, "items": {"type": ["object", "array", "integer"]}"#;
    let schema = format!(
        r#"{{"properties": {{"a": {{{items}}}}}, "anyOf": [{{"type": "object"}}, {{{items}}}]}}"#
    );
    let whitespace = Whitespace::Indented {
        indent: Indent::Spaces(2),
    };
    let options = SchemaOptions::new().with_whitespace(whitespace);
    let constraint = compile(compile_str(&schema, &options).expect("a schema").grammar);
    for text in [
        r#"[0, [1], {"b": [2, {}]}]"#,
        r#"{"a": [[], [[1, 2]], {"b": {"c": [3]}}, 4]}"#,
    ] {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        let refused = constraint.matcher().check_text(pretty.as_bytes());
        assert_eq!(refused.expect("within limits"), None, "{pretty}");
    }
    for seed in 0..20 {
        let text = walk_and_compare(&constraint, seed, 60);
        let value: Value = serde_json::from_slice(&text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        // Numbers and strings may be written in other ways.
        let lines = |text: &str| {
            text.lines()
                .map(|line| line.len() - line.trim_start().len())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&String::from_utf8_lossy(&text)), lines(&pretty));
    }
}
