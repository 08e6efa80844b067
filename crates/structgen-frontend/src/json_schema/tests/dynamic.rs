//! Dynamic references: one location, several schemas.

use serde_json::{Value, json};

use super::judge;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Draft, Profile, SchemaError, SchemaLimits, SchemaOptions, compile};

/// Checks that the values in `fit` are valid and those in `do_not` are not.
fn holds_of(schema: &Value, draft: Draft, fit: &[Value], do_not: &[Value]) {
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_draft(draft);
    let read = |value| Json::from_value(value, &SchemaLimits::default()).unwrap();
    let instances: Vec<Json<'_>> = fit.iter().chain(do_not).map(read).collect();
    let judged = judge(&read(schema), &instances, &options);
    judged.grammar.expect("it has a grammar");
    let verdicts = judged.canonical.expect("it is compiled");
    for (index, (value, verdict)) in fit.iter().chain(do_not).zip(verdicts).enumerate() {
        assert_eq!(verdict, index < fit.len(), "{value}");
    }
}

/// A list whose users each choose its items, and two such users.
fn lists() -> Value {
    json!({
        "type": "object",
        "properties": {"strings": {"$ref": "strings"}, "numbers": {"$ref": "numbers"}, "any": {"$ref": "list"}},
        "additionalProperties": false,
        "$defs": {
            "list": {
                "$id": "list",
                "type": "array",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"item": {"$dynamicAnchor": "item"}}
            },
            "strings": {
                "$id": "strings",
                "$ref": "list",
                "$defs": {"item": {"$dynamicAnchor": "item", "type": "string"}}
            },
            "numbers": {
                "$id": "numbers",
                "allOf": [{"$ref": "list"}],
                "$defs": {"item": {"$dynamicAnchor": "item", "type": "integer"}}
            }
        }
    })
}

#[test]
fn one_place_is_several_schemas_by_the_way_that_leads_there() {
    holds_of(
        &lists(),
        Draft::Draft2020,
        &[
            json!({"strings": ["a"], "numbers": [1]}),
            json!({"any": [1, "a"]}),
        ],
        &[json!({"strings": [1]}), json!({"numbers": ["a"]})],
    );
}

#[test]
fn the_report_has_one_entry_for_a_place() {
    let report = compile(&lists(), &SchemaOptions::new()).unwrap().report;
    let items = |entry: &&crate::json_schema::ReportEntry| entry.pointer() == "#/$defs/list/type";
    assert_eq!(report.entries.iter().filter(items).count(), 1);
}

#[test]
fn a_resource_is_entered_where_it_stands_and_not_only_by_reference() {
    let schema = json!({
        "properties": {"a": {
            "$id": "strict",
            "$dynamicAnchor": "node",
            "$ref": "tree",
            "unevaluatedProperties": false
        }},
        "$defs": {"tree": {
            "$id": "tree",
            "$dynamicAnchor": "node",
            "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}}
        }}
    });
    holds_of(
        &schema,
        Draft::Draft2020,
        &[json!({"a": {"children": [{"children": []}]}})],
        &[
            json!({"a": {"b": 1}}),
            json!({"a": {"children": [{"b": 1}]}}),
            json!({"a": {"children": [{"children": [{"b": 1}]}]}}),
        ],
    );
}

#[test]
fn a_recursive_anchor_counts_at_the_root_of_a_resource_only() {
    let schema = |anchored: bool| {
        json!({
            "$id": "http://example.com/strict",
            "$recursiveAnchor": anchored,
            "$ref": "tree",
            "required": ["name"],
            "$defs": {"tree": {
                "$id": "tree",
                "$recursiveAnchor": true,
                "properties": {"child": {"$recursiveAnchor": true, "$recursiveRef": "#"}}
            }}
        })
    };
    let inner = json!({"name": 1, "child": {}});
    let both = json!({"name": 1, "child": {"name": 1}});
    holds_of(
        &schema(true),
        Draft::Draft2019,
        std::slice::from_ref(&both),
        std::slice::from_ref(&inner),
    );
    holds_of(&schema(false), Draft::Draft2019, &[both, inner], &[]);
}

#[test]
fn a_negated_dynamic_reference_is_followed_as_well() {
    let schema = json!({
        "not": {"$ref": "numbers"},
        "type": "array",
        "$defs": lists()["$defs"],
    });
    holds_of(
        &schema,
        Draft::Draft2020,
        &[json!(["a"]), json!([1, "a"])],
        &[json!([1]), json!([])],
    );
}

#[test]
fn a_dynamic_reference_of_a_dependent_schema_depends_on_its_scope() {
    let schema = json!({
        "$id": "https://example.com/root",
        "$ref": "base",
        "$defs": {
            "named": {"$dynamicAnchor": "extension", "required": ["name"]},
            "base": {
                "$id": "base",
                "type": "object",
                "dependentSchemas": {
                    "a": {"$dynamicRef": "#extension"},
                    "b": {"$dynamicRef": "#extension", "$ref": "#/$defs/sized"},
                },
                "$defs": {
                    "none": {"$dynamicAnchor": "extension"},
                    "sized": {"required": ["size"]},
                }
            }
        }
    });
    holds_of(
        &schema,
        Draft::Draft2020,
        &[
            json!({}),
            json!({"a": 1, "name": 1}),
            json!({"b": 1, "name": 1, "size": 1}),
        ],
        &[
            json!({"a": 1}),
            json!({"b": 1, "name": 1}),
            json!({"b": 1, "size": 1}),
        ],
    );
}

#[test]
fn scopes_that_multiply_end_at_the_limit() {
    // Each resource leads to two that bind the same name, and on to the next pair: 2^40 scopes.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        for side in ["a", "b"] {
            let next = ["a", "b"].map(|side| json!({"$ref": format!("{side}{}", level + 1)}));
            let anchor = format!("n{level}");
            let schema = json!({
                "$id": format!("{side}{level}"),
                "properties": {"x": next[0], "y": next[1], "z": {"$dynamicRef": format!("#{anchor}")}},
                "$defs": {"anchor": {"$dynamicAnchor": anchor, "const": format!("{side}{level}")}},
            });
            definitions.insert(format!("{side}{level}"), schema);
        }
    }
    for side in ["a", "b"] {
        let last = json!({"$id": format!("{side}40")});
        definitions.insert(format!("{side}40"), last);
    }
    let schema = json!({"$ref": "a0", "$defs": definitions});
    let limits = SchemaLimits {
        max_steps: 20_000,
        ..SchemaLimits::default()
    };
    let error = compile(&schema, &SchemaOptions::new().with_limits(limits)).unwrap_err();
    assert!(matches!(error, SchemaError::Limit { .. }), "{error}");
    let limits = SchemaLimits {
        max_values: 2_000,
        ..SchemaLimits::default()
    };
    let error = compile(&schema, &SchemaOptions::new().with_limits(limits)).unwrap_err();
    assert!(error.to_string().contains("dynamic scopes"), "{error}");
}

#[test]
fn a_schema_may_ask_for_schemas() {
    for (draft, uri) in [
        (
            Draft::Draft2019,
            "https://json-schema.org/draft/2019-09/schema",
        ),
        (
            Draft::Draft2020,
            "https://json-schema.org/draft/2020-12/schema",
        ),
    ] {
        holds_of(
            &json!({"$ref": uri}),
            draft,
            &[
                json!(true),
                json!({"properties": {"a": {"type": "string", "minLength": 1}}}),
            ],
            &[
                json!(1),
                json!({"properties": {"a": {"allOf": [{"type": "text"}]}}}),
                json!({"items": {"minLength": -1}}),
            ],
        );
    }
}
