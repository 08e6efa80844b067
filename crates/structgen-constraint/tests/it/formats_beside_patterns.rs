//! Strings that a format or a counter and a pattern describe together: every text can be written to its end.

use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_vocab::TokenId;

use crate::support::{compile_with_long_tokens, walk_and_hold};

/// Schemas of strings that a format or a counter and a pattern describe together, each with a text.
const FORMATS_AND_PATTERNS: [(&str, &str); 13] = [
    (
        r#"{"format": "email", "pattern": "@example\\.com$"}"#,
        "a.b@example.com",
    ),
    (
        r#"{"format": "email", "pattern": "@example\\.(com|org)$", "maxLength": 250}"#,
        "a@example.org",
    ),
    (
        r#"{"format": "email", "pattern": "^[a-z]+\\.[a-z]+@", "minLength": 20}"#,
        "ada.lovelace@a.example",
    ),
    (
        r#"{"format": "email", "not": {"pattern": "@example\\.com$"}}"#,
        "a@example.org",
    ),
    (
        r#"{"format": "hostname", "pattern": "\\.example\\.com$", "maxLength": 100}"#,
        "a.b.example.com",
    ),
    (
        r#"{"format": "hostname", "pattern": "^(www|ftp)\\..*\\.de$"}"#,
        "www.a-b.de",
    ),
    (
        r#"{"format": "uri", "pattern": "^https://[a-z]+\\.example\\.com/.*\\.pdf$"}"#,
        "https://a.example.com/b/c.pdf",
    ),
    (
        r#"{"format": "uri", "pattern": "//example\\.com.*[?&]id=[0-9]{1,40}$"}"#,
        "http://example.com/?id=7",
    ),
    (
        r#"{"pattern": "^[^@]{1,64}@[^@]{1,255}$", "allOf": [{"pattern": "@x\\.y\\.z$"}, {"pattern": "^.*a.*@"}]}"#,
        "bab@x.y.z",
    ),
    (
        r#"{"pattern": "^([a-z]{1,63}\\.){1,8}[a-z]{2,63}$", "allOf": [{"pattern": "\\.co\\.uk$"}, {"pattern": "^[^.]{3,40}\\."}]}"#,
        "abc.co.uk",
    ),
    (
        r#"{"pattern": "^[A-Z]{2}[0-9]{2}([ ]?[A-Z0-9]{4}){2,7}$", "not": {"pattern": "00$"}, "minLength": 12}"#,
        "DE89 3704 0044",
    ),
    (
        r#"{"maxLength": 4000, "pattern": "^(.{0,80}\\n){0,50}end$"}"#,
        "one\\ntwo\\nend",
    ),
    (
        r#"{"minLength": 3, "maxLength": 500, "allOf": [{"pattern": "a.{0,100}b"}, {"pattern": "b.{0,100}c"}, {"pattern": "^[a-c]*$"}]}"#,
        "abcabc",
    ),
];

#[test]
fn what_a_format_and_a_pattern_leave_can_be_written_to_its_end() {
    for (schema, text) in FORMATS_AND_PATTERNS {
        let mut value: serde_json::Value = serde_json::from_str(schema).unwrap();
        value["type"] = "string".into();
        let options = SchemaOptions::new();
        let constraint =
            compile_with_long_tokens(json_schema::compile(&value, &options).unwrap().grammar);
        let mut matcher = constraint.matcher();
        for byte in format!("\"{text}\"").bytes() {
            let mask = matcher
                .mask()
                .unwrap_or_else(|error| panic!("{schema}: {error}"));
            let token = TokenId(byte.into());
            assert!(mask.contains(token), "{schema}: {}", char::from(byte));
            matcher.accept_token(token).unwrap();
        }
        assert!(matcher.is_accepting(), "{schema}");
        for seed in 0..3 {
            walk_and_hold(&constraint, seed, 60);
        }
    }
}
