//! The keys of an instance in the order in which the schema declares them.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};
use structgen_automata::{Limits, Memory, Network, Program, SetId};
use structgen_frontend::json_schema::{KeyOrder, Profile, SchemaError, SchemaOptions, compile_at};
use structgen_grammar::json_pointer::escaped;

use crate::document::Document;

/// How many schemas one value may be under, and how many references may lead there; beyond that, its keys stay as they
/// are.
const MOST: usize = 4_096;

/// Puts every object of an instance into declared order: the order in which keys are first met reading the schema as
/// written, through `allOf` and references in place, then through the alternatives that the instance takes (of `anyOf`
/// the first); keys that the schema does not name so stay behind, in their order.
pub(crate) fn in_declared_order(document: Document, schema: &Value) -> Document {
    let dialect = schema.get("$schema").and_then(Value::as_str);
    let orderer = Orderer {
        root: schema,
        refers_alone: dialect.is_some_and(|uri| uri.contains("json-schema.org/draft-0")),
        arms: RefCell::default(),
    };
    orderer.value(document, &[schema])
}

struct Orderer<'s> {
    root: &'s Value,
    /// Whether keywords beside a `$ref` are ignored, as up to draft 7.
    refers_alone: bool,
    /// What tells whether a value takes an alternative, by the alternative's address.
    arms: RefCell<HashMap<usize, Judge>>,
}

enum Judge {
    Network(Box<Network>),
    /// Nothing fits it.
    Never,
    /// It is not compiled: taken to be taken.
    Unknown,
}

/// What is said of one value.
#[derive(Default)]
struct Said<'s> {
    /// The schemas that it is under.
    schemas: Vec<&'s Map<String, Value>>,
    /// The references that were followed instead of the schemas in which they are.
    references: Vec<&'s str>,
    /// The keys that these declare, in order.
    keys: Vec<&'s str>,
    /// Alternatives that are still to be chosen from: of each list the first that is taken, or all.
    choices: VecDeque<Choice<'s>>,
}

enum Choice<'s> {
    FirstOf(Vec<&'s Value>),
    Conditional(&'s Map<String, Value>),
    Dependent(&'s Map<String, Value>),
}

impl<'s> Orderer<'s> {
    fn value(&self, document: Document, schemas: &[&'s Value]) -> Document {
        let Said { schemas, keys, .. } = self.said(schemas, &document);
        match document {
            Document::Scalar(_) => document,
            Document::Array(items) => {
                let item = |(at, item)| self.value(item, &item_schemas(&schemas, at));
                Document::Array(items.into_iter().enumerate().map(item).collect())
            }
            Document::Object(mut members) => {
                let place = |key: &str| {
                    let known = keys.iter().position(|known| *known == key);
                    known.unwrap_or(keys.len())
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

    fn said(&self, schemas: &[&'s Value], document: &Document) -> Said<'s> {
        let mut said = Said::default();
        for schema in schemas {
            self.read(schema, &mut said);
        }
        while let Some(choice) = said.choices.pop_front() {
            match choice {
                Choice::FirstOf(arms) => {
                    if let Some(arm) = arms.into_iter().find(|arm| self.takes(arm, document)) {
                        self.read(arm, &mut said);
                    }
                }
                Choice::Conditional(schema) => {
                    let holds = schema
                        .get("if")
                        .is_some_and(|arm| self.takes(arm, document));
                    let arms = if holds {
                        ["if", "then"]
                    } else {
                        ["else", "else"]
                    };
                    for arm in arms.into_iter().filter_map(|name| schema.get(name)) {
                        self.read(arm, &mut said);
                    }
                }
                Choice::Dependent(arms) => {
                    let Document::Object(members) = document else {
                        continue;
                    };
                    for (key, arm) in arms {
                        if members.iter().any(|(name, _)| name == key) {
                            self.read(arm, &mut said);
                        }
                    }
                }
            }
        }
        said
    }

    /// Reads a schema and what is in its place.
    fn read(&self, schema: &'s Value, said: &mut Said<'s>) {
        let Some(schema) = self.followed(schema, said) else {
            return;
        };
        let reference = schema.get("$ref").and_then(Value::as_str);
        let is_known = |known: &&Map<String, Value>| std::ptr::eq(*known, schema);
        if said.schemas.len() >= MOST || said.schemas.iter().any(is_known) {
            return;
        }
        said.schemas.push(schema);
        let declare = |said: &mut Said<'s>, key: &'s str| {
            if !said.keys.contains(&key) {
                said.keys.push(key);
            }
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for key in properties.into_iter().flat_map(Map::keys) {
            declare(said, key);
        }
        let required = schema.get("required").and_then(Value::as_array);
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            declare(said, key);
        }
        for (keyword, value) in schema {
            match keyword.as_str() {
                "allOf" => {
                    for arm in value.as_array().into_iter().flatten() {
                        self.read(arm, said);
                    }
                }
                "$ref" => {
                    if let Some(target) = reference.and_then(|uri| self.resolve(uri)) {
                        self.read(target, said);
                    }
                }
                "anyOf" | "oneOf" => {
                    let arms = value.as_array().into_iter().flatten().collect();
                    said.choices.push_back(Choice::FirstOf(arms));
                }
                "if" => said.choices.push_back(Choice::Conditional(schema)),
                "dependentSchemas" | "dependencies" => {
                    let arms = value.as_object();
                    said.choices.extend(arms.map(Choice::Dependent));
                }
                _ => {}
            }
        }
    }

    /// Follows references that stand alone to the schema at their end, if there is one that is new.
    fn followed(
        &self,
        mut schema: &'s Value,
        said: &mut Said<'s>,
    ) -> Option<&'s Map<String, Value>> {
        while self.refers_alone
            && let Some(uri) = schema.get("$ref").and_then(Value::as_str)
        {
            if said.references.len() >= MOST || said.references.contains(&uri) {
                return None;
            }
            schema = self.resolve(uri)?;
            said.references.push(uri);
        }
        schema.as_object()
    }

    /// Whether the value fits the alternative, as the library itself judges it.
    fn takes(&self, arm: &'s Value, document: &Document) -> bool {
        let mut arms = self.arms.borrow_mut();
        let judge = arms
            .entry(std::ptr::from_ref(arm).addr())
            .or_insert_with(|| self.judge(arm));
        match judge {
            Judge::Never => false,
            Judge::Unknown => true,
            Judge::Network(network) => {
                let mut state = network.start();
                for &byte in document.to_string().as_bytes() {
                    state = match network.call().step(state, byte, Memory::Exact) {
                        Ok(SetId::DEAD) => return false,
                        Ok(next) => next,
                        Err(_) => return true,
                    };
                }
                network.call().is_accepting(state).unwrap_or(true)
            }
        }
    }

    fn judge(&self, arm: &'s Value) -> Judge {
        let options = SchemaOptions::new()
            .with_profile(Profile::Exact)
            .with_order(KeyOrder::Any);
        let mut pointer = String::new();
        if !find(self.root, arm, &mut pointer) {
            return Judge::Unknown;
        }
        let grammar = match compile_at(self.root, &pointer, &options) {
            Ok(compiled) => compiled.grammar,
            Err(SchemaError::Unsatisfiable { .. }) => return Judge::Never,
            Err(_) => return Judge::Unknown,
        };
        let network = Program::new(grammar, Limits::default())
            .ok()
            .and_then(|program| Network::new(Arc::new(program)).ok());
        network.map_or(Judge::Unknown, |network| Judge::Network(Box::new(network)))
    }

    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

/// Makes `pointer` that of `wanted` within `value`; returns whether it is there.
fn find(value: &Value, wanted: &Value, pointer: &mut String) -> bool {
    if std::ptr::eq(value, wanted) {
        return true;
    }
    let length = pointer.len();
    let mut is_in = |token: &str, child: &Value| {
        pointer.push('/');
        pointer.push_str(&escaped(token));
        let found = find(child, wanted, pointer);
        if !found {
            pointer.truncate(length);
        }
        found
    };
    match value {
        Value::Object(entries) => entries.iter().any(|(key, child)| is_in(key, child)),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.any(|(at, child)| is_in(&at.to_string(), child))
        }
        _ => false,
    }
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
    fn up_to_draft_7_a_reference_stands_alone() {
        for (dialect, expected) in [
            (
                "http://json-schema.org/draft-07/schema#",
                r#"{"b": 1, "a": 2, "z": 3}"#,
            ),
            (
                "https://json-schema.org/draft/2020-12/schema",
                r#"{"z": 3, "b": 1, "a": 2}"#,
            ),
        ] {
            let schema = json!({
                "$schema": dialect,
                "definitions": {"more": {"properties": {"b": {}, "a": {}}}},
                "allOf": [{"properties": {"z": {}}, "$ref": "#/definitions/more"}, {"$ref": "#"}],
            });
            let document = Document::parse(r#"{"b": 1, "a": 2, "z": 3}"#).unwrap();
            assert_eq!(in_declared_order(document, &schema).to_string(), expected);
        }
    }

    #[test]
    fn a_long_chain_of_references_ends() {
        for dialect in [
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            let link = |n: usize| {
                let next = json!({"$ref": format!("#/definitions/{}", n + 1)});
                (n.to_string(), next)
            };
            let definitions: Map<String, Value> = (0..20_000).map(link).collect();
            let schema = json!({
                "$schema": dialect, "definitions": definitions, "allOf": [{"$ref": "#/definitions/0"}],
            });
            let document = Document::parse(r#"{"b": 1, "a": 2}"#).unwrap();
            let ordered = in_declared_order(document, &schema).to_string();
            assert_eq!(ordered, r#"{"b": 1, "a": 2}"#, "{dialect}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema =
            json!({"anyOf": [{"type": "string"}, {"properties": {"b": {"$ref": "#"}, "a": {}}}]});
        let document = Document::parse(r#"{"a": 1, "b": {"a": 1, "b": 2}}"#).unwrap();
        let ordered = in_declared_order(document, &schema).to_string();
        assert_eq!(ordered, r#"{"b": {"b": 2, "a": 1}, "a": 1}"#);
    }

    #[test]
    fn only_alternatives_that_are_taken_declare_keys() {
        let arm = |keys: [&str; 2]| {
            let kind = keys[0];
            json!({"properties": {keys[0]: {}, keys[1]: {}, "kind": {"const": kind}}, "required": ["kind"]})
        };
        let schema = json!({"oneOf": [arm(["a", "b"]), arm(["b", "a"])]});
        let document = Document::parse(r#"{"kind": "b", "a": 1, "b": 2}"#).unwrap();
        let ordered = in_declared_order(document, &schema).to_string();
        assert_eq!(ordered, r#"{"b": 2, "a": 1, "kind": "b"}"#);
    }
}
