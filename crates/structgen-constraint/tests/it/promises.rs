//! What a state promises to cost is kept: whatever was written, some token lowers the cost.

use serde_json::{Map, Value};
use structgen_constraint::CompiledConstraint;
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_vocab::TokenId;

use crate::support::compile;

fn schema(text: &str, profile: Profile) -> CompiledConstraint {
    let options = SchemaOptions::new().with_profile(profile);
    let compiled = json_schema::compile_str(text, &options).expect("a schema");
    compile(compiled.grammar)
}

#[test]
fn what_keys_of_patterns_are_promised_to_cost_is_enough() {
    let schemas = [
        // A declared key is not the cheapest of a pattern that has its text.
        r#"{"minProperties": 1, "propertyNames": {"pattern": "^a"}, "dependentSchemas": {"a": false}}"#,
        r#"{"minProperties": 3, "patternProperties": {"^[ab]?$": {}}, "additionalProperties": false,
            "properties": {"a": false, "c": {}}}"#,
        r#"{"minProperties": 2, "propertyNames": {"pattern": "^a+$"}, "properties": {"aa": {}, "a": {"const": "long"}}}"#,
        // The completion that is known of a pattern is longer than its shortest key.
        r#"{"required": ["b", "c"],
            "patternProperties": {"a(?=b)": {"type": "boolean"}, "^a": {"patternProperties": {"^[ab]{1,2}$": true}}},
            "oneOf": [
                {"minProperties": 2},
                {"patternProperties": {"a(?=b)": false, "^(a|ab)(c|bc)?$": true}}
            ]}"#,
    ];
    for text in schemas {
        let text = text.replacen('{', r#"{"type": "object", "#, 1);
        let constraint = schema(&text, Profile::Exact);
        assert_eq!(finish_after(&constraint, ""), Ok(()), "{text}");
    }
}

#[test]
fn what_is_promised_holds_when_all_short_keys_and_items_are_present() {
    let schemas = [
        r#"{"type": "object", "minProperties": 230}"#,
        // All keys of one letter are declared.
        r#"{"type": "object", "minProperties": 120, "properties": DECLARED}"#,
        r#"{"type": "object", "minProperties": 9, "properties": DECLARED, "required": ["~"]}"#,
        r#"{"type": "object", "minProperties": 120, "patternProperties": {"^a": {"type": "integer"}}}"#,
        r#"{"type": "object", "minProperties": 120, "patternProperties": {"^.?$": {"type": "integer"}}}"#,
        r#"{"type": "object", "minProperties": 30, "propertyNames": {"maxLength": 1, "pattern": "[\\x00-\\x1f\"\\\\]"}}"#,
        r#"{"type": "object", "minProperties": 7, "propertyNames": {"pattern": "^[a-c\\x00-\\x04]$"}}"#,
        r#"{"type": "object", "minProperties": 9, "propertyNames": {"pattern": "^[a\\x00\\n]*$"}}"#,
        r#"{"type": "object", "minProperties": 9, "propertyNames": {"pattern": "^(a|\\x00b|\"){1,2}$"}, "properties": {"a\u0000b": {}, "a": true}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 120, "items": {"type": "string"}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 7, "items": {"type": "string", "pattern": "^[a-c\\x00-\\x04]$"}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 120, "items": {"type": ["integer", "null"]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 120}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 40, "items": {"type": "object"}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 40, "items": {"type": "array", "items": {"type": "boolean"}}}"#,
    ];
    let letters = (0x20..=0x7F_u8).map(char::from);
    let letters = letters.map(|letter| (letter.to_string(), Value::Object(Map::new())));
    let declared = Value::Object(letters.collect()).to_string();
    for text in schemas {
        let constraint = schema(&text.replace("DECLARED", &declared), Profile::Exact);
        let kept = finish_after(&constraint, "");
        assert_eq!(kept, Ok(()), "{text}");
    }
}

#[test]
fn near_the_limit_on_nesting_only_what_fits_is_promised() {
    // What is cheapest nests too deep at the end.
    let ends = [
        r##"{"type": "array", "items": {"type": "integer"}}"##,
        r##"{"type": "array", "minItems": 2, "items": {"anyOf": [{"type": "array", "maxItems": 0}, {"const": "long enough"}]}}"##,
        r##"{"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [{"type": "array"}, {"const": "long enough"}]}}"##,
        r##"{"type": "array", "contains": {"anyOf": [{"type": "object"}, {"const": "long enough"}]}}"##,
        r##"{"type": "object", "required": ["a", "b"], "properties": {"a": {"type": ["array", "boolean"]},
            "b": {"anyOf": [{"type": "object"}, {"type": "string", "format": "date-time"}]}}}"##,
    ];
    for end in ends {
        for (chain, open) in [
            (
                r##""properties": {"c": {"$ref": "#/$defs/e"}}, "required": ["c"]"##,
                "{\"c\":",
            ),
            (
                r##""minProperties": 1, "additionalProperties": {"$ref": "#/$defs/e"}"##,
                "{\"c\":",
            ),
        ] {
            let text = format!(
                r##"{{"$ref": "#/$defs/t", "$defs": {{
                    "t": {{"type": "object", {chain}}},
                    "e": {{"anyOf": [{{"$ref": "#/$defs/t"}}, {end}, {{"type": "string", "format": "uuid"}}]}}
                }}}}"##
            );
            let constraint = schema(&text, Profile::Generate);
            for levels in [1, 40, 60, 61, 62, 63, 64] {
                let kept = finish_after(&constraint, open.repeat(levels));
                assert_eq!(kept, Ok(()), "{levels} levels of {text}");
            }
        }
    }
}

#[test]
fn what_was_written_counts_in_an_object_whose_members_are_counted() {
    let text = r#"{"type": "object", "additionalProperties": false, "minProperties": 3, "required": ["a", "o"],
        "properties": {
            "a": {"type": "string"},
            "c": {"type": "integer"},
            "o": {"type": "object", "additionalProperties": false, "required": ["b"],
                "properties": {"b": {"type": "string", "x-structgen": {"in": "/a"}}}},
            "d": {"type": "integer"}
        }}"#;
    let constraint = schema(text, Profile::Generate);
    for beginning in [
        "",
        "{\"a\":\"LONG",
        "{\"a\":\"LONG\",\"c\":1",
        "{\"a\":\"LONG\",\"c\":1,\"o\":{",
    ] {
        let beginning = beginning.replace("LONG", &"x".repeat(100));
        assert_eq!(finish_after(&constraint, &beginning), Ok(()), "{beginning}");
    }
}

#[test]
fn within_a_character_keys_that_are_present_count() {
    let constraint = schema(
        r#"{"type": "object", "minProperties": 6082}"#,
        Profile::Exact,
    );
    let letters = (' '..='\u{7f}').filter(|letter| !matches!(letter, '"' | '\\'));
    let letters: Vec<char> = letters.collect();
    let mut members = String::from("{");
    for character in 'À'..='ÿ' {
        members += &format!("\"{character}\":0,");
        for letter in &letters {
            members += &format!("\"{character}{letter}\":0,");
        }
    }
    let mut beginning = members.into_bytes();
    beginning.extend(b"\"\xC3");
    assert_eq!(finish_after(&constraint, beginning), Ok(()));
}

/// Writes the beginning of a document and then any token that lowers the cost, to the end; fails with the text after
/// which there is none.
fn finish_after(
    constraint: &CompiledConstraint,
    beginning: impl AsRef<[u8]>,
) -> Result<(), String> {
    let mut matcher = constraint.matcher();
    let beginning = beginning.as_ref();
    for &byte in beginning {
        matcher
            .accept_token(TokenId(byte.into()))
            .expect("it is allowed");
    }
    let mut cost = matcher.completion_cost().expect("within limits");
    let mut written = beginning.to_vec();
    while !matcher.is_accepting() {
        // Whatever is promised before a token is kept after some token.
        let mask = matcher.mask().expect("within limits");
        let mut tokens = mask.bits().iter();
        let cheaper = |token: &TokenId| {
            let after = matcher.completion_cost_after(*token);
            after.expect("within limits") < cost
        };
        let Some(token) = tokens.find(cheaper) else {
            let written = String::from_utf8_lossy(&written).into_owned();
            return Err(format!("nothing is cheaper than {cost} after {written}"));
        };
        matcher.accept_token(token).expect("it is allowed");
        cost = matcher.completion_cost().expect("within limits");
        written.extend(
            constraint
                .vocabulary()
                .token_bytes(token)
                .unwrap_or_default(),
        );
    }
    Ok(())
}
