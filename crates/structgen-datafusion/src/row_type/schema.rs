//! Derives the type of a schema's values.

use serde_json::{Map, Value};

use super::RowType;

/// Deeper values become JSON text.
const DEEPEST: usize = 32;
/// Maximum number of types within one, so that schemas that refer to one another many times stay small.
const MOST_TYPES: usize = 2_000;
/// Maximum number of decimal places.
const MOST_SCALE: usize = 18;

/// Keywords with which an object may have properties beyond its `properties`, or that restrict it in other ways.
const OPENING: [&str; 11] = [
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "oneOf",
    "patternProperties",
    "then",
];

impl RowType {
    /// Returns the type of a schema's values.
    ///
    /// References within the document are followed. Values whose schema uses anything but `type`, `properties`,
    /// `items`, `additionalProperties`, `enum`, `const`, `format`, `multipleOf`, bounds, `null` as an alternative, and
    /// references become JSON text.
    ///
    /// ```
    /// use serde_json::json;
    /// use structgen_datafusion::RowType;
    ///
    /// let schema = json!({"type": "object", "properties": {
    ///     "item": {"type": "string"},
    ///     "price": {"type": "number", "multipleOf": 0.01},
    ///     "sizes": {"type": "array", "items": {"type": "integer"}},
    /// }});
    /// let RowType::Struct(fields) = RowType::of_schema(&schema) else { panic!() };
    /// assert_eq!(fields[1], ("price".to_owned(), RowType::Decimal(2)));
    /// assert_eq!(fields[2].1, RowType::List(Box::new(RowType::Int64)));
    /// ```
    #[must_use]
    pub fn of_schema(schema: &Value) -> Self {
        let mut reader = Reader {
            document: schema,
            types: 0,
            open: Vec::new(),
        };
        reader.read(schema, 0)
    }
}

struct Reader<'s> {
    document: &'s Value,
    types: usize,
    /// The schemas being processed: recursion becomes JSON text.
    open: Vec<&'s Value>,
}

impl<'s> Reader<'s> {
    fn read(&mut self, schema: &'s Value, depth: usize) -> RowType {
        self.types += 1;
        let is_open = self.open.iter().any(|open| std::ptr::eq(*open, schema));
        if is_open || depth > DEEPEST || self.types > MOST_TYPES {
            return RowType::Json;
        }
        self.open.push(schema);
        let found = self.read_keywords(schema, depth);
        self.open.pop();
        found
    }

    fn read_keywords(&mut self, schema: &'s Value, depth: usize) -> RowType {
        let Value::Object(keywords) = schema else {
            return RowType::Json;
        };
        if let Some(reference) = keywords.get("$ref") {
            return match self.target(keywords, reference) {
                Some(target) => self.read(target, depth + 1),
                None => RowType::Json,
            };
        }
        if let Some(alternative) = or_null(keywords) {
            return self.read(alternative, depth + 1);
        }
        match type_of(keywords) {
            Some("boolean") => RowType::Boolean,
            Some("integer") => integer(keywords),
            Some("number") => number(keywords),
            Some("string") => match keywords.get("format").and_then(Value::as_str) {
                Some("date") => RowType::Date,
                Some("date-time") => RowType::Timestamp,
                _ => RowType::Text,
            },
            Some("array") => self.array(keywords, depth),
            Some("object") => self.object(keywords, depth),
            Some(_) => RowType::Json,
            None => of_values(keywords).unwrap_or(RowType::Json),
        }
    }

    /// Returns the target of a reference, if the schema has no other assertions and the target is in this document.
    fn target(&self, keywords: &Map<String, Value>, reference: &Value) -> Option<&'s Value> {
        let is_annotation = |name: &str| {
            matches!(
                name,
                "$ref" | "$defs" | "$schema" | "$comment" | "definitions" | "title" | "description"
            )
        };
        if !keywords.keys().all(|name| is_annotation(name)) {
            return None;
        }
        // An identifier within the document may change the base of a reference.
        let pointer = reference.as_str()?.strip_prefix('#')?;
        let is_plain = pointer.is_empty() || pointer.starts_with('/');
        let target = self.document.pointer(pointer)?;
        (is_plain && !pointer.contains('%') && !has_id_within(self.document)).then_some(target)
    }

    fn array(&mut self, keywords: &'s Map<String, Value>, depth: usize) -> RowType {
        let is_tuple = ["prefixItems", "additionalItems", "allOf", "anyOf", "oneOf"]
            .iter()
            .any(|name| keywords.contains_key(*name));
        match keywords.get("items") {
            Some(items @ Value::Object(_)) if !is_tuple => {
                RowType::List(Box::new(self.read(items, depth + 1)))
            }
            _ => RowType::Json,
        }
    }

    fn object(&mut self, keywords: &'s Map<String, Value>, depth: usize) -> RowType {
        if OPENING.iter().any(|name| keywords.contains_key(*name)) {
            return RowType::Json;
        }
        let is_closed = |name: &str| matches!(keywords.get(name), None | Some(Value::Bool(false)));
        let properties = match keywords.get("properties") {
            Some(Value::Object(properties)) => properties,
            _ => {
                return match keywords.get("additionalProperties") {
                    Some(values @ Value::Object(_)) if is_closed("unevaluatedProperties") => {
                        RowType::Map(Box::new(self.read(values, depth + 1)))
                    }
                    _ => RowType::Json,
                };
            }
        };
        // Parquet cannot represent a struct without fields.
        if properties.is_empty()
            || !is_closed("additionalProperties")
            || !is_closed("unevaluatedProperties")
        {
            return RowType::Json;
        }
        let required = keywords.get("required").and_then(Value::as_array);
        let is_undeclared =
            |name: &Value| name.as_str().is_some_and(|it| !properties.contains_key(it));
        if required.is_some_and(|names| names.iter().any(is_undeclared)) {
            return RowType::Json;
        }
        let mut fields = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            // A property that can never occur needs no column.
            if *schema != Value::Bool(false) {
                fields.push((name.clone(), self.read(schema, depth + 1)));
            }
        }
        match fields.is_empty() || self.types > MOST_TYPES {
            true => RowType::Json,
            false => RowType::Struct(fields),
        }
    }
}

/// Returns the alternative to null, if a schema is just these two.
fn or_null(keywords: &Map<String, Value>) -> Option<&Value> {
    let alternatives = keywords
        .get("anyOf")
        .or_else(|| keywords.get("oneOf"))?
        .as_array()?;
    let says_nothing = |name: &str| {
        matches!(
            name,
            "anyOf"
                | "oneOf"
                | "title"
                | "description"
                | "default"
                | "$defs"
                | "definitions"
                | "$schema"
        )
    };
    let alone = keywords.keys().all(|name| says_nothing(name))
        && keywords.contains_key("anyOf") != keywords.contains_key("oneOf");
    match (alternatives.as_slice(), alone) {
        ([one, null] | [null, one], true) if is_null(null) => Some(one),
        _ => None,
    }
}

fn is_null(schema: &Value) -> bool {
    match (schema.get("type"), schema.get("const")) {
        (Some(Value::String(name)), _) => name == "null",
        (None, Some(Value::Null)) => true,
        _ => false,
    }
}

/// Returns the single type of a schema's values, apart from null.
fn type_of(keywords: &Map<String, Value>) -> Option<&str> {
    match keywords.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let mut others = names.iter().filter(|name| *name != "null");
            match (others.next(), others.next()) {
                (Some(Value::String(name)), None) => Some(name),
                // `["integer", "number"]` is a number.
                (Some(Value::String(a)), Some(Value::String(b)))
                    if others.next().is_none()
                        && [a.as_str(), b].contains(&"integer")
                        && [a.as_str(), b].contains(&"number") =>
                {
                    Some("number")
                }
                _ => Some("several"),
            }
        }
        _ => None,
    }
}

/// Returns the type of enumerated values.
fn of_values(keywords: &Map<String, Value>) -> Option<RowType> {
    let values = match (keywords.get("const"), keywords.get("enum")) {
        (Some(only), _) => std::slice::from_ref(only),
        (None, Some(Value::Array(values))) => values,
        _ => return None,
    };
    let mut values = values.iter().filter(|value| !value.is_null()).peekable();
    values.peek()?;
    let all = |is: fn(&Value) -> bool| values.clone().all(is);
    if all(Value::is_string) {
        Some(RowType::Text)
    } else if all(Value::is_boolean) {
        Some(RowType::Boolean)
    } else if all(Value::is_i64) {
        Some(RowType::Int64)
    } else if all(Value::is_number) {
        Some(RowType::Float64)
    } else {
        None
    }
}

fn integer(keywords: &Map<String, Value>) -> RowType {
    let bound = |name: &str| keywords.get(name).filter(|value| value.is_number());
    let lower = bound("minimum").or_else(|| bound("exclusiveMinimum"));
    let upper = bound("maximum").or_else(|| bound("exclusiveMaximum"));
    let is_small = |value: &Value| value.is_i64();
    match (lower, upper) {
        (Some(lower), Some(upper))
            if upper.is_u64() && !is_small(upper) && lower.as_u64().is_some() =>
        {
            RowType::UInt64
        }
        (lower, upper) if lower.is_none_or(is_small) && upper.is_none_or(is_small) => {
            RowType::Int64
        }
        _ => RowType::Decimal(0),
    }
}

fn number(keywords: &Map<String, Value>) -> RowType {
    let step = keywords.get("multipleOf").filter(|step| step.is_f64());
    let Some(step) = step.map(Value::to_string) else {
        return RowType::Float64;
    };
    match step.split_once('.') {
        Some((_, digits))
            if digits.len() <= MOST_SCALE && digits.bytes().all(|it| it.is_ascii_digit()) =>
        {
            let digits = digits.trim_end_matches('0');
            match i8::try_from(digits.len()) {
                Ok(scale @ 1..) => RowType::Decimal(scale),
                _ => RowType::Float64,
            }
        }
        _ => RowType::Float64,
    }
}

/// Returns whether a part of the document has an identifier of its own.
fn has_id_within(document: &Value) -> bool {
    fn has_id(value: &Value) -> bool {
        match value {
            Value::Object(members) => {
                members
                    .get("$id")
                    .or_else(|| members.get("id"))
                    .is_some_and(Value::is_string)
                    || members.values().any(has_id)
            }
            Value::Array(items) => items.iter().any(has_id),
            _ => false,
        }
    }
    match document {
        Value::Object(members) => members.values().any(has_id),
        _ => false,
    }
}
