//! Bringing the keys of an instance into the order in which its schema declares them.

use serde_json::{Map, Value};

/// How many references and nested schemas are followed: schemas may refer to themselves.
const MAX_DEPTH: u32 = 64;

/// Sorts the keys of every object in `data` by where `schema` first declares them; the others keep their order, behind them.
///
/// Keys are met in `properties`, then `required`, through `allOf` and references in place, then through the arms of
/// alternatives.
pub(crate) fn declared_order(schema: &Value, data: &mut Value) {
    order_value(schema, &[schema], data, MAX_DEPTH);
}

fn order_value(root: &Value, schemas: &[&Value], data: &mut Value, depth: u32) {
    if depth == 0 {
        return;
    }
    let mut all = Vec::new();
    for schema in schemas {
        expand(root, schema, &mut all, MAX_DEPTH);
    }
    match data {
        Value::Object(members) => {
            let mut keys: Vec<&str> = Vec::new();
            let declared = all.iter().flat_map(|schema| {
                let properties = schema
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::keys);
                let required = schema
                    .get("required")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                properties
                    .map(String::as_str)
                    .chain(required.filter_map(Value::as_str))
            });
            for key in declared {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            let mut rest = std::mem::take(members);
            for key in keys {
                if let Some(value) = rest.shift_remove(key) {
                    members.insert(key.to_owned(), value);
                }
            }
            members.extend(rest);
            for (key, value) in members {
                let inner: Vec<&Value> = all
                    .iter()
                    .flat_map(|schema| member_schemas(schema, key))
                    .collect();
                order_value(root, &inner, value, depth - 1);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                let inner: Vec<&Value> = all
                    .iter()
                    .flat_map(|schema| item_schemas(schema, i))
                    .collect();
                order_value(root, &inner, item, depth - 1);
            }
        }
        _ => {}
    }
}

/// The schema, and those that apply to the same value, in the order in which keys are met.
fn expand<'s>(root: &'s Value, schema: &'s Value, all: &mut Vec<&'s Value>, depth: u32) {
    if depth == 0 || all.iter().any(|&known| std::ptr::eq(known, schema)) {
        return;
    }
    all.push(schema);
    let reference = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|uri| uri.strip_prefix('#'));
    if let Some(target) = reference.and_then(|pointer| root.pointer(pointer)) {
        expand(root, target, all, depth - 1);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for arm in schema
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            expand(root, arm, all, depth - 1);
        }
    }
    for keyword in ["if", "then", "else"] {
        if let Some(arm) = schema.get(keyword) {
            expand(root, arm, all, depth - 1);
        }
    }
}

fn member_schemas<'s>(schema: &'s Value, key: &str) -> impl Iterator<Item = &'s Value> {
    let declared = schema
        .get("properties")
        .and_then(|properties| properties.get(key));
    let other = schema
        .get("additionalProperties")
        .filter(|_| declared.is_none());
    declared.into_iter().chain(other)
}

fn item_schemas(schema: &Value, index: usize) -> impl Iterator<Item = &Value> {
    let listed = |keyword| {
        schema
            .get(keyword)
            .and_then(Value::as_array)
            .and_then(|items| items.get(index))
    };
    let prefix = listed("prefixItems").or_else(|| listed("items"));
    let rest = schema
        .get("items")
        .filter(|items| prefix.is_none() && !items.is_array());
    prefix.into_iter().chain(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::declared_order;

    #[test]
    fn keys_come_as_declared_through_references_and_alternatives() {
        let schema = json!({
            "properties": {"b": {"$ref": "#/definitions/x"}, "a": {"items": {"properties": {"z": {}, "y": {}}}}},
            "required": ["c"],
            "anyOf": [{"properties": {"e": {}}}],
            "definitions": {"x": {"properties": {"n": {}, "m": {"$ref": "#/definitions/x"}}}}
        });
        let mut data = json!({"q": 1, "e": 1, "c": 1, "a": [{"y": 1, "z": 2}], "b": {"m": {"m": {}, "n": 1}, "n": 2}});
        declared_order(&schema, &mut data);
        let expected = r#"{"b":{"n":2,"m":{"n":1,"m":{}}},"a":[{"z":2,"y":1}],"c":1,"e":1,"q":1}"#;
        assert_eq!(data.to_string(), expected);
    }
}
