//! Relations between values: their grammars, and refused ones.

use expect_test::expect;
use serde_json::{Value, json};

use crate::json_schema::{KeyOrder, SchemaOptions, compile};

fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[test]
fn what_others_refer_to_is_marked_where_they_do_and_nowhere_else() {
    let schema = json!({
        "$defs": {"thing": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": false,
        }},
        "type": "object",
        "properties": {
            "things": {"type": "array", "items": {"$ref": "#/$defs/thing"}, "minItems": 1},
            "other": {"$ref": "#/$defs/thing"},
            "best": {"type": "string", "x-structgen": {"in": "/things/*/name"}},
            "low": {"type": "integer"},
            "high": {"type": "integer", "x-structgen": {"at-least": "/low"}},
        },
        "required": ["things", "best", "low", "high"],
        "additionalProperties": false,
    });
    let grammar = compile(&schema, &SchemaOptions::new()).unwrap().grammar;
    expect![[r##"
        # ::= json-object({ "things"!: #/properties/things, "other": #/$defs/thing, "best"!: #/properties/best, "low"!: #/properties/low, "high"!: #/properties/high })
        #/properties/things ::= json-array([*: #/$defs/thing (/things/*/name)], 1.. items)
        #/$defs/thing ::= json-object({ "name"!: #/$defs/thing/properties/name })
        #/properties/best ::= related(in /things/*/name: json-string())
        #/properties/low ::= referent(/low: json-number(multiple of 1, written whole))
        #/properties/high ::= related(at-least /low: json-number(multiple of 1, written whole))
        #/$defs/thing/properties/name ::= json-string()
        #/$defs/thing/properties/name (/things/*/name) ::= referent(/things/*/name: json-string())
        #/$defs/thing (/things/*/name) ::= json-object({ "name"!: #/$defs/thing/properties/name (/things/*/name) })
    "##]].assert_eq(&grammar.to_string());
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_pointer() {
    let string = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let related = |own: &Value, relation: &str, to: &str| {
        let mut own = own.clone();
        own["x-structgen"] = json!({relation: to});
        own
    };
    let pair = |first: &Value, second: Value| object(json!({"a": first, "b": second}), &["a", "b"]);
    let items = |items: &Value, min: u32| json!({"type": "array", "items": items, "minItems": min});
    let named = object(json!({"name": string}), &["name"]);
    let cases = [
        ("a key", pair(&number, related(&number, "at-least", "a"))),
        (
            "elsewhere",
            pair(&number, related(&number, "at-least", "/c")),
        ),
        ("itself", pair(&number, related(&number, "not-equal", "/b"))),
        (
            "later",
            pair(&related(&number, "at-most", "/b"), number.clone()),
        ),
        (
            "an object",
            pair(&named, related(&string, "not-equal", "/a")),
        ),
        (
            "several",
            pair(&items(&number, 1), related(&number, "at-least", "/a/*")),
        ),
        (
            "no order",
            pair(&string, related(&string, "at-least", "/a")),
        ),
        ("kinds", pair(&string, related(&number, "at-least", "/a"))),
        (
            "nothing yet",
            pair(&items(&named, 0), related(&string, "in", "/a/*/name")),
        ),
        (
            "optional",
            object(
                json!({"a": string, "b": related(&string, "in", "/a")}),
                &["b"],
            ),
        ),
        (
            "narrower",
            pair(
                &string,
                related(&json!({"type": "string", "maxLength": 3}), "in", "/a"),
            ),
        ),
        (
            "any type",
            pair(&string, json!({"x-structgen": {"in": "/a"}})),
        ),
        (
            "two",
            pair(
                &number,
                json!({"type": "integer", "x-structgen": {"at-least": "/a", "not-equal": "/a"}}),
            ),
        ),
        (
            "no text",
            pair(
                &number,
                json!({"type": "integer", "x-structgen": {"at-least": 3}}),
            ),
        ),
        (
            "distinct",
            pair(
                &number,
                json!({"type": "array", "uniqueItems": true, "items": related(&number, "not-equal", "/a")}),
            ),
        ),
        (
            "counted",
            json!({"type": "object", "maxProperties": 1, "properties": {"a": number, "b": related(&number, "not-equal", "/a")}}),
        ),
        (
            "negated",
            pair(
                &number,
                json!({"type": "integer", "not": {"type": "integer", "x-structgen": {"at-least": "/a"}}}),
            ),
        ),
        (
            "array",
            json!({"type": "array", "prefixItems": [string, related(&string, "in", "/0")], "minItems": 2}),
        ),
    ];
    let errors = cases.map(
        |(name, schema)| match compile(&schema, &SchemaOptions::new()) {
            Ok(compiled) => format!("{name}: compiled to {}", compiled.grammar),
            Err(error) => format!("{name}: {error}"),
        },
    );
    expect![[r#"
        a key: #/properties/b/x-structgen: `x-structgen` is not supported here: a relation names a value by a JSON Pointer, in which `*` stands for all items of an array
        elsewhere: #/properties/b/x-structgen: `x-structgen` is not supported here: no declared value is there
        itself: #/properties/b/x-structgen: `x-structgen` is not supported here: the value there is this one
        later: #/properties/a/x-structgen: `x-structgen` is not supported here: the value there is written later
        an object: #/properties/b/x-structgen: `x-structgen` is not supported here: an object or array is there, and only strings and numbers are compared
        several: #/properties/b/x-structgen: `x-structgen` is not supported here: only `in` compares with several values
        no order: #/properties/b/x-structgen: `x-structgen` is not supported here: only numbers and strings of the format `date` have an order
        kinds: #/properties/b/x-structgen: `x-structgen` is not supported here: only numbers and strings of the format `date` have an order, and those there must be of the same kind
        nothing yet: #/properties/b/x-structgen: `x-structgen` is not supported here: no value may have been written there, and this one is required: require that one, in arrays with `minItems`, or let this one be absent or null
        optional: #/properties/b/x-structgen: `x-structgen` is not supported here: no value may have been written there, and this one is required: require that one, in arrays with `minItems`, or let this one be absent or null
        narrower: #/properties/b/x-structgen: `x-structgen` is not supported here: values may be written there that are not valid here
        any type: #/properties/b/x-structgen: `x-structgen` is not supported here: only strings, numbers and null may stand here: `type` has to say so
        two: #/properties/b/x-structgen: `x-structgen` is not supported here: a value has one relation at most
        no text: #/properties/b/x-structgen: `x-structgen` must be an object whose "in", "at-least", "at-most" or "not-equal" is a JSON Pointer
        distinct: #/properties/b/items/x-structgen: `x-structgen` is not supported here: values in distinct items are not compared with others
        counted: #/properties/b/x-structgen: `x-structgen` is not supported here: members and items that are counted are not compared with others
        negated: #/properties/b/not/x-structgen: `x-structgen` is not supported here: the negation of a relation is not kept
        array: #/prefixItems/1/x-structgen: `x-structgen` is not supported here: only an output that is an object has values to refer to"#]].assert_eq(&errors.join("\n"));

    let schema = pair(&number, related(&number, "at-least", "/a"));
    let options = SchemaOptions::new().with_order(KeyOrder::Any);
    let error = compile(&schema, &options).unwrap_err();
    expect!["#/properties/b/x-structgen: `x-structgen` is not supported here: keys come in any order, so the value there may be written later"].assert_eq(&error.to_string());
}

#[test]
fn hostile_relations_are_refused_or_compiled_soon() {
    // Two paths at each of many levels.
    let mut defs = serde_json::Map::new();
    let mut last = json!({"type": "integer"});
    for level in 0..40 {
        let name = level.to_string();
        let way = |more: &str| object(json!({"a": last, more: {"type": "null"}}), &["a", more]);
        defs.insert(name, json!({"anyOf": [way("x"), way("y")]}));
        last = json!({"$ref": format!("#/$defs/{level}")});
    }
    let mut deep = object(
        json!({
            "a": last,
            "z": {"type": "integer", "x-structgen": {"at-least": format!("/a{}", "/a".repeat(40))}},
        }),
        &["a", "z"],
    );
    deep["$defs"] = defs.into();
    compile(&deep, &SchemaOptions::new()).unwrap();
    // Very many values.
    let many = (0..100).map(|i| {
        let own = match i {
            0 => json!({"type": "integer"}),
            _ => json!({"type": "integer", "x-structgen": {"at-least": format!("/k{}", i - 1)}}),
        };
        (format!("k{i}"), own)
    });
    let many: serde_json::Map<String, Value> = many.collect();
    let error = compile(&object(many.into(), &[]), &SchemaOptions::new()).unwrap_err();
    assert!(error.to_string().contains("too many values"), "{error}");
}
