//! Strings of patterns in places that differ in what follows them: what tokens do in the string is found once.

use structgen_constraint::{CompiledConstraint, ConstraintOptions, oracle};
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_grammar::EscapeForm;
use structgen_vocab::TokenId;

use crate::support::{compile_with, vocabulary_with, walk_and_compare};

/// Patterns whose strings can be left by more than a quote, or do not lead back to one state.
const PATTERNS: [&str; 6] = [
    r"^(\\S+\\s+){0,9}\\S+$",
    r"^[a-z]{2,9}$",
    r"^[a-zé]+([ ,][a-zé]+){0,3}$",
    r"^([a-z0-9]+-)*[a-z]+$",
    r"^[^x\\\\]{3,40}$",
    r#"^x?[ab\"\\\\]{2,6}$"#,
];

fn constraint(schema: &str, escapes: EscapeForm) -> CompiledConstraint {
    let tokens = [
        "b\",\"a",
        "aa\",\"",
        "ab\"]",
        "ab c\", \"",
        "a-b\"",
        "\\\"a\",",
        "\\\\\"]",
        "a\\n\"",
        "é\",",
        " a",
        " ab",
        " a\"",
        "a b",
        ", a",
        "aaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaa\",",
        "aaaaaaaaaaaaaaaaaaaaaaaa\"]",
        "aaaaaaaaaaaa a a a a a a a",
        "aaaaaaaaaaaa a a a a a a a\"]",
    ];
    // So many after a quote that a walk does not take them one after the other.
    let more = (0..600).map(|i| format!("\",\"{}{i}", char::from(b'a' + (i % 26) as u8)));
    let more: Vec<String> = more.collect();
    let tokens: Vec<&str> = tokens
        .into_iter()
        .chain(more.iter().map(|it| &**it))
        .collect();
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_escapes(escapes);
    let compiled = json_schema::compile_str(schema, &options).expect("a schema");
    compile_with(compiled.grammar, &vocabulary_with(&tokens))
}

#[test]
fn masks_of_items_are_those_of_the_oracle() {
    let string = |pattern: &str| format!(r#"{{"type": "string", "pattern": "{pattern}"}}"#);
    for (i, pattern) in PATTERNS.into_iter().enumerate() {
        let of_one = format!(
            r#"{{"type": "array", "items": {}, "minItems": 2, "maxItems": 2}}"#,
            string(pattern)
        );
        // States of different terminals have the same numbers.
        let of_two = format!(
            r#"{{"type": "array", "prefixItems": [{}, {}], "items": false, "minItems": 2}}"#,
            string(pattern),
            string(PATTERNS[(i + 1) % PATTERNS.len()])
        );
        // Declared keys end under other labels than those of the pattern.
        let of_keys = format!(
            r#"{{"type": "object", "properties": {{"a": {0}, "ab": {0}}}, "patternProperties": {{"{1}": {0}}},
                "additionalProperties": false, "maxProperties": 3}}"#,
            string(pattern),
            pattern
        );
        for schema in [of_one, of_two, of_keys] {
            for escapes in [EscapeForm::Any, EscapeForm::Needed] {
                let constraint = constraint(&schema, escapes);
                for seed in 0..20 {
                    walk_and_compare(&constraint, seed, 40);
                }
            }
        }
    }
}

#[test]
fn what_tokens_do_in_a_string_is_found_once() {
    let schema = format!(
        r#"{{"type": "array", "items": {{"type": "string", "pattern": "{}"}}, "maxItems": 5}}"#,
        PATTERNS[0]
    );
    let constraint = constraint(&schema, EscapeForm::Any);
    let mut matcher = constraint.matcher();
    let mut walked = Vec::new();
    for text in ["[\"", "a b\",\"", "a b\",\"", "a b\",\""] {
        for byte in text.bytes() {
            let token = TokenId(u32::from(byte));
            matcher.accept_token(token).expect("it is allowed");
        }
        let before = constraint.statistics().nodes_walked;
        let mask = matcher.mask().expect("within limits");
        walked.push(constraint.statistics().nodes_walked - before);
        assert_eq!(mask.bits(), &oracle::mask(&matcher).expect("within limits"));
    }
    for &nodes in &walked[1..] {
        assert!(2 * nodes < walked[0], "{walked:?}");
    }
}

#[test]
fn what_tokens_do_in_strings_has_a_limit_of_its_own() {
    // A pattern of many states, and so little memory that only some of them are kept.
    let schema = r#"{"type": "array", "items": {"type": "string", "pattern": "^([a-y]{1,9}z[ab]?)*[a-y]$"}}"#;
    let grammar = json_schema::compile_str(schema, &SchemaOptions::new())
        .expect("a schema")
        .grammar;
    let options = ConstraintOptions {
        state_bytes: 8 << 10,
        ..ConstraintOptions::default()
    };
    let constraint = CompiledConstraint::new(grammar, &vocabulary_with(&[]), &options);
    let constraint = constraint.expect("a constraint");
    let mut matcher = constraint.matcher();
    for byte in br#"["abcdezac","abzbcdefzaa"]"# {
        let mask = matcher.mask().expect("within limits");
        assert_eq!(mask.bits(), &oracle::mask(&matcher).expect("within limits"));
        let token = TokenId(u32::from(*byte));
        matcher.accept_token(token).expect("the mask allows it");
    }
}
