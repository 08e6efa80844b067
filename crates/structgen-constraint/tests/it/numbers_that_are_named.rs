//! Numbers that a schema names are valid, however many digits the form allows elsewhere.

use structgen_frontend::json_schema::{Profile, SchemaOptions, compile_str};

use crate::support::{compile, walk_and_hold};

#[test]
fn there_is_room_for_the_numbers_of_a_schema() {
    let digits = "12345678901234567890123456789012345678901";
    let tiny = format!("0.{digits}");
    let power = format!("1{}", "0".repeat(60));
    let between = format!(r#"{{"exclusiveMinimum": {tiny}, "maximum": {tiny}9}}"#);
    for (schema, text) in [
        (format!(r#"{{"const": {digits}}}"#), digits.to_owned()),
        (
            format!(r#"{{"enum": [1, -{digits}]}}"#),
            format!("-{digits}"),
        ),
        (format!(r#"{{"const": {tiny}}}"#), tiny.clone()),
        (format!(r#"{{"const": {power}}}"#), power.clone()),
        (
            format!(r#"{{"minimum": {digits}, "type": "integer"}}"#),
            digits.to_owned(),
        ),
        (
            format!(r#"{{"exclusiveMinimum": {power}, "type": "integer"}}"#),
            format!("{}1", &power[..60]),
        ),
        (format!(r#"{{"maximum": -{digits}}}"#), format!("-{digits}")),
        (between, format!("{tiny}5")),
        (
            format!(r#"{{"minimum": 1, "multipleOf": {power}}}"#),
            power.clone(),
        ),
        (
            r#"{"const": 1e-16}"#.to_owned(),
            "0.0000000000000001".to_owned(),
        ),
        (
            format!(r#"{{"minimum": {digits}, "type": "integer", "not": {{"multipleOf": 7}}}}"#),
            digits.to_owned(),
        ),
        (
            format!(
                r#"{{"uniqueItems": true, "items": {{"enum": [{digits}, 2]}}, "type": "array"}}"#
            ),
            format!("[2,{digits}]"),
        ),
        (
            r#"{"exclusiveMinimum": 0, "type": "integer", "multipleOf": 1e25}"#.to_owned(),
            format!("1{}", "0".repeat(25)),
        ),
    ] {
        for profile in [Profile::Exact, Profile::Generate] {
            let options = SchemaOptions::new().with_profile(profile);
            let constraint = compile(compile_str(&schema, &options).expect(&schema).grammar);
            let refused = constraint.matcher().check_text(text.as_bytes());
            assert_eq!(refused.expect("within limits"), None, "{schema}");
            walk_and_hold(&constraint, 1, 200);
        }
    }
}
