//! The compact notation of schemas in the embedded model's prompt.
//!
//! It tells the model which keys and types are wanted in a tenth of a schema's length. It is a rendering only: the
//! constraint comes from the schema itself, and what the notation leaves out (bounds, patterns, formats) holds all the same.

use serde_json::{Map, Value};

/// Schemas nested deeper than this are rendered as `any`.
const MAX_DEPTH: usize = 64;

/// A rendering that has become longer than this goes on with `any` only; no model of this kind could read it.
const MAX_BYTES: usize = 1 << 16;

/// Renders a JSON Schema as the embedded model was trained to read it.
///
/// A schema is the list of its union members, joined by `|`: `string`, `integer`, `number`, `boolean`, `null`, values
/// of `enum` and `const` as compact JSON, `[T]` for arrays, `{"key":T,"optional"?:T}` for objects, and `any` for all that the
/// notation cannot say. `null` comes last.
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "name": {"type": "string"},
///         "age": {"type": ["integer", "null"]},
///         "tags": {"type": "array", "items": {"enum": ["new", "old"]}},
///     },
///     "required": ["name", "tags"],
/// });
/// let compact = structgen::compact_notation(&schema);
/// assert_eq!(compact, r#"{"name":string,"age"?:integer|null,"tags":["new"|"old"]}"#);
/// ```
#[must_use]
pub fn compact_notation(schema: &Value) -> String {
    let mut renderer = Renderer {
        root: schema,
        references: Vec::new(),
        depth: 0,
        written: 0,
    };
    renderer.render(schema)
}

struct Renderer<'s> {
    root: &'s Value,
    /// The references that lead to where the renderer stands: one of them again is a recursion.
    references: Vec<&'s str>,
    depth: usize,
    /// Bytes of finished members, which references can multiply.
    written: usize,
}

impl<'s> Renderer<'s> {
    fn render(&mut self, schema: &'s Value) -> String {
        self.members(schema).join("|")
    }

    /// The members of the union: without repetition, `null` last, and only `any` if one is `any`.
    fn members(&mut self, schema: &'s Value) -> Vec<String> {
        if self.depth >= MAX_DEPTH || self.written > MAX_BYTES {
            return any();
        }
        self.depth += 1;
        let members = match schema {
            Value::Object(schema) => self.members_of(schema),
            _ => any(),
        };
        self.depth -= 1;
        self.written += members.iter().map(String::len).sum::<usize>();
        members
    }

    fn members_of(&mut self, schema: &'s Map<String, Value>) -> Vec<String> {
        if let Some(reference) = schema.get("$ref") {
            return self.target(reference);
        }
        let mut members = Vec::new();
        if let Some(value) = schema.get("const") {
            members.push(value.to_string());
        } else if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            members.extend(values.iter().map(Value::to_string));
        } else if let Some(branches) = branches(schema) {
            for branch in branches {
                members.extend(self.members(branch));
            }
        } else if let Some([only]) = schema
            .get("allOf")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            return self.members(only);
        } else {
            for kind in kinds(schema) {
                members.push(self.one(kind, schema));
            }
        }
        tidy(members)
    }

    fn target(&mut self, reference: &'s Value) -> Vec<String> {
        let Some(reference) = reference.as_str() else {
            return any();
        };
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        match target {
            Some(target) if !self.references.contains(&reference) => {
                self.references.push(reference);
                let members = self.members(target);
                self.references.pop();
                members
            }
            _ => any(),
        }
    }

    fn one(&mut self, kind: &str, schema: &'s Map<String, Value>) -> String {
        match kind {
            "string" | "integer" | "number" | "boolean" | "null" => kind.to_owned(),
            "array" => match schema.get("items") {
                Some(items) => format!("[{}]", self.render(items)),
                None => "[any]".to_owned(),
            },
            "object" => self.object(schema),
            _ => "any".to_owned(),
        }
    }

    fn object(&mut self, schema: &'s Map<String, Value>) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut parts = Vec::new();
        for (key, value) in properties.into_iter().flatten() {
            let is_required = required.is_some_and(|keys| keys.iter().any(|name| name == key));
            let optional = if is_required { "" } else { "?" };
            let value = self.render(value);
            parts.push(format!("{}{optional}:{value}", Value::from(key.as_str())));
        }
        format!("{{{}}}", parts.join(","))
    }
}

fn any() -> Vec<String> {
    vec!["any".to_owned()]
}

/// The branches of `anyOf`, or of `oneOf` where there are none.
fn branches(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    let of = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    of("anyOf")
        .filter(|branches| !branches.is_empty())
        .or_else(|| of("oneOf"))
}

fn kinds(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds
            .iter()
            .map(|kind| kind.as_str().unwrap_or("any"))
            .collect(),
        Some(_) => vec!["any"],
        None if schema.contains_key("properties") => vec!["object"],
        None if schema.contains_key("items") => vec!["array"],
        None => vec!["any"],
    }
}

fn tidy(members: Vec<String>) -> Vec<String> {
    if members.iter().any(|member| member == "any") {
        return any();
    }
    let mut seen = std::collections::HashSet::new();
    let (mut nulls, mut others) = (Vec::new(), Vec::new());
    for member in members {
        if seen.insert(member.clone()) {
            let place = if member == "null" {
                &mut nulls
            } else {
                &mut others
            };
            place.push(member);
        }
    }
    others.append(&mut nulls);
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: Value, expected: &str) {
        assert_eq!(compact_notation(&schema), expected);
    }

    #[test]
    fn scalars_arrays_and_objects_have_their_own_forms() {
        check(json!({"type": "string", "minLength": 3}), "string");
        check(json!({"type": "array"}), "[any]");
        check(json!({"type": "object"}), "{}");
        check(json!({"items": {"type": "number"}}), "[number]");
        check(
            json!({"properties": {"ä\"": {"type": "boolean"}}}),
            r#"{"ä\""?:boolean}"#,
        );
        check(json!({"const": {"a": [1, "ü"]}}), r#"{"a":[1,"ü"]}"#);
    }

    #[test]
    fn unions_lose_repetitions_and_end_with_null() {
        check(json!({"type": ["null", "string"]}), "string|null");
        check(json!({"enum": [null, "a", "b", "a"]}), r#""a"|"b"|null"#);
        let schema =
            json!({"anyOf": [{"type": "null"}, {"enum": ["x"]}, {"type": ["integer", "null"]}]});
        check(schema, r#""x"|integer|null"#);
        check(json!({"oneOf": [{"type": "string"}, true]}), "any");
    }

    #[test]
    fn references_are_followed_and_recursion_is_any() {
        let schema = json!({
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"value": {"$ref": "#/$defs/a~1b"}, "next": {"$ref": "#/$defs/node"}},
                    "required": ["value"],
                },
                "a/b": {"type": "integer"},
            },
            "allOf": [{"$ref": "#/$defs/node"}],
        });
        check(schema, r#"{"value":integer,"next"?:any}"#);
        check(json!({"$ref": "#"}), "any");
        check(json!({"$ref": "other.json"}), "any");
        check(json!({"$ref": "#/nowhere"}), "any");
    }

    #[test]
    fn what_the_notation_cannot_say_is_any() {
        check(json!(true), "any");
        check(json!({}), "any");
        check(json!({"type": "file"}), "any");
        check(
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
            "any",
        );
    }

    #[test]
    fn references_that_double_at_every_step_stay_bounded() {
        let mut defs = Map::new();
        for i in 0..60 {
            let next = json!({"$ref": format!("#/$defs/{}", i + 1)});
            let pair = json!({"type": "object", "properties": {"a": next, "b": next}});
            defs.insert(i.to_string(), pair);
        }
        defs.insert("60".into(), json!({"type": "string"}));
        let rendered = compact_notation(&json!({"$defs": defs, "$ref": "#/$defs/0"}));
        assert!(rendered.len() < 20 * MAX_BYTES, "{}", rendered.len());
    }
}
