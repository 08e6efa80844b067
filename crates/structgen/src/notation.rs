//! The compact notation of schemas in the embedded model's prompt.
//!
//! It tells the model what is wanted in a fifth of a schema's length. It is only a rendering: the constraint comes from
//! the schema itself, and what the notation omits (long patterns, `not`, dependencies) is still enforced. The reference
//! is `training/notation.py`; both render `tests/data/notation.jsonl` identically.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The version of the prompt that this crate writes; a model's `tokenizer_config.json` names the version it was trained
/// on.
#[cfg(feature = "ort")]
pub(crate) const PROMPT_VERSION: u64 = 2;

/// Schemas nested deeper than this are rendered as `any`.
const MAX_DEPTH: usize = 64;

/// A rendering longer than this continues with `any` only; no model of this kind could read it.
const MAX_BYTES: usize = 1 << 16;

/// Maximum number of schemas to render, counted each time that they are referred to, before the rendering continues
/// with `any` only. Schemas without a text of their own can multiply without bytes.
const MAX_VISITS: usize = 1 << 16;

/// Longer patterns are omitted.
const MAX_PATTERN_CHARS: usize = 60;

/// Longer descriptions are cut.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// How many characters of a description are looked at, including whitespace.
const MAX_DESCRIPTION_READ: usize = 1 << 12;

/// Maximum number of references to follow to a description.
const MAX_REFERENCES: usize = 8;

/// Renders a JSON Schema as the embedded model was trained to read it.
///
/// A schema is the list of its union members, joined by `|`, with `null` last:
///
/// | schema | notation |
/// |---|---|
/// | `boolean`, `null`, `string`, `integer`, `number` | its name |
/// | `minimum`, `maximum`, `exclusiveMinimum`, lengths | `integer 1..5`, `number 0<..`, `string ..20` |
/// | a string with a `format`, or a `pattern` | `date`, `string/^[A-Z]+$/` |
/// | `enum`, `const` | the values as compact JSON |
/// | arrays, tuples | `[T]`, `[T] 1..3`, `[T,U]` |
/// | objects, maps | `{"key":T,"optional"?:T}`, `{...:T}` |
/// | a `description` of a property or item | after its type: `string (as on the invoice)` |
/// | all else | `any` |
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "name": {"type": "string", "description": "of the guest"},
///         "age": {"type": ["integer", "null"], "minimum": 0},
///         "arrives": {"type": "string", "format": "date"},
///         "tags": {"type": "array", "items": {"enum": ["new", "old"]}},
///     },
///     "required": ["name", "arrives", "tags"],
/// });
/// let compact = structgen::compact_notation(&schema);
/// assert_eq!(
///     compact,
///     r#"{"name":string (of the guest),"age"?:integer 0..|null,"arrives":date,"tags":["new"|"old"]}"#
/// );
/// ```
#[must_use]
pub fn compact_notation(schema: &Value) -> String {
    Renderer::new(schema).render(schema)
}

pub(crate) struct Renderer<'s> {
    root: &'s Value,
    /// The references being rendered: another occurrence of one is a recursion.
    references: Vec<&'s str>,
    depth: usize,
    /// Bytes of finished members, which references can multiply.
    written: usize,
    /// The number of schemas rendered so far.
    visits: usize,
}

impl<'s> Renderer<'s> {
    pub(crate) fn new(root: &'s Value) -> Self {
        Self {
            root,
            references: Vec::new(),
            depth: 0,
            written: 0,
            visits: 0,
        }
    }

    fn render(&mut self, schema: &'s Value) -> String {
        self.members(schema).join("|")
    }

    /// Returns the members of the union: without duplicates, `null` last, and only `any` if one is `any`.
    fn members(&mut self, schema: &'s Value) -> Vec<String> {
        if self.depth >= MAX_DEPTH || self.written > MAX_BYTES || self.visits >= MAX_VISITS {
            return any();
        }
        self.visits += 1;
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

    /// Returns the member of one type.
    pub(crate) fn one(&mut self, kind: &str, schema: &'s Map<String, Value>) -> String {
        match kind {
            "boolean" | "null" => kind.to_owned(),
            "string" => string(schema),
            "integer" | "number" => format!("{kind}{}", bounds(schema)),
            "array" => self.array(schema),
            "object" => self.object(schema),
            _ => "any".to_owned(),
        }
    }

    fn array(&mut self, schema: &'s Map<String, Value>) -> String {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let items = schema.get("items");
        if let Some(first) = first.filter(|first| !first.is_empty()) {
            let mut parts: Vec<String> = Vec::new();
            for item in first {
                parts.push(self.described(item));
            }
            if let Some(items @ Value::Object(_)) = items {
                parts.push(format!("...{}", self.render(items)));
            }
            return format!("[{}]", parts.join(","));
        }
        let items = items.map_or_else(|| "any".to_owned(), |items| self.described(items));
        format!("[{items}]{}", between(schema, "minItems", "maxItems"))
    }

    fn object(&mut self, schema: &'s Map<String, Value>) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten();
        let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut parts = Vec::new();
        for (key, value) in properties.into_iter().flatten() {
            let optional = if required.contains(&**key) { "" } else { "?" };
            let value = self.described(value);
            parts.push(format!("{}{optional}:{value}", Value::from(key.as_str())));
        }
        match schema.get("additionalProperties") {
            Some(others @ Value::Object(members)) if !members.is_empty() => {
                parts.push(format!("...:{}", self.render(others)));
            }
            _ => {}
        }
        format!("{{{}}}", parts.join(","))
    }

    /// Renders a schema with its description, or that of the schema it refers to.
    fn described(&mut self, schema: &'s Value) -> String {
        let mut rendered = self.render(schema);
        if let Some(said) = self.description(schema) {
            rendered.push_str(&in_brackets(&said));
        }
        rendered
    }

    /// Returns the description on one line.
    pub(crate) fn description(&self, mut schema: &'s Value) -> Option<String> {
        for _ in 0..MAX_REFERENCES {
            let description = schema.get("description").and_then(Value::as_str);
            let line = first(description.unwrap_or(""), MAX_DESCRIPTION_READ).split_whitespace();
            // One word more than fits is enough to cut.
            let line: Vec<&str> = line.take(MAX_DESCRIPTION_CHARS + 1).collect();
            if !line.is_empty() {
                return Some(line.join(" "));
            }
            let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
            schema = self.root.pointer(pointer)?;
        }
        None
    }
}

/// Formats a description, cut, as it follows a type.
pub(crate) fn in_brackets(said: &str) -> String {
    let cut = first(said, MAX_DESCRIPTION_CHARS);
    format!(" ({})", cut.trim_end())
}

/// Returns the first characters of a text.
fn first(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Renders the format of a string, its pattern, or its lengths.
fn string(schema: &Map<String, Value>) -> String {
    let of = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    if let Some(format) = of("format").filter(|format| is_name(format)) {
        return format.to_owned();
    }
    match of("pattern") {
        Some(pattern) if first(pattern, MAX_PATTERN_CHARS).len() == pattern.len() => {
            format!("string/{pattern}/")
        }
        _ => format!("string{}", between(schema, "minLength", "maxLength")),
    }
}

/// Returns whether a format may take the place of a type: up to 24 lowercase letters, digits and hyphens, starting with
/// a letter.
fn is_name(format: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    format.len() <= 24
        && format.starts_with(|first: char| first.is_ascii_lowercase())
        && format.bytes().all(plain)
}

/// Renders ` low..high` of a number, with `<` beside an exclusive bound.
fn bounds(schema: &Map<String, Value>) -> String {
    let of = |keyword: &str| schema.get(keyword).and_then(written);
    let low = of("minimum").or_else(|| Some(of("exclusiveMinimum")? + "<"));
    let high = of("maximum").or_else(|| Some(format!("<{}", of("exclusiveMaximum")?)));
    if low.is_none() && high.is_none() {
        return String::new();
    }
    format!(" {}..{}", low.unwrap_or_default(), high.unwrap_or_default())
}

/// Renders ` low..high` of a length or count, or nothing if it has no bounds.
fn between(schema: &Map<String, Value>, low: &str, high: &str) -> String {
    let low = schema.get(low).and_then(written).unwrap_or_default();
    match schema.get(high).and_then(written) {
        Some(high) => format!(" {low}..{high}"),
        None if low.is_empty() || low == "0" => String::new(),
        None => format!(" {low}.."),
    }
}

/// Renders a number as JSON; whole numbers have no fraction.
fn written(value: &Value) -> Option<String> {
    let Value::Number(number) = value else {
        return None;
    };
    if number.is_i64() || number.is_u64() {
        return Some(number.to_string());
    }
    let float = number.as_f64()?;
    Some(if float.fract() == 0.0 && float.abs() < 1e15 {
        format!("{float:.0}")
    } else {
        number.to_string()
    })
}

fn any() -> Vec<String> {
    vec!["any".to_owned()]
}

/// Returns the branches of `anyOf`, or else of `oneOf`.
fn branches(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    let of = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    of("anyOf")
        .filter(|branches| !branches.is_empty())
        .or_else(|| of("oneOf"))
}

/// Returns the names of the types.
pub(crate) fn kinds(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds
            .iter()
            .map(|kind| kind.as_str().unwrap_or("any"))
            .collect(),
        Some(_) => vec!["any"],
        None if schema.contains_key("properties") => vec!["object"],
        None if schema.contains_key("items") || schema.contains_key("prefixItems") => vec!["array"],
        None => vec!["any"],
    }
}

fn tidy(members: Vec<String>) -> Vec<String> {
    if members.iter().any(|member| member == "any") {
        return any();
    }
    let mut seen = HashSet::new();
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
        check(json!({"type": "string", "minLength": 3}), "string 3..");
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

    /// A schema that refers to the next one twice, 60 times in a row.
    fn doubling(last: Value, pair: impl Fn(&Value) -> Value) -> Value {
        let mut defs = Map::new();
        for i in 0..60 {
            let next = json!({"$ref": format!("#/$defs/{}", i + 1)});
            defs.insert(i.to_string(), pair(&next));
        }
        defs.insert("60".into(), last);
        json!({"$defs": defs, "$ref": "#/$defs/0"})
    }

    #[test]
    fn references_that_double_at_every_step_stay_bounded() {
        let pair = |next: &Value| json!({"type": "object", "properties": {"a": next, "b": next}});
        let rendered = compact_notation(&doubling(json!({"type": "string"}), pair));
        assert!(rendered.len() < 20 * MAX_BYTES, "{}", rendered.len());
        let pair = |next: &Value| json!({"anyOf": [next, next]});
        check(doubling(json!({"enum": []}), pair), "any");
    }

    #[test]
    fn a_long_description_is_cut() {
        let said = "ä ".repeat(MAX_DESCRIPTION_READ);
        let schema = json!({"items": {"type": "string", "description": said}});
        check(
            schema,
            &format!("[string ({})]", "ä ".repeat(100).trim_end()),
        );
    }
}
