//! Schemas of the shapes that generators print, each with documents that fit and documents that do not.
//!
//! Every document is judged in the profile `exact`; documents that fit are also judged by an independent validator, so
//! that the cases themselves are right.

use serde_json::{Value, json};
use structgen::{Checker, Constraint, KeyOrder, Profile, SchemaOptions};

struct Case {
    schema: Value,
    /// Where the schema is in its document.
    at: Option<&'static str>,
    fit: Vec<Value>,
    unfit: Vec<Value>,
}

#[track_caller]
fn check(case: &Case) {
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any);
    let text = case.schema.to_string();
    let compile = |options: &SchemaOptions| match case.at {
        Some(pointer) => Constraint::json_schema_at(&text, pointer, options),
        None => Constraint::json_schema_str(&text, options),
    };
    let constraint = compile(&options).expect("the schema compiles");
    let checker = Checker::new(&constraint).expect("the grammar compiles");
    let mut root = case.schema.clone();
    if let Some(pointer) = case.at {
        root["$ref"] = format!("#{pointer}").into();
    }
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&root)
        .expect("the validator takes the schema");
    for (documents, fits) in [(&case.fit, true), (&case.unfit, false)] {
        for document in documents {
            assert_eq!(
                validator.is_valid(document),
                fits,
                "the validator: {document}"
            );
            let mismatch = checker
                .check(document.to_string().as_bytes())
                .expect("within limits");
            assert_eq!(mismatch.is_none(), fits, "{document}: {mismatch:?}");
        }
    }
    // What a model is to write compiles too, and says what became of every keyword.
    let generate = compile(&SchemaOptions::new()).expect("the schema compiles for generating");
    Checker::new(&generate).expect("the grammar compiles");
    assert_eq!(generate.report().dropped().count(), 0);
}

#[test]
fn schemars_enums_options_and_maps() {
    check(&Case {
        schema: json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Order",
            "type": "object",
            "properties": {
                "id": {"type": "integer", "format": "uint64", "minimum": 0},
                "note": {"type": ["string", "null"], "default": null},
                "status": {"$ref": "#/$defs/Status"},
                "payment": {"$ref": "#/$defs/Payment"},
                "weights": {"type": "array", "items": {"type": "number", "format": "double"}, "minItems": 2, "maxItems": 2},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "parent": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
            },
            "required": ["id", "status", "payment", "weights"],
            "$defs": {
                "Status": {"oneOf": [
                    {"type": "string", "enum": ["Open", "Closed"]},
                    {"description": "With a reason.", "type": "object", "properties": {"Held": {"type": "string"}}, "required": ["Held"], "additionalProperties": false}
                ]},
                "Payment": {"oneOf": [
                    {"type": "object", "properties": {"kind": {"type": "string", "const": "card"}, "number": {"type": "string", "pattern": "^\\d{4}$"}}, "required": ["kind", "number"]},
                    {"type": "object", "properties": {"kind": {"type": "string", "const": "cash"}}, "required": ["kind"]}
                ]}
            }
        }),
        at: None,
        fit: vec![
            json!({"id": 1, "status": "Open", "payment": {"kind": "cash"}, "weights": [1, 2.5]}),
            json!({"id": 0, "note": null, "status": {"Held": "x"}, "payment": {"kind": "card", "number": "1234"}, "weights": [0, 0], "labels": {"a": "b"}, "parent": null}),
            json!({"id": 2, "status": "Closed", "payment": {"kind": "cash"}, "weights": [1, 2], "parent": {"id": 1, "status": "Open", "payment": {"kind": "cash"}, "weights": [3, 4]}}),
        ],
        unfit: vec![
            json!({"id": -1, "status": "Open", "payment": {"kind": "cash"}, "weights": [1, 2]}),
            json!({"id": 1, "status": "Held", "payment": {"kind": "cash"}, "weights": [1, 2]}),
            json!({"id": 1, "status": {"Held": "x", "more": 1}, "payment": {"kind": "cash"}, "weights": [1, 2]}),
            json!({"id": 1, "status": "Open", "payment": {"kind": "card", "number": "12345"}, "weights": [1, 2]}),
            json!({"id": 1, "status": "Open", "payment": {"kind": "cash"}, "weights": [1]}),
            json!({"id": 1, "status": "Open", "payment": {"kind": "cash"}, "weights": [1, 2], "labels": {"a": 1}}),
        ],
    });
}

#[test]
fn pydantic_decimals_constrained_strings_and_discriminated_unions() {
    check(&Case {
        schema: json!({
            "$defs": {
                "Cat": {
                    "properties": {
                        "pet_type": {"const": "cat", "title": "Pet Type", "type": "string"},
                        "meows": {"title": "Meows", "type": "integer"}
                    },
                    "required": ["pet_type", "meows"], "title": "Cat", "type": "object"
                },
                "Dog": {
                    "additionalProperties": false,
                    "properties": {
                        "pet_type": {"const": "dog", "title": "Pet Type", "type": "string"},
                        "barks": {"exclusiveMinimum": 0, "title": "Barks", "type": "number"}
                    },
                    "required": ["pet_type", "barks"], "title": "Dog", "type": "object"
                },
                "Colour": {"enum": ["red", "green"], "title": "Colour", "type": "string"}
            },
            "properties": {
                "pet": {
                    "discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "pet_type"},
                    "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
                    "title": "Pet"
                },
                "price": {
                    "anyOf": [
                        {"minimum": 0.0, "type": "number"},
                        {"pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$", "type": "string"}
                    ],
                    "title": "Price"
                },
                "code": {"maxLength": 5, "minLength": 2, "pattern": "^[A-Z]+$", "title": "Code", "type": "string"},
                "colour": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}], "default": null},
                "at": {"format": "date-time", "title": "At", "type": "string"},
                "pair": {
                    "maxItems": 2, "minItems": 2,
                    "prefixItems": [{"type": "integer"}, {"type": "string"}],
                    "title": "Pair", "type": "array"
                },
                "counts": {"additionalProperties": {"type": "integer"}, "title": "Counts", "type": "object"}
            },
            "required": ["pet", "price", "code"],
            "title": "Model",
            "type": "object"
        }),
        at: None,
        fit: vec![
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": 1.5, "code": "AB"}),
            json!({"pet": {"pet_type": "dog", "barks": 0.5}, "price": "12.50", "code": "ABCDE", "colour": null, "at": "2024-02-29T12:00:00Z", "pair": [1, "x"], "counts": {"a": 1}}),
            json!({"pet": {"pet_type": "cat", "meows": 3, "name": "Tom"}, "price": 0, "code": "AB", "colour": "red"}),
        ],
        unfit: vec![
            json!({"pet": {"pet_type": "cow", "meows": 3}, "price": 1.5, "code": "AB"}),
            json!({"pet": {"pet_type": "dog", "barks": 0}, "price": 1.5, "code": "AB"}),
            json!({"pet": {"pet_type": "dog", "barks": 1, "meows": 3}, "price": 1.5, "code": "AB"}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": -1, "code": "AB"}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": "1,5", "code": "AB"}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": "-.", "code": "AB"}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": 1, "code": "A"}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": 1, "code": "AB", "at": "2023-02-29T12:00:00Z"}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": 1, "code": "AB", "pair": [1, 2]}),
            json!({"pet": {"pet_type": "cat", "meows": 3}, "price": 1, "code": "AB", "colour": "blue"}),
        ],
    });
}

#[test]
fn zod_closed_objects_safe_integers_and_records() {
    check(&Case {
        schema: json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "age": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9_007_199_254_740_991_i64},
                "email": {"type": "string", "format": "email", "pattern": "^[A-Za-z0-9_'+.-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}$"},
                "role": {"type": "string", "enum": ["admin", "user"]},
                "nick": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "tags": {"default": [], "type": "array", "items": {"type": "string"}},
                "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": {"type": "boolean"}},
                "both": {"allOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}
                ]},
                "scores": {"type": "object", "additionalProperties": {"type": "number"}}
            },
            "required": ["name", "age", "role"],
            "additionalProperties": false
        }),
        at: None,
        fit: vec![
            json!({"name": "A", "age": 1, "role": "admin"}),
            json!({"name": "A", "age": 9_007_199_254_740_991_i64, "role": "user", "email": "a@b.co", "nick": null, "tags": ["x"]}),
            json!({"name": "A", "age": 1, "role": "user", "both": {"b": 1, "a": ""}, "scores": {"x": 1.5}, "point": [1, 2, true]}),
        ],
        unfit: vec![
            json!({"name": "", "age": 1, "role": "admin"}),
            json!({"name": "A", "age": 0, "role": "admin"}),
            json!({"name": "A", "age": 1.5, "role": "admin"}),
            json!({"name": "A", "age": 9_007_199_254_740_992_i64, "role": "admin"}),
            json!({"name": "A", "age": 1, "role": "root"}),
            json!({"name": "A", "age": 1, "role": "user", "extra": 1}),
            json!({"name": "A", "age": 1, "role": "user", "email": "a@b"}),
            json!({"name": "A", "age": 1, "role": "user", "both": {"a": "x"}}),
            json!({"name": "A", "age": 1, "role": "user", "point": [1, 2, 3]}),
        ],
    });
}

#[test]
fn typespec_models_with_bases_unions_and_definitions() {
    check(&Case {
        schema: json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "Widget.yaml",
            "type": "object",
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "weight": {"type": "integer", "minimum": -2_147_483_648_i64, "maximum": 2_147_483_647},
                "colour": {"anyOf": [{"type": "string", "const": "red"}, {"type": "string", "const": "blue"}]},
                "made": {"type": "string", "format": "date"},
                "after": {"type": "string", "format": "duration"},
                "part": {"$ref": "#/$defs/Part"}
            },
            "required": ["id", "colour"],
            "allOf": [{"$ref": "#/$defs/Base"}],
            "$defs": {
                "Base": {"$id": "Base.yaml", "type": "object", "properties": {"version": {"type": "integer", "minimum": 0, "maximum": 255}}, "required": ["version"]},
                "Part": {"type": "object", "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}}}, "required": ["name"]}
            }
        }),
        at: None,
        fit: vec![
            json!({"id": "w", "colour": "red", "version": 1}),
            json!({"version": 255, "id": "w", "colour": "blue", "weight": -2_147_483_648_i64, "made": "2024-02-29", "after": "P1DT2H"}),
            json!({"id": "w", "colour": "red", "version": 1, "part": {"name": "a", "parts": [{"name": "b", "parts": []}]}}),
        ],
        unfit: vec![
            json!({"id": "w", "colour": "red"}),
            json!({"id": "w", "colour": "green", "version": 1}),
            json!({"id": "w", "colour": "red", "version": 256}),
            json!({"id": "w", "colour": "red", "version": 1, "weight": 2_147_483_648_i64}),
            json!({"id": "w", "colour": "red", "version": 1, "made": "2023-02-29"}),
            json!({"id": "w", "colour": "red", "version": 1, "part": {"name": "a", "parts": [{}]}}),
        ],
    });
}

fn open_api() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/orders": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}}}},
        "components": {"schemas": {
            "Order": {
                "type": "object",
                "required": ["id", "lines", "delivery"],
                "properties": {
                    "id": {"type": "string", "format": "uuid", "example": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "readOnly": true},
                    "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Line"}, "xml": {"wrapped": true}},
                    "comment": {"type": ["string", "null"], "maxLength": 20, "nullable": true},
                    "delivery": {"$ref": "#/components/schemas/Delivery"}
                },
                "externalDocs": {"url": "https://example.com"}
            },
            "Line": {
                "type": "object",
                "required": ["sku", "quantity"],
                "properties": {
                    "sku": {"type": "string", "pattern": "^[A-Z]{3}-\\d+$"},
                    "quantity": {"type": "integer", "format": "int32", "minimum": 1}
                }
            },
            "Delivery": {
                "oneOf": [{"$ref": "#/components/schemas/Post"}, {"$ref": "#/components/schemas/Pick%20up"}],
                "discriminator": {"propertyName": "by", "mapping": {"post": "#/components/schemas/Post"}}
            },
            "Post": {"type": "object", "required": ["by", "to"], "properties": {"by": {"const": "post"}, "to": {"type": "string"}}},
            "Pick up": {"type": "object", "required": ["by"], "properties": {"by": {"enum": ["pick-up"]}}, "additionalProperties": false}
        }}
    })
}

#[test]
fn open_api_components_compile_where_they_stand() {
    let id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
    check(&Case {
        schema: open_api(),
        at: Some("/components/schemas/Order"),
        fit: vec![
            json!({"id": id, "lines": [{"sku": "ABC-1", "quantity": 2}], "delivery": {"by": "post", "to": "Graz"}}),
            json!({"id": id, "lines": [{"sku": "ABC-1", "quantity": 2}], "comment": null, "delivery": {"by": "pick-up"}}),
        ],
        unfit: vec![
            json!({"id": "1", "lines": [{"sku": "ABC-1", "quantity": 2}], "delivery": {"by": "pick-up"}}),
            json!({"id": id, "lines": [], "delivery": {"by": "pick-up"}}),
            json!({"id": id, "lines": [{"sku": "ABC-1", "quantity": 0}], "delivery": {"by": "pick-up"}}),
            json!({"id": id, "lines": [{"sku": "abc-1", "quantity": 1}], "delivery": {"by": "pick-up"}}),
            json!({"id": id, "lines": [{"sku": "ABC-1", "quantity": 2}], "delivery": {"by": "post"}}),
            json!({"id": id, "lines": [{"sku": "ABC-1", "quantity": 2}], "delivery": {"by": "pick-up", "to": "Graz"}}),
        ],
    });
}

#[test]
fn keywords_of_open_api_are_annotations_and_its_pointers_stay() {
    let text = open_api().to_string();
    let options = SchemaOptions::new();
    let order = Constraint::json_schema_at(&text, "/components/schemas/Order", &options).unwrap();
    let report = order.report().to_string();
    for keyword in [
        "#/components/schemas/Order/properties/lines/xml",
        "#/components/schemas/Order/properties/comment/nullable",
        "#/components/schemas/Order/properties/id/example",
        "#/components/schemas/Delivery/discriminator",
    ] {
        let line = format!("{keyword}: annotation");
        assert!(report.contains(&line), "{keyword}: {report}");
    }
    // Pointers with characters that are escaped in references.
    let pick_up =
        Constraint::json_schema_at(&text, "/components/schemas/Pick up", &options).unwrap();
    let checker = Checker::new(&pick_up).unwrap();
    assert_eq!(checker.check(br#"{"by":"pick-up"}"#).unwrap(), None);
    let missing = Constraint::json_schema_at(&text, "/components/schemas/None", &options);
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .contains("cannot be resolved")
    );
}
