//! Random schemas and values: the canonical form must agree with direct validation by keyword.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Profile, SchemaError, SchemaLimits, SchemaOptions};

/// What random schemas and values are about.
#[derive(Clone, Copy)]
struct Words {
    /// Patterns of the strings and keys.
    strings: &'static str,
    keys: &'static str,
    /// Assertions about strings.
    assertions: &'static [(&'static str, &'static str)],
}

const LETTERS: Words = Words {
    strings: "[ab]{0,3}",
    keys: "[abc]",
    assertions: &[
        ("pattern", "^a"),
        ("pattern", "b$"),
        ("pattern", "^(a|bb)*$"),
        ("pattern", "a"),
    ],
};

/// Names of hosts, not all of which are compiled.
const NAMES: Words = Words {
    strings: "a|a b|ab--cd|xn--4gbwdl|xn--zz",
    keys: "a|a b|xn--4gbwdl",
    assertions: &[
        ("format", "hostname"),
        ("format", "idn-hostname"),
        ("format", "regex"),
        ("pattern", "^xn--"),
    ],
};

fn value(words: Words) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3..6_i32).prop_map(|number| json!(number)),
        (-3..6_i32).prop_map(|number| json!(f64::from(number) / 2.0)),
        words.strings.prop_map(Value::String),
    ];
    leaf.prop_recursive(2, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((words.keys, inner), 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn keys(words: Words) -> impl Strategy<Value = Value> {
    prop::collection::vec(words.keys, 0..3).prop_map(|keys| json!(keys))
}

/// A schema of one to three keywords.
fn schema(words: Words) -> impl Strategy<Value = Value> {
    let names = [
        "null", "boolean", "integer", "number", "string", "object", "array",
    ];
    let types = prop::sample::subsequence(names.to_vec(), 1..5);
    let plain = prop_oneof![
        types.prop_map(|types| json!({"type": types})),
        (-2..5_i32).prop_map(|bound| json!({"minimum": bound})),
        (-2..5_i32).prop_map(|bound| json!({"exclusiveMaximum": bound})),
        prop::sample::select(vec![json!(0.5), json!(2), json!(1.5)])
            .prop_map(|divisor| json!({"multipleOf": divisor})),
        (0..3_u32).prop_map(|count| json!({"minLength": count})),
        (0..3_u32).prop_map(|count| json!({"maxLength": count})),
        prop::sample::select(words.assertions).prop_map(|(keyword, value)| json!({keyword: value})),
        (0..3_u32).prop_map(|count| json!({"minItems": count})),
        (0..3_u32).prop_map(|count| json!({"maxItems": count})),
        (0..3_u32).prop_map(|count| json!({"minProperties": count})),
        (0..3_u32).prop_map(|count| json!({"maxProperties": count})),
        Just(json!({"uniqueItems": true})),
        keys(words).prop_map(|keys| json!({"required": keys})),
        (words.keys, keys(words)).prop_map(|(key, keys)| json!({"dependentRequired": {key: keys}})),
        value(words).prop_map(|value| json!({"const": value})),
        prop::collection::vec(value(words), 1..4).prop_map(|values| json!({"enum": values})),
        any::<bool>().prop_map(Value::Bool),
    ];
    plain.prop_recursive(3, 24, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let fields = prop::collection::vec((words.keys, inner.clone()), 0..3)
            .prop_map(|entries| Value::Object(entries.into_iter().collect()));
        prop_oneof![
            list.clone().prop_map(|arms| json!({"allOf": arms})),
            list.clone().prop_map(|arms| json!({"anyOf": arms})),
            list.clone().prop_map(|arms| json!({"oneOf": arms})),
            inner.clone().prop_map(|inner| json!({"not": inner})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            fields.clone().prop_map(|fields| json!({"properties": fields})),
            (fields.clone(), inner.clone())
                .prop_map(|(fields, rest)| json!({"properties": fields, "additionalProperties": rest})),
            (inner.clone(), inner.clone())
                .prop_map(|(some, rest)| json!({"patternProperties": {"^[ab]": some}, "additionalProperties": rest})),
            (list, inner.clone()).prop_map(|(prefix, rest)| json!({"prefixItems": prefix, "items": rest})),
            inner.clone().prop_map(|item| json!({"items": item})),
            inner.clone().prop_map(|names| json!({"propertyNames": names})),
            (inner.clone(), 0..3_u32, 0..3_u32)
                .prop_map(|(item, min, max)| json!({"contains": item, "minContains": min, "maxContains": max})),
            (inner.clone(), inner).prop_map(|(a, b)| match (a, b) {
                // Both sets of keywords in one schema.
                (Value::Object(mut a), Value::Object(b)) => {
                    a.extend(b);
                    Value::Object(a)
                }
                (a, _) => a,
            }),
        ]
    })
}

/// Compares the canonical form with direct validation.
fn check(schema: &Value, values: &[Value], profile: Profile) {
    let limits = SchemaLimits::default();
    let read = |value| Json::from_value(value, &limits).expect("the value is small");
    let values: Vec<Json<'_>> = values.iter().map(read).collect();
    let options = SchemaOptions::new().with_profile(profile);
    // `judge` compares the two.
    let judged = judge(&read(schema), &values, &options);
    if let Err(error) = judged.canonical {
        let is_named = matches!(
            error,
            SchemaError::Unsupported { .. } | SchemaError::Limit { .. }
        );
        assert!(is_named, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_canonical_form_agrees_with_the_keywords(
        schema in schema(LETTERS),
        values in prop::collection::vec(value(LETTERS), 1..12),
    ) {
        check(&schema, &values, Profile::Exact);
    }

    #[test]
    fn the_canonical_form_of_a_narrowed_schema_contains_nothing_invalid(
        schema in schema(NAMES),
        values in prop::collection::vec(value(NAMES), 1..12),
    ) {
        check(&schema, &values, Profile::Generate);
    }
}
