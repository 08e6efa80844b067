//! The source of the strings and numbers of an output.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::json_schema::{SchemaOptions, Source, compile};

fn check(schema: &Value, options: &SchemaOptions, expected: &Expect) {
    let grammar = compile(schema, options).unwrap().grammar;
    expected.assert_eq(&grammar.to_string());
}

fn grounded() -> SchemaOptions {
    SchemaOptions::new().with_source(Source::Input)
}

#[test]
fn strings_and_numbers_come_from_the_input_but_listed_ones_do_not() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "age": {"type": "integer"},
            "born": {"type": "string", "format": "date"},
            "kind": {"enum": ["a", "b", 1]},
            "size": {"const": 3},
            "member": {"type": "boolean"},
        },
        "additionalProperties": false,
    });
    check(
        &schema,
        &grounded(),
        &expect![[r##"
            # ::= json-object({ "name": #/properties/name, "age": #/properties/age, "born": #/properties/born, "kind": #/properties/kind, "size": #/properties/size, "member": #/properties/member })
            #/properties/name ::= input(json-string(length 0..=9))
            #/properties/age ::= input(json-number(multiple of 1, written whole))
            #/properties/born ::= input(date: json-string([0-9]{4} "-" (("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8]) | (("04" | "06" | "09" | "11") | ("01" | "03" | "05" | "07" | "08" | "10" | "12")) "-" ("29" | "30") | ("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" "31") | ([0-9] [0-9] ("0" [48] | [2468] [048] | [13579] [26]) | ("00" | ("0" [48] | [2468] [048] | [13579] [26])) "00") "-02-29"))
            #/properties/kind ::= json-string("a" | "b") | json-number(>= 1, <= 1, written whole)
            #/properties/size ::= json-number(>= 3, <= 3, written whole)
            #/properties/member ::= "true" | "false"
        "##]],
    );
}

#[test]
fn a_mark_is_inherited_through_references_and_lifted_below() {
    let schema = json!({
        "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}},
        "type": "object",
        "properties": {
            "free": {"$ref": "#/$defs/place"},
            "taken": {
                "x-structgen": {"source": "input"},
                "type": "object",
                "properties": {
                    "at": {"$ref": "#/$defs/place"},
                    "summary": {"type": "string", "x-structgen": {"source": "model"}},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    });
    check(
        &schema,
        &SchemaOptions::new(),
        &expect![[r##"
        # ::= json-object({ "free": #/$defs/place, "taken": #/properties/taken })
        #/$defs/place ::= json-object({ "city": #/$defs/place/properties/city })
        #/properties/taken ::= json-object({ "at": #/$defs/place (2), "summary": #/properties/taken/properties/summary, "tags": #/properties/taken/properties/tags })
        #/$defs/place/properties/city ::= json-string()
        #/$defs/place (2) ::= json-object({ "city": #/$defs/place/properties/city (2) })
        #/properties/taken/properties/summary ::= json-string()
        #/properties/taken/properties/tags ::= json-array([*: #/properties/taken/properties/tags/items])
        #/$defs/place/properties/city (2) ::= input(json-string())
        #/properties/taken/properties/tags/items ::= input(json-string())
    "##]],
    );
}

#[test]
fn a_listed_value_stays_beside_all_others() {
    let schema = json!({
        "x-structgen": {"source": "input"},
        "anyOf": [{"enum": ["unknown", 0]}, {"type": ["string", "number", "null"]}],
    });
    check(
        &schema,
        &SchemaOptions::new(),
        &expect![[r##"
            # ::= json-string("unknown") | input(json-string()) | json-number(>= 0, <= 0, written whole) | input(json-number()) | "null"
        "##]],
    );
}

#[test]
fn any_value_has_its_strings_and_numbers_from_the_input() {
    check(
        &json!({"type": "array"}),
        &grounded(),
        &expect![[r##"
        # ::= json-array([*: json-value])
        json-value ::= json-object({ *: json-value }) | json-array([*: json-value]) | input(json-string()) | input(json-number()) | "true" | "false" | "null"
    "##]],
    );
}

#[test]
fn a_negated_mark_asserts_nothing() {
    let marked = json!({"not": {"type": "number", "x-structgen": {"source": "input"}}});
    let plain = json!({"not": {"type": "number"}});
    let grammar = |schema| {
        compile(schema, &SchemaOptions::new())
            .unwrap()
            .grammar
            .to_string()
    };
    assert_eq!(grammar(&marked), grammar(&plain));
}

#[test]
fn a_wrong_source_is_an_error_with_its_pointer() {
    let schema = json!({"items": {"x-structgen": {"source": "web"}}});
    let error = compile(&schema, &SchemaOptions::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "#/items/x-structgen: `x-structgen` must be an object whose \"source\" is model or input"
    );
}
