//! The keys of an instance in the order in which the schema declares them.

use serde_json::{Map, Value};

use crate::document::Document;

/// How many schemas one value may be under; beyond, its keys stay as they are.
const MOST: usize = 4_096;

/// Puts every object of an instance into declared order: the order in which keys are first met reading the schema, through
/// references and alternatives in place; keys that the schema does not name stay behind, in their order.
///
/// All alternatives are read, not only those that the instance takes: an instance that mixes the keys of two that
/// declare them in different orders may come out in neither's.
pub(crate) fn in_declared_order(document: Document, schema: &Value) -> Document {
    Orderer { root: schema }.value(document, &[schema])
}

struct Orderer<'s> {
    root: &'s Value,
}

impl<'s> Orderer<'s> {
    fn value(&self, document: Document, schemas: &[&'s Value]) -> Document {
        let schemas = self.expand(schemas);
        match document {
            Document::Scalar(_) => document,
            Document::Array(items) => {
                let item = |(at, item)| self.value(item, &item_schemas(&schemas, at));
                Document::Array(items.into_iter().enumerate().map(item).collect())
            }
            Document::Object(mut members) => {
                let order = declared(&schemas);
                let place = |key: &str| {
                    order
                        .iter()
                        .position(|known| *known == key)
                        .unwrap_or(order.len())
                };
                members.sort_by_cached_key(|(key, _)| place(key));
                let member = |(key, value): (String, Document)| {
                    let value = self.value(value, &value_schemas(&schemas, &key));
                    (key, value)
                };
                Document::Object(members.into_iter().map(member).collect())
            }
        }
    }

    /// The schemas that apply to the same value, in the order in which they are read.
    fn expand(&self, schemas: &[&'s Value]) -> Vec<&'s Map<String, Value>> {
        let mut found: Vec<&'s Map<String, Value>> = Vec::new();
        let mut waiting: Vec<&'s Value> = schemas.iter().rev().copied().collect();
        while let Some(schema) = waiting.pop() {
            let Some(schema) = schema.as_object() else {
                continue;
            };
            if found.len() >= MOST || found.iter().any(|known| std::ptr::eq(*known, schema)) {
                continue;
            }
            found.push(schema);
            let mut next: Vec<&'s Value> = Vec::new();
            let list = |keyword: &str| {
                schema
                    .get(keyword)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
            };
            next.extend(list("allOf"));
            if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
                next.extend(self.resolve(reference));
            }
            next.extend(list("anyOf"));
            next.extend(list("oneOf"));
            next.extend(
                ["if", "then", "else"]
                    .into_iter()
                    .filter_map(|keyword| schema.get(keyword)),
            );
            for keyword in ["dependentSchemas", "dependencies"] {
                next.extend(
                    schema
                        .get(keyword)
                        .and_then(Value::as_object)
                        .into_iter()
                        .flat_map(Map::values),
                );
            }
            waiting.extend(next.into_iter().rev());
        }
        found
    }

    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

/// The keys that the schemas name, in order.
fn declared<'s>(schemas: &[&'s Map<String, Value>]) -> Vec<&'s str> {
    let mut order: Vec<&'s str> = Vec::new();
    for schema in schemas {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let keys = properties
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str);
        for key in keys.chain(required.into_iter().flatten().filter_map(Value::as_str)) {
            if !order.contains(&key) {
                order.push(key);
            }
        }
    }
    order
}

fn value_schemas<'s>(schemas: &[&'s Map<String, Value>], key: &str) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in schemas {
        let named = schema
            .get("properties")
            .and_then(|properties| properties.get(key));
        found.extend(named);
        if named.is_none() {
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            found.extend(patterns.into_iter().flat_map(Map::values));
            found.extend(schema.get("additionalProperties"));
        }
    }
    found
}

fn item_schemas<'s>(schemas: &[&'s Map<String, Value>], at: usize) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in schemas {
        let items = schema.get("items");
        let prefix = schema
            .get("prefixItems")
            .or(items.filter(|items| items.is_array()));
        match prefix.and_then(|prefix| prefix.get(at)) {
            Some(item) => found.push(item),
            None => {
                found.extend(items.filter(|items| !items.is_array()));
                found.extend(schema.get("additionalItems"));
            }
        }
        found.extend(schema.get("contains"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_come_as_the_schema_names_them_and_unknown_ones_last() {
        let schema = json!({
            "$defs": {"more": {"properties": {"d": {}, "a": {}}}},
            "required": ["c"],
            "properties": {"b": {"items": {"properties": {"y": {}, "x": {}}}}},
            "allOf": [{"$ref": "#/$defs/more"}],
        });
        let document =
            Document::parse(r#"{"z": 1, "a": 2, "b": [{"x": 1, "y": 2}], "c": 3, "d": 4}"#)
                .unwrap();
        let ordered = in_declared_order(document, &schema).to_string();
        assert_eq!(
            ordered,
            r#"{"b": [{"y": 2, "x": 1}], "c": 3, "d": 4, "a": 2, "z": 1}"#
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema =
            json!({"anyOf": [{"$ref": "#"}, {"properties": {"b": {"$ref": "#"}, "a": {}}}]});
        let document = Document::parse(r#"{"a": 1, "b": {"a": 1, "b": 2}}"#).unwrap();
        let ordered = in_declared_order(document, &schema).to_string();
        assert_eq!(ordered, r#"{"b": {"b": 2, "a": 1}, "a": 1}"#);
    }
}
