//! Formats of which only a subset is compiled: what is left out never becomes valid elsewhere.

use serde_json::{Value, json};

use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Effect, Profile, SchemaOptions, compile, violations};

/// A name that has the format `hostname`, although it is not compiled.
const A_LABEL: &str = "xn--4gbwdl.xn--wgbh1c";

const MANY_DIGITS: &str = "2024-05-12T23:59:59.1234567890Z";

/// Whether the canonical form of the schema contains the value.
fn accepts(schema: &Value, profile: Profile, value: &Value) -> bool {
    let options = SchemaOptions::new().with_profile(profile);
    let read = |value| Json::from_value(value, &options.limits).expect("it is small");
    let judged = judge(&read(schema), &[read(value)], &options);
    judged.canonical.expect("the schema is supported")[0]
}

/// The keywords that the value violates.
fn violated(schema: &Value, profile: Profile, value: &Value) -> Vec<String> {
    let options = SchemaOptions::new().with_profile(profile);
    let found = violations(&schema.to_string(), "", &options, &value.to_string());
    let found = found.expect("the schema is supported");
    found.into_iter().map(|found| found.keyword).collect()
}

fn reason(schema: &Value) -> String {
    let refused = compile(schema, &SchemaOptions::new());
    refused.expect_err("the schema is refused").to_string()
}

/// What the report says is left out.
fn left_out(schema: &Value) -> Vec<&'static str> {
    let compiled = compile(schema, &SchemaOptions::new()).expect("the schema is supported");
    let entries = compiled.report.narrowed();
    let effects = entries.map(|entry| match entry.effect {
        Effect::Narrowed { how } => how,
        _ => "",
    });
    effects.collect()
}

#[test]
fn a_value_that_two_arms_of_one_of_match_is_refused_even_if_one_arm_leaves_it_out() {
    for profile in [Profile::Generate, Profile::Exact, Profile::Rust] {
        let schema = json!({"oneOf": [{"const": A_LABEL}, {"format": "hostname"}]});
        assert!(!accepts(&schema, profile, &json!(A_LABEL)), "{profile:?}");
        assert_eq!(violated(&schema, profile, &json!(A_LABEL)), ["#/oneOf"]);
        assert!(accepts(&schema, profile, &json!("a")));
        // A name with reserved hyphens is none, so only one arm matches it.
        let schema = json!({"oneOf": [{"const": "ab--cd"}, {"format": "hostname"}]});
        assert!(accepts(&schema, profile, &json!("ab--cd")), "{profile:?}");

        let schema = json!({"oneOf": [{"const": MANY_DIGITS}, {"format": "date-time"}]});
        assert!(
            !accepts(&schema, profile, &json!(MANY_DIGITS)),
            "{profile:?}"
        );
        let schema = json!({"oneOf": [{"const": "^[ -~]+$"}, {"format": "regex"}]});
        assert!(
            !accepts(&schema, profile, &json!("^[ -~]+$")),
            "{profile:?}"
        );
        let schema = json!({"oneOf": [
            {"type": "object", "required": ["h"], "properties": {"h": {"const": A_LABEL}}},
            {"type": "object", "required": ["h"], "properties": {"h": {"format": "hostname"}}},
        ]});
        assert!(
            !accepts(&schema, profile, &json!({"h": A_LABEL})),
            "{profile:?}"
        );
        let schema = json!({"oneOf": [
            {"pattern": "^xn--[a-z0-9]*$"},
            {"type": "string", "format": "hostname"},
        ]});
        assert!(
            !accepts(&schema, profile, &json!("xn--4gbwdl")),
            "{profile:?}"
        );
        assert!(accepts(&schema, profile, &json!("example")));
    }
}

#[test]
fn numbers_that_a_rust_type_cannot_hold_match_its_schema() {
    let schema = json!({"oneOf": [{"const": 300}, {"type": "integer", "format": "int8"}]});
    assert!(!accepts(&schema, Profile::Rust, &json!(300)));
    assert!(accepts(&schema, Profile::Rust, &json!(100)));
    assert_eq!(violated(&schema, Profile::Rust, &json!(300)), ["#/oneOf"]);
    let schema = json!({"oneOf": [
        {"const": {"n": 300}},
        {"properties": {"n": {"type": "integer", "format": "uint8"}}},
    ]});
    assert!(!accepts(&schema, Profile::Rust, &json!({"n": 300})));
    let schema = json!({"enum": [{"a": 300}, {"a": 1}], "properties": {"a": {"format": "int8"}}});
    assert!(!accepts(&schema, Profile::Rust, &json!({"a": 300})));
    assert!(accepts(&schema, Profile::Rust, &json!({"a": 1})));
    assert_eq!(
        violated(&schema, Profile::Rust, &json!({"a": 300})),
        ["#/properties/a/format"]
    );
    let schema = json!({
        "enum": [{"a": 300}, {"b": 1}],
        "not": {"required": ["a"], "properties": {"a": {"format": "int8"}}},
    });
    assert!(!accepts(&schema, Profile::Rust, &json!({"a": 300})));
    assert!(accepts(&schema, Profile::Rust, &json!({"b": 1})));
}

#[test]
fn names_and_values_that_are_left_out_do_not_satisfy_a_negation() {
    for profile in [Profile::Generate, Profile::Exact] {
        let schema = json!({"type": "object", "not": {"propertyNames": {"format": "hostname"}}});
        assert!(!accepts(&schema, profile, &json!({"xn--4gbwdl": 1})));
        assert!(accepts(&schema, profile, &json!({"a b": 1})));
        assert!(accepts(
            &schema,
            profile,
            &json!({"xn--4gbwdl": 1, "a b": 1})
        ));

        let schema = json!({"type": "array", "minItems": 1, "items": {"const": "xn--4gbwdl"},
            "not": {"items": {"format": "hostname"}}});
        assert!(!accepts(&schema, profile, &json!(["xn--4gbwdl"])));
        let schema = json!({"type": "array", "minItems": 1, "items": {"pattern": "^xn--4gb"},
            "not": {"items": {"format": "hostname"}}});
        assert!(!accepts(&schema, profile, &json!(["xn--4gbwdl"])));

        let schema = json!({"type": "object", "propertyNames": {"not": {"format": "hostname"}},
            "properties": {"xn--4gbwdl": {}, "a b": {}}});
        assert!(!accepts(&schema, profile, &json!({"xn--4gbwdl": 1})));
        assert!(accepts(&schema, profile, &json!({"a b": 1})));

        let schema = json!({"enum": [{"h": "xn--4gbwdl"}, {"h": "a b"}],
            "properties": {"h": {"not": {"format": "hostname"}}}});
        assert!(!accepts(&schema, profile, &json!({"h": "xn--4gbwdl"})));
        assert!(accepts(&schema, profile, &json!({"h": "a b"})));
    }
}

#[test]
fn a_choice_is_not_taken_as_made_because_of_what_is_left_out() {
    let schema = json!({
        "type": "object",
        "required": ["h"],
        "properties": {"h": {"type": "string", "pattern": "^xn--[a-z]{2}$"}},
        "not": {"minProperties": 2, "properties": {"h": {"not": {"format": "hostname"}}}},
    });
    for profile in [Profile::Generate, Profile::Exact] {
        assert!(!accepts(&schema, profile, &json!({"h": "xn--zz", "a": 1})));
        assert!(accepts(&schema, profile, &json!({"h": "xn--zz"})));
    }
}

#[test]
fn listed_values_are_decided_exactly() {
    for (format, text, is_valid) in [
        ("hostname", "xn--4gbwdl", true),
        ("hostname", "xn--zz", false),
        ("idn-hostname", "xn--4gbwdl", true),
        ("idn-email", "a@\u{fc}1.\u{fc}2.\u{fc}3.\u{fc}4", true),
        ("email", "a@ab--cd.com", true),
        ("regex", "^[ -~]+$", true),
        ("regex", "[b-a]", false),
        ("date-time", MANY_DIGITS, true),
        ("time", &MANY_DIGITS[11..], true),
    ] {
        let value = json!(text);
        let affirmed = json!({"format": format, "enum": [text, "@"]});
        let negated = json!({"not": {"format": format}, "enum": [text, "@ @"]});
        for profile in [Profile::Generate, Profile::Exact] {
            assert_eq!(
                accepts(
                    &json!({"anyOf": [affirmed, {"type": "null"}]}),
                    profile,
                    &value
                ),
                is_valid,
                "{text}"
            );
            assert_eq!(accepts(&negated, profile, &value), !is_valid, "{text}");
            let expected: &[&str] = if is_valid { &[] } else { &["#/format"] };
            assert_eq!(
                violated(&json!({"format": format}), profile, &value),
                expected
            );
        }
    }
}

#[test]
fn negations_say_what_they_leave_out_and_contradict_only_where_nothing_is_valid() {
    let not = |format| json!({"type": "string", "not": {"format": format}});
    for (format, invalid, unknown) in [
        ("regex", "(", "[b-a]"),
        ("idn-email", "a@b@c", "a@-\u{fc}"),
        ("idn-hostname", "a b", "-a"),
        ("hostname", "ab--cd", "xn--zz"),
    ] {
        assert!(
            accepts(&not(format), Profile::Generate, &json!(invalid)),
            "{format}"
        );
        assert!(
            !accepts(&not(format), Profile::Generate, &json!(unknown)),
            "{format}"
        );
        assert!(left_out(&not(format))[0].ends_with("left out"), "{format}");
    }
    assert!(accepts(&not("email"), Profile::Generate, &json!("a@b@c")));
    assert!(accepts(&not("email"), Profile::Generate, &json!("a@-b")));
    assert_eq!(left_out(&not("email")), [""; 0]);

    let only_left_out = json!({"type": "string", "pattern": "^[b-z]-[b-z]\\[[b-z]-a\\]$", "not": {"format": "regex"}});
    let message = reason(&only_left_out);
    assert!(
        message.starts_with("#/not/format: `format` is not supported here: only values that are left out may be valid: "),
        "{message}"
    );
    let contradicts = json!({"type": "string", "const": "a", "not": {"format": "regex"}});
    assert!(reason(&contradicts).contains("no value is valid"));
    let both =
        json!({"type": "string", "format": "hostname", "allOf": [{"not": {"format": "hostname"}}]});
    assert!(reason(&both).contains("no value is valid"));
}

#[test]
fn what_regex_leaves_out_is_in_the_report() {
    let report = left_out(&json!({"format": "regex"}));
    for part in [
        "`{n,m}` with n from 100",
        "`\\0`",
        "common properties and scripts",
    ] {
        assert!(report[0].contains(part), "{part}");
    }
    assert_eq!(left_out(&json!({"format": "email"})), [""; 0]);
}
