//! Schemas with so many parts that no two of them may be compared one by one.

use serde_json::{Map, Value, json};
use structgen_frontend::json_schema::{Profile, SchemaOptions, compile};

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
