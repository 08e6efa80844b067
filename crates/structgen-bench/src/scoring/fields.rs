//! A document's fields.

use serde_json::{Map, Value};
use structgen::grammar::json_pointer::escaped;

use super::equality::equal;

/// Maximum number of references to follow to a schema.
const MAX_REFERENCES: usize = 32;

/// A field with its expected and actual values.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'v> {
    /// The JSON Pointer of its value.
    pub pointer: String,
    /// Its type according to the schema, such as `integer` or `string (date)`; `enum`; or `absent` and `null` if that
    /// is expected.
    pub kind: String,
    /// The expected value; `None` for an absent property.
    pub expected: Option<&'v Value>,
    /// The answer's value.
    pub actual: Option<&'v Value>,
    /// Whether the answer is correct.
    pub is_right: bool,
}

/// Returns the fields of a document. They depend only on the schema and the expected document; without an answer, all
/// are wrong.
#[must_use]
pub fn fields<'v>(
    schema: &Value,
    expected: &'v Value,
    answer: Option<&'v Value>,
) -> Vec<Field<'v>> {
    let mut walk = Walk {
        root: schema,
        fields: Vec::new(),
    };
    walk.value("", schema, Some(expected), answer, answer.is_some());
    walk.fields
}

struct Walk<'s, 'v> {
    root: &'s Value,
    fields: Vec<Field<'v>>,
}

impl<'s, 'v> Walk<'s, 'v> {
    /// `is_reached` is whether the answer has the object that should contain the value. If not, nothing in that object
    /// is correct for being absent.
    fn value(
        &mut self,
        pointer: &str,
        schema: &'s Value,
        expected: Option<&'v Value>,
        actual: Option<&'v Value>,
        is_reached: bool,
    ) {
        let schema = self.resolved(schema);
        if let (Some(properties), Some(Value::Object(expected))) = (properties(schema), expected) {
            self.members(pointer, schema, properties, expected, actual);
            return;
        }
        let is_same = match (expected, actual) {
            (None, None) => true,
            (Some(expected), Some(actual)) => equal(expected, actual),
            _ => false,
        };
        let kind = match expected {
            None => "absent".to_owned(),
            Some(Value::Null) => "null".to_owned(),
            Some(_) => self.kind(schema),
        };
        self.fields.push(Field {
            pointer: pointer.to_owned(),
            kind,
            expected,
            actual,
            is_right: is_reached && is_same,
        });
    }

    fn members(
        &mut self,
        pointer: &str,
        schema: &'s Value,
        properties: &'s Map<String, Value>,
        expected: &'v Map<String, Value>,
        actual: Option<&'v Value>,
    ) {
        let actual = actual.and_then(Value::as_object);
        let mut member = |key: &str, schema: &'s Value| {
            let pointer = format!("{pointer}/{}", escaped(key));
            self.value(
                &pointer,
                schema,
                expected.get(key),
                actual.and_then(|actual| actual.get(key)),
                actual.is_some(),
            );
        };
        for (key, schema) in properties {
            member(key, schema);
        }
        let unnamed = expected.keys().filter(|key| !properties.contains_key(*key));
        for key in unnamed {
            member(key, &schema["additionalProperties"]);
        }
    }

    /// Returns the effective schema: the target of a reference, or the first branch of a union that is not null.
    fn resolved(&self, mut schema: &'s Value) -> &'s Value {
        for _ in 0..MAX_REFERENCES {
            let branches = ["anyOf", "oneOf", "allOf"].map(|keyword| schema[keyword].as_array());
            let branch = { branches.into_iter().flatten().flatten() }
                .find(|branch| branch["type"] != "null");
            let target = { schema["$ref"].as_str() }
                .and_then(|reference| reference.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer));
            let Some(next) = target.or(branch).filter(|_| properties(schema).is_none()) else {
                break;
            };
            schema = next;
        }
        schema
    }

    fn kind(&self, schema: &'s Value) -> String {
        if schema.get("enum").is_some() || schema.get("const").is_some() {
            return "enum".to_owned();
        }
        let name = match &schema["type"] {
            Value::Array(names) => names.iter().find(|name| *name != "null"),
            name => Some(name),
        };
        match name.and_then(Value::as_str) {
            Some("string") => match (schema["format"].as_str(), schema.get("pattern")) {
                (Some(format), _) => format!("string ({format})"),
                (None, Some(_)) => "string (pattern)".to_owned(),
                (None, None) => "string".to_owned(),
            },
            Some("array") if self.resolved(&schema["items"])["type"] == "object" => {
                "array of objects".to_owned()
            }
            Some(name) => name.to_owned(),
            None => "any".to_owned(),
        }
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    let properties = schema["properties"].as_object();
    properties.filter(|properties| !properties.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Formats fields as `pointer kind +` if correct, and with `-` if wrong.
    fn check(schema: &Value, expected: &Value, answer: Option<&Value>) -> Vec<String> {
        let line = |field: Field<'_>| {
            let mark = if field.is_right { '+' } else { '-' };
            format!("{} {} {mark}", field.pointer, field.kind)
        };
        { fields(schema, expected, answer).into_iter() }
            .map(line)
            .collect()
    }

    #[test]
    fn a_field_is_a_leaf_of_the_schema_and_has_its_type() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "day": {"type": "string", "format": "date"},
                "code": {"type": ["string", "null"], "pattern": "^[A-Z]+$"},
                "n": {"type": "integer"},
                "price": {"anyOf": [{"type": "null"}, {"type": "number"}]},
                "state": {"enum": ["open", "closed"]},
                "paid": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
                "rates": {"type": "object", "additionalProperties": {"type": "number"}},
                "who": {"type": "object", "properties": {"a/b": {"type": "string"}, "age": {"type": "integer"}}},
                "other": true,
            },
            "$defs": {"row": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        });
        let expected = json!({
            "name": "Ada", "day": "2024-05-12", "code": "X", "n": 3, "price": 1.5, "state": "open", "paid": true,
            "tags": ["a"], "rows": [{"x": 1}], "rates": {"EUR": 2}, "who": {"a/b": "c", "age": 36}, "other": 1,
        });
        let kinds = [
            "/name string",
            "/day string (date)",
            "/code string (pattern)",
            "/n integer",
            "/price number",
            "/state enum",
            "/paid boolean",
            "/tags array",
            "/rows array of objects",
            "/rates object",
            "/who/a~1b string",
            "/who/age integer",
            "/other any",
        ];
        let all = |mark: &str| kinds.map(|kind| format!("{kind} {mark}")).to_vec();
        assert_eq!(check(&schema, &expected, Some(&expected)), all("+"));
        assert_eq!(check(&schema, &expected, Some(&json!({}))), all("-"));
        assert_eq!(check(&schema, &expected, None), all("-"));
        let wrong = json!({
            "name": "ada", "day": "2024-5-12", "code": null, "n": "3", "price": 1.51, "state": "closed", "paid": 1,
            "tags": ["a", "a"], "rows": [{"x": 1, "y": 1}], "rates": {}, "who": {"a/b": "", "age": null}, "other": "1",
        });
        assert_eq!(check(&schema, &expected, Some(&wrong)), all("-"));
    }

    #[test]
    fn an_absent_property_is_right_where_it_is_absent() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"type": "object", "properties": {"d": {"type": "integer"}, "e": {"type": "integer"}}},
        }});
        let expected = json!({"b": null, "c": {"e": 1}});
        let answer = json!({"b": null, "c": {"e": 1.0}});
        let right = [
            "/a absent +",
            "/b null +",
            "/c/d absent +",
            "/c/e integer +",
        ];
        assert_eq!(check(&schema, &expected, Some(&answer)), right);
        let invented = json!({"a": "x", "b": "y", "c": null});
        let wrong = [
            "/a absent -",
            "/b null -",
            "/c/d absent -",
            "/c/e integer -",
        ];
        assert_eq!(check(&schema, &expected, Some(&invented)), wrong);
        // Without an answer, every field is wrong.
        assert_eq!(check(&schema, &expected, None), wrong);
        // An absent object is one field, and so is one that is null.
        let absent = json!({"a": "x"});
        assert_eq!(
            check(&schema, &absent, Some(&absent)),
            ["/a string +", "/b absent +", "/c absent +"]
        );
    }

    #[test]
    fn keys_that_only_the_expected_document_names_are_fields() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "integer"}});
        let expected = json!({"a": "x", "b": 1});
        assert_eq!(
            check(&schema, &expected, Some(&json!({"a": "x", "c": 1}))),
            ["/a string +", "/b integer -"]
        );
    }

    #[test]
    fn a_document_that_is_no_object_is_one_field() {
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        let expected = json!([1, 2]);
        assert_eq!(
            check(&schema, &expected, Some(&json!([1, 2.0]))),
            [" array +"]
        );
        assert_eq!(
            check(&schema, &expected, Some(&json!({"a": 1}))),
            [" array -"]
        );
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(check(&schema, &json!(1), Some(&json!(1))), [" any +"]);
    }
}
