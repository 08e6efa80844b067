//! Schemas with everything that is compiled today: small ones, each about something, and some as they are written in
//! the world.

/// A schema.
#[derive(Clone, Copy, Debug)]
pub struct SchemaCase {
    /// What it is about.
    pub name: &'static str,
    /// Its text.
    pub schema: &'static str,
}

const fn case(name: &'static str, schema: &'static str) -> SchemaCase {
    SchemaCase { name, schema }
}

/// All schemas.
pub const ALL: &[SchemaCase] = &[
    case("anything", "true"),
    case("boolean", r#"{"type": "boolean"}"#),
    case("null or number", r#"{"type": ["null", "number"]}"#),
    case("free string", r#"{"type": "string"}"#),
    case(
        "lengths",
        r#"{"type": "string", "minLength": 3, "maxLength": 6}"#,
    ),
    case(
        "pattern",
        r#"{"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,5}$"}"#,
    ),
    case(
        "unanchored pattern",
        r#"{"type": "string", "pattern": "a+b", "maxLength": 12}"#,
    ),
    case(
        "pattern beyond ASCII",
        r#"{"type": "string", "pattern": "^[äöü日]+[^a-z]$"}"#,
    ),
    case(
        "pattern and lengths",
        r#"{"type": "string", "pattern": "^[a-z]+( [a-z]+)*$", "minLength": 8, "maxLength": 20}"#,
    ),
    case(
        "control characters",
        r#"{"type": "string", "pattern": "^[\\u0000-\\u001f\"\\\\]{1,4}$"}"#,
    ),
    case("integer", r#"{"type": "integer"}"#),
    case(
        "integer range",
        r#"{"type": "integer", "minimum": -17, "maximum": 1234}"#,
    ),
    case(
        "exclusive range",
        r#"{"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 11}"#,
    ),
    case(
        "decimal range",
        r#"{"type": "number", "minimum": 0.25, "maximum": 3.75}"#,
    ),
    case(
        "negative decimals",
        r#"{"type": "number", "exclusiveMaximum": -0.5, "minimum": -1000}"#,
    ),
    case(
        "multiples",
        r#"{"type": "integer", "multipleOf": 7, "minimum": 10, "maximum": 500}"#,
    ),
    case(
        "decimal multiples",
        r#"{"type": "number", "multipleOf": 0.25, "minimum": 0, "maximum": 100}"#,
    ),
    case(
        "enum",
        r#"{"enum": ["red", "green", 1, 2.5, null, true, ["a", 1], {"k": "v"}]}"#,
    ),
    case(
        "enum beyond ASCII",
        r#"{"enum": ["größe", "日本", "😀", "a\"b", "tab\there"]}"#,
    ),
    case(
        "const",
        r#"{"const": {"version": 2, "tags": ["x", "y"], "nested": {"deep": [null]}}}"#,
    ),
    case(
        "array",
        r#"{"type": "array", "items": {"type": "integer"}}"#,
    ),
    case(
        "item counts",
        r#"{"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "maxItems": 4}"#,
    ),
    case(
        "tuple",
        r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2}"#,
    ),
    case(
        "tuple with rest",
        r#"{"type": "array", "prefixItems": [{"const": "head"}], "items": {"type": "boolean"}, "maxItems": 5}"#,
    ),
    case(
        "nested arrays",
        r#"{"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "null"}, "maxItems": 2}, "maxItems": 2}, "minItems": 1}"#,
    ),
    case("any array", r#"{"type": "array", "maxItems": 3}"#),
    case(
        "object",
        r#"{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}, "required": ["name"]}"#,
    ),
    case(
        "closed object",
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}, "c": {"type": "boolean"}}, "additionalProperties": false}"#,
    ),
    case(
        "required only",
        r#"{"type": "object", "required": ["x", "y"]}"#,
    ),
    case(
        "typed rest",
        r#"{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": {"type": "boolean"}}"#,
    ),
    case(
        "open object",
        r#"{"type": "object", "additionalProperties": true}"#,
    ),
    case(
        "map of lists",
        r#"{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}}}"#,
    ),
    case(
        "keys with escapes",
        r#"{"type": "object", "properties": {"a\"b": {"const": 1}, "日": {"const": 2}, "a\\": {"const": 3}, "": {"const": 4}}, "required": ["a\"b", ""], "additionalProperties": false}"#,
    ),
    case(
        "keys that begin alike",
        r#"{"type": "object", "properties": {"a": {"const": 1}, "ab": {"const": 2}, "abc": {"const": 3}, "abcd": {"const": 4}}, "required": ["ab", "abcd"], "additionalProperties": {"type": "null"}}"#,
    ),
    case(
        "many optional keys",
        r#"{"type": "object", "properties": {"k1": {"type": "integer"}, "k2": {"type": "integer"}, "k3": {"type": "integer"}, "k4": {"type": "integer"}, "k5": {"type": "integer"}, "k6": {"type": "integer"}, "k7": {"type": "integer"}, "k8": {"type": "integer"}}, "additionalProperties": false}"#,
    ),
    case(
        "anyOf",
        r#"{"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 100}, {"type": "array", "items": {"type": "string"}, "maxItems": 2}]}"#,
    ),
    case(
        "anyOf objects",
        r#"{"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}, {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false}]}"#,
    ),
    case(
        "oneOf by type",
        r#"{"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}"#,
    ),
    case(
        "oneOf tagged",
        r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["kind", "lives"], "additionalProperties": false}, {"type": "object", "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}}, "required": ["kind"], "additionalProperties": false}]}"#,
    ),
    case(
        "oneOf that overlaps",
        r#"{"type": "integer", "minimum": 0, "maximum": 60, "oneOf": [{"maximum": 40}, {"minimum": 20}]}"#,
    ),
    case(
        "allOf",
        r#"{"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 5}, "b": {"type": "string"}}, "required": ["b"]}, {"properties": {"a": {"maximum": 8}}}]}"#,
    ),
    case(
        "not",
        r#"{"type": ["string", "integer", "boolean"], "not": {"type": "integer", "minimum": 0}}"#,
    ),
    case(
        "not these strings",
        r#"{"type": "string", "maxLength": 4, "not": {"enum": ["a", "ab", ""]}}"#,
    ),
    case(
        "recursive list",
        r##"{"$ref": "#/$defs/list", "$defs": {"list": {"type": "object", "properties": {"head": {"type": "integer"}, "tail": {"anyOf": [{"$ref": "#/$defs/list"}, {"type": "null"}]}}, "required": ["head", "tail"], "additionalProperties": false}}}"##,
    ),
    case(
        "recursive tree",
        r##"{"type": "object", "properties": {"value": {"type": "string", "maxLength": 5}, "children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["value"], "additionalProperties": false}"##,
    ),
    case(
        "mutual recursion",
        r##"{"$ref": "#/definitions/expr", "definitions": {"expr": {"anyOf": [{"type": "integer"}, {"$ref": "#/definitions/sum"}]}, "sum": {"type": "object", "properties": {"op": {"enum": ["+", "*"]}, "left": {"$ref": "#/definitions/expr"}, "right": {"$ref": "#/definitions/expr"}}, "required": ["op", "left", "right"], "additionalProperties": false}}}"##,
    ),
    case(
        "shared definitions",
        r##"{"type": "object", "properties": {"home": {"$ref": "#/$defs/address"}, "work": {"$ref": "#/$defs/address"}}, "required": ["home"], "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["street", "zip"]}}}"##,
    ),
    case(
        "if then else",
        r#"{"type": "integer", "minimum": -20, "maximum": 20, "if": {"minimum": 0}, "then": {"multipleOf": 5}, "else": {"multipleOf": 3}}"#,
    ),
    case(
        "dates",
        r#"{"type": "object", "properties": {"date": {"type": "string", "format": "date"}, "time": {"type": "string", "format": "time"}, "at": {"type": "string", "format": "date-time"}}, "required": ["date", "time", "at"]}"#,
    ),
    case(
        "formats",
        r#"{"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}, "v4": {"type": "string", "format": "ipv4"}, "mail": {"type": "string", "format": "email"}}, "required": ["id", "v4", "mail"], "additionalProperties": false}"#,
    ),
    case(
        "draft 7",
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": {"type": "boolean"}, "maxItems": 4}"##,
    ),
    case(
        "draft 4",
        r##"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 10}"##,
    ),
    case(
        "person",
        r#"{"type": "object", "properties": {"first_name": {"type": "string", "minLength": 1}, "last_name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "email": {"type": "string", "pattern": "^[a-z]+@[a-z]+\\.[a-z]{2,3}$"}, "phones": {"type": "array", "items": {"type": "object", "properties": {"kind": {"enum": ["home", "work", "mobile"]}, "number": {"type": "string", "pattern": "^\\+?[0-9]{6,12}$"}}, "required": ["kind", "number"], "additionalProperties": false}, "maxItems": 3}}, "required": ["first_name", "last_name", "age"], "additionalProperties": false}"#,
    ),
    case(
        "invoice",
        r##"{"type": "object", "properties": {"number": {"type": "string", "pattern": "^INV-[0-9]{4}$"}, "currency": {"enum": ["EUR", "USD", "JPY"]}, "lines": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"$ref": "#/$defs/line"}}, "paid": {"type": ["boolean", "null"]}, "total": {"type": "number", "minimum": 0}}, "required": ["number", "currency", "lines", "total"], "additionalProperties": false, "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string", "maxLength": 10}, "quantity": {"type": "integer", "minimum": 1, "maximum": 99}, "price": {"type": "number", "exclusiveMinimum": 0}}, "required": ["sku", "quantity", "price"], "additionalProperties": false}}}"##,
    ),
    case(
        "tool call",
        r#"{"type": "object", "properties": {"tool": {"const": "search"}, "arguments": {"type": "object", "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 40}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}, "filters": {"type": "object", "additionalProperties": {"type": "string"}}}, "required": ["query"], "additionalProperties": false}}, "required": ["tool", "arguments"], "additionalProperties": false}"#,
    ),
    case(
        "chess move",
        r#"{"type": "object", "properties": {"from": {"type": "string", "pattern": "^[a-h][1-8]$"}, "to": {"type": "string", "pattern": "^[a-h][1-8]$"}, "promote": {"enum": ["q", "r", "b", "n", null]}}, "required": ["from", "to"], "additionalProperties": false}"#,
    ),
    case(
        "geometry",
        r#"{"type": "object", "properties": {"type": {"const": "Polygon"}, "coordinates": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "array", "minItems": 4, "maxItems": 5, "items": {"type": "array", "prefixItems": [{"type": "number", "minimum": -180, "maximum": 180}, {"type": "number", "minimum": -90, "maximum": 90}], "items": false, "minItems": 2}}}}, "required": ["type", "coordinates"], "additionalProperties": false}"#,
    ),
    case(
        "dependent keys",
        r#"{"type": "object", "properties": {"card": {"type": "integer", "minimum": 1000, "maximum": 9999}, "address": {"type": "string", "maxLength": 8}}, "dependentRequired": {"card": ["address"]}, "additionalProperties": false}"#,
    ),
    case(
        "keys of a pattern",
        r#"{"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}"#,
    ),
    case(
        "patterns that overlap",
        r#"{"type": "object", "properties": {"ab": {"type": "integer"}}, "patternProperties": {"^a": {"type": "integer", "minimum": 3}, "b$": {"maximum": 9}}, "additionalProperties": {"type": "boolean"}}"#,
    ),
    case(
        "names of keys",
        r#"{"type": "object", "propertyNames": {"pattern": "^[a-c]{1,2}$"}, "additionalProperties": {"type": "null"}, "minProperties": 2}"#,
    ),
    case(
        "a key that is no name",
        r#"{"type": "object", "not": {"propertyNames": {"maxLength": 2}}, "additionalProperties": {"type": "integer"}}"#,
    ),
    case(
        "counts of open objects",
        r#"{"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 2, "maxProperties": 3}"#,
    ),
    case(
        "counts of closed objects",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}, "d": true}, "required": ["b"], "additionalProperties": false, "minProperties": 2, "maxProperties": 3}"#,
    ),
    case(
        "some value does not fit",
        r#"{"type": "object", "properties": {"a": {"type": "string"}}, "not": {"additionalProperties": {"type": "string"}}}"#,
    ),
    case(
        "keys that need others",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "string"}}, "additionalProperties": false, "dependentRequired": {"a": ["b", "c"]}, "dependentSchemas": {"b": {"properties": {"c": {"minLength": 2}}}}}"#,
    ),
    case(
        "exactly one of overlapping objects",
        r#"{"type": "object", "oneOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}, {"properties": {"c": {"const": 1}}, "required": ["c"]}]}"#,
    ),
    case(
        "some item is a number",
        r#"{"type": "array", "items": {"type": ["integer", "string", "null"]}, "contains": {"type": "integer"}, "maxItems": 4}"#,
    ),
    case(
        "two items at most are strings",
        r#"{"type": "array", "items": {"type": ["integer", "string"]}, "contains": {"type": "string"}, "minContains": 1, "maxContains": 2, "minItems": 2}"#,
    ),
    case(
        "some item does not fit",
        r#"{"type": "array", "not": {"items": {"type": "integer"}}, "items": {"type": ["integer", "boolean"]}}"#,
    ),
    case(
        "distinct words",
        r#"{"type": "array", "items": {"enum": ["a", "ab", "b", "日"]}, "uniqueItems": true, "minItems": 2}"#,
    ),
    case(
        "distinct numbers",
        r#"{"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 4}, "uniqueItems": true, "minItems": 3}"#,
    ),
    case(
        "distinct strings",
        r#"{"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 2, "maxItems": 3}"#,
    ),
    case(
        "distinct objects",
        r#"{"type": "array", "items": {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}}, "required": ["a", "b"], "additionalProperties": false}, "uniqueItems": true, "minItems": 2}"#,
    ),
    case(
        "distinct items of a tuple",
        r#"{"type": "array", "prefixItems": [{"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [1, 3]}], "items": false, "minItems": 3, "uniqueItems": true}"#,
    ),
    case(
        "what was not evaluated",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"properties": {"c": {"type": "null"}}}], "unevaluatedProperties": false}"#,
    ),
    case(
        "items that were not evaluated",
        r#"{"type": "array", "prefixItems": [{"type": "integer"}], "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}}"#,
    ),
    case(
        "no integer",
        r#"{"type": "number", "not": {"type": "integer"}, "minimum": -3, "maximum": 12}"#,
    ),
    case(
        "no multiple",
        r#"{"type": "integer", "not": {"multipleOf": 3}, "minimum": 0, "maximum": 40}"#,
    ),
    case(
        "looking ahead",
        r#"{"type": "string", "pattern": "^(?!.*--)[a-c-]{1,6}$"}"#,
    ),
    case(
        "looking behind",
        r#"{"type": "string", "pattern": "^[a-c ]{0,6}(?<!a)\\b$"}"#,
    ),
    case(
        "not these values",
        r#"{"type": ["object", "array"], "not": {"enum": [{"a": 1}, [], [1]]}, "items": {"type": "integer"}, "properties": {"a": {"type": "integer"}}, "maxProperties": 1, "maxItems": 2, "additionalProperties": false}"#,
    ),
];
