//! Adversarial schemas: each compiles quickly or is refused by a limit.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::json_schema::{
    FormatMode, Profile, SchemaError, SchemaLimits, SchemaOptions, compile, compile_str,
};

/// Compiles in every profile; a refusal must be the error that the test expects.
fn survives(schema: &Value, may_be: fn(&SchemaError) -> bool) {
    for profile in [Profile::Exact, Profile::Generate, Profile::Rust] {
        let start = Instant::now();
        let compiled = compile(schema, &SchemaOptions::new().with_profile(profile));
        let took = start.elapsed();
        if let Err(error) = compiled {
            assert!(may_be(&error), "{error}");
        }
        // Generous, for slow and busy machines.
        assert!(took < Duration::from_secs(10), "it took {took:?}");
    }
}

fn never(_: &SchemaError) -> bool {
    false
}

fn limit(error: &SchemaError) -> bool {
    matches!(error, SchemaError::Limit { .. })
}

fn nested(levels: usize, wrap: fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({"type": "null"}), |inner, _| wrap(inner))
}

#[test]
fn deep_schemas_are_compiled_or_refused() {
    survives(&nested(200, |inner| json!({"items": inner})), never);
    survives(&nested(200, |inner| json!({"not": inner})), never);
    survives(&nested(200, |inner| json!({"anyOf": [inner]})), never);
    survives(
        &nested(
            200,
            |inner| json!({"properties": {"a": inner}, "required": ["a"]}),
        ),
        never,
    );
    for wrap in [
        |inner| json!({"items": inner}),
        |inner| json!({"not": inner}),
        |inner| json!({"not": inner, "title": "x"}),
        |inner| json!({"not": inner, "minimum": 1}),
        |inner| json!({"additionalProperties": inner, "minimum": 1}),
    ] {
        survives(&nested(500, wrap), limit);
    }
    let value = nested(500, |inner| json!([inner]));
    let lists = json!({"const": value, "$ref": "#/$defs/n", "$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}});
    survives(&lists, limit);
    let deep = nested(600, |inner| json!({"items": inner}));
    assert!(limit(&compile(&deep, &SchemaOptions::new()).unwrap_err()));
    let text = "{\"items\":".repeat(100_000);
    assert!(limit(
        &compile_str(&text, &SchemaOptions::new()).unwrap_err()
    ));
}

#[test]
fn alternatives_in_alternatives_are_bounded() {
    let wrap = |inner: Value| json!({"oneOf": [inner, {"type": "string", "minLength": 3}, {"maxLength": 9}]});
    survives(&nested(16, wrap), limit);
    let overlapping: Vec<Value> = (0..24)
        .map(|i| json!({"properties": {format!("a{i}"): {"type": "null"}, format!("b{i}"): {"type": "string"}}}))
        .collect();
    survives(&json!({"oneOf": overlapping}), |error| {
        limit(error) || matches!(error, SchemaError::Unsupported { .. })
    });
    let choices: Vec<Value> = (0..64)
        .map(|i| json!({"anyOf": [{"required": [format!("a{i}")]}, {"required": [format!("b{i}")]}]}))
        .collect();
    survives(&json!({"type": "object", "allOf": choices}), limit);
}

#[test]
fn wide_schemas_compile() {
    let properties: serde_json::Map<String, Value> = (0..50_000)
        .map(|i| (format!("key{i}"), json!({"type": "string"})))
        .collect();
    let keys: Vec<&String> = properties.keys().collect();
    survives(
        &json!({"type": "object", "properties": properties, "required": keys}),
        never,
    );
    let values: Vec<Value> = (0..100_000).map(|i| json!(format!("value {i}"))).collect();
    survives(&json!({"enum": values}), never);
    survives(&json!({"type": "string", "not": {"enum": values}}), limit);
    let numbers: Vec<Value> = (0..100_000).map(|i| json!(i * 2)).collect();
    survives(&json!({"enum": numbers}), limit);
    survives(&json!({"type": "integer", "not": {"enum": numbers}}), limit);
    let references: serde_json::Map<String, Value> = (0..20_000)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", i + 1)}),
            )
        })
        .collect();
    survives(
        &json!({"$ref": "#/$defs/d0", "$defs": references}),
        |error| limit(error) || matches!(error, SchemaError::UnresolvedReference { .. }),
    );
}

#[test]
fn recursion_ends() {
    let mutual = json!({
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/b"}, "y": {"$ref": "#/$defs/c"}}},
            "b": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/c"}]},
            "c": {"oneOf": [{"$ref": "#/$defs/d"}, {"type": "string"}], "properties": {"y": {"$ref": "#/$defs/a"}}},
            "d": {"type": "object", "properties": {"x": {"$ref": "#/$defs/c"}, "z": {"$ref": "#/$defs/b"}}},
        },
    });
    survives(&mutual, never);
    // What is left of a listed value within itself is one of its parts.
    for of in [
        json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"not": {"const": {"a": 1}}}]}}}),
        json!({"items": {"allOf": [{"$ref": "#"}, {"not": {"enum": [[[1]], {"a": []}]}}]}}),
        json!({"patternProperties": {"^a": {"$ref": "#"}, "b$": {"not": {"enum": [{"ab": {"ab": 1.5}, "c": 1}]}}}}),
    ] {
        survives(&of, never);
    }
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}});
    survives(&circle, |error| {
        matches!(error, SchemaError::CircularReference { .. })
    });
}

#[test]
fn looking_ahead_does_not_use_up_the_stack() {
    // Long chains of required keys that end in alternatives, each of which begins another chain.
    let mut definitions = serde_json::Map::new();
    for link in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", link + 1)});
        let arm = |tag: u32| {
            let chain = (0..90).fold(next.clone(), |inner, _| {
                json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "maxProperties": 9})
            });
            json!({"properties": {"a": chain, "t": {"minimum": tag}}, "required": ["a"], "type": "object"})
        };
        definitions.insert(format!("d{link}"), json!({"oneOf": [arm(1), arm(2)]}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "null"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    survives(&schema, |error| {
        limit(error) || matches!(error, SchemaError::Unsupported { .. })
    });
}

#[test]
fn counts_and_lengths_beyond_measure_are_no_trouble() {
    survives(
        &json!({
            "type": ["array", "string"], "maxLength": 1e300, "maxItems": 18_446_744_073_709_551_615_u64,
            "items": {"type": "string", "maxLength": 65_536, "pattern": "^(a{65536}){65536}$"},
        }),
        limit,
    );
    survives(
        &json!({"type": "number", "multipleOf": 1e-300, "minimum": 1e300, "maximum": 1.5e300}),
        never,
    );
}

#[test]
fn steps_run_out_with_a_typed_error() {
    let limits = SchemaLimits {
        max_steps: 3,
        ..SchemaLimits::default()
    };
    let options = SchemaOptions::new()
        .with_limits(limits)
        .with_formats(FormatMode::Annotate);
    let schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    assert!(limit(&compile(&schema, &options).unwrap_err()));
}

/// `oneOf` with `n` objects.
fn one_of(n: usize, arm: fn(usize) -> Value) -> Value {
    json!({"type": "object", "oneOf": (0..n).map(arm).collect::<Vec<_>>()})
}

/// The number of steps of a compilation.
fn steps(schema: &Value) -> u64 {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let report = compile(schema, &options).expect("it compiles").report;
    let steps = report
        .usage
        .iter()
        .find(|usage| usage.what.contains("steps"));
    steps.expect("steps are reported").used
}

#[test]
fn alternatives_told_apart_by_single_keys_take_polynomial_work() {
    let two_keys = |i| json!({"properties": {format!("a{i}"): {"type": "string"}, format!("b{i}"): {"type": "integer"}}});
    let key_and_pattern = |i| {
        json!({
            "properties": {format!("a{i}"): {"type": "string"}},
            "patternProperties": {format!("^b{i}"): {"type": "integer"}},
        })
    };
    let two_patterns = |i| json!({"patternProperties": {format!("^a{i}_"): {"type": "string"}, format!("^b{i}_"): {"type": "integer"}}});
    let arms: [fn(usize) -> Value; 3] = [two_keys, key_and_pattern, two_patterns];
    for arm in arms {
        let (few, many) = (steps(&one_of(8, arm)), steps(&one_of(24, arm)));
        // Three times as many: at most the fourth power.
        assert!(many < 81 * few, "8 take {few} steps, 24 take {many}");
    }
    let refused = compile(&one_of(200, two_patterns), &SchemaOptions::new()).unwrap_err();
    assert!(limit(&refused), "{refused}");
}
