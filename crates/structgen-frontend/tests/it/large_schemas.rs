//! Large schemas, for which work that grows with the square of their size would take minutes.

use serde_json::{Map, Value, json};
use structgen_frontend::json_schema::{Profile, SchemaError, SchemaOptions, compile};

const MANY: usize = 100_000;

/// The number of steps of a compilation.
fn steps(schema: &Value) -> u64 {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let report = compile(schema, &options).expect("it compiles").report;
    let mut usage = report.usage.iter();
    let steps = usage.find(|usage| usage.what.starts_with("steps"));
    steps.expect("steps are reported").used
}

#[test]
fn many_schemas_about_one_value_compile() {
    steps(&json!({"allOf": vec![json!({}); 5 * MANY]}));
    let items = vec![json!({"items": {"type": "null"}}); MANY];
    steps(&json!({"type": "array", "allOf": items}));
}

#[test]
fn many_keys_are_evaluated() {
    let keys = |from: usize| -> Map<String, Value> {
        let keys = from..from + MANY;
        keys.map(|i| (format!("key {i:06}"), json!(true))).collect()
    };
    let schema = json!({
        "properties": keys(0),
        "allOf": [{"properties": keys(MANY / 2)}],
        "unevaluatedProperties": false,
    });
    steps(&schema);
}

/// Keys that all have the same hash under rustc-hash 2, whose function has no secret.
fn colliding_keys() -> impl Iterator<Item = String> {
    (0..MANY).map(|i| format!("oasfxudbxenvjqyg{i:08}6/ufpm+J"))
}

#[test]
fn keys_and_values_that_collide_under_a_fixed_hash_function_compile() {
    let properties: Map<String, Value> =
        { colliding_keys() }.map(|key| (key, json!(true))).collect();
    let required: Vec<String> = colliding_keys().collect();
    steps(&json!({"properties": properties, "required": required}));
    steps(&json!({"enum": colliding_keys().collect::<Vec<String>>()}));
    let objects = { colliding_keys().take(10_000) }.map(|key| json!({(key.as_str()): key}));
    steps(&json!({"enum": objects.collect::<Vec<Value>>()}));
}

#[test]
fn rules_whose_names_are_cut_are_numbered() {
    let start = "k".repeat(300);
    let properties: Map<String, Value> = (0..MANY / 4)
        .map(|i| {
            (
                format!("{start}{i}"),
                json!({"type": "object", "maxProperties": i}),
            )
        })
        .collect();
    steps(&json!({"properties": properties}));
}

#[test]
fn the_alternatives_of_a_negation_are_counted_by_their_size() {
    // Two of the alternatives always hold together, so no other pair is examined.
    let negated = |alternatives: usize| {
        json!({
            "allOf": [{"$ref": "#/not/oneOf/0"}, {"$ref": "#/not/oneOf/1"}],
            "not": {"oneOf": vec![json!({"minimum": 0}); alternatives]},
        })
    };
    steps(&negated(1_000));
    let error = compile(&negated(1_500), &SchemaOptions::new()).unwrap_err();
    assert!(matches!(error, SchemaError::Limit { .. }), "{error}");
}
