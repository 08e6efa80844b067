//! The fields of a schema, as a reader is asked about them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::notation::Renderer;

/// Fields beyond these are not asked about.
const MAX_FIELDS: usize = 512;

/// Schemas nested deeper than this have no fields.
const MAX_DEPTH: usize = 20;

/// The most schemas that are visited, those that references lead to again among them.
const MAX_VISITS: usize = 10_000;

/// Keywords that may allow or forbid keys beside those in `properties`.
const OTHER_KEYS: [&str; 8] = [
    "$ref",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "if",
    "not",
    "oneOf",
    "patternProperties",
];

/// A value that a schema asks for: a leaf, in all items where there are arrays above it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadField {
    /// The keys that lead to it.
    pub(super) path: Vec<String>,
    pub(super) kind: FieldKind,
    /// Whether there may be none: it may be `null`, or need not be there.
    pub(super) is_optional: bool,
    /// Whether `null` stands for none.
    pub(super) is_nullable: bool,
    /// Whether there may be several.
    pub(super) is_many: bool,
    /// The number of the keys that lead to the innermost array; 0 outside arrays.
    pub(super) array: usize,
    /// Whether it is itself the item of an array, and no part of one.
    pub(super) is_item: bool,
    /// What it is called: the keys, its type and its description.
    pub(super) name: String,
    pub(super) description: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldKind {
    Number {
        is_whole: bool,
    },
    String {
        format: Option<String>,
        has_pattern: bool,
    },
    /// One of these values.
    Options(Vec<Value>),
}

/// A key of an object that has no other keys than those of its schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadKey {
    /// The keys that lead to it, and itself.
    pub(super) path: Vec<String>,
    pub(super) is_required: bool,
}

/// What a schema asks for, in its order.
#[derive(Debug, Default)]
pub(super) struct ReadSchema {
    pub(super) fields: Vec<ReadField>,
    pub(super) keys: Vec<ReadKey>,
}

impl ReadSchema {
    /// What is a union of several types, a map, a tuple, or within itself, has no fields.
    pub(super) fn new(schema: &Value) -> Self {
        let mut walk = Walk {
            renderer: Renderer::new(schema),
            root: schema,
            path: Vec::new(),
            references: HashSet::new(),
            visits: 0,
            found: Self::default(),
        };
        walk.visit(schema, None, Above::default());
        walk.found
    }
}

#[cfg(test)]
pub(super) fn fields(schema: &Value) -> Vec<ReadField> {
    ReadSchema::new(schema).fields
}

/// What holds of a schema by those above it.
#[derive(Clone, Copy, Default)]
struct Above {
    is_optional: bool,
    is_nullable: bool,
    is_many: bool,
    array: usize,
    is_item: bool,
    depth: usize,
}

struct Walk<'s> {
    renderer: Renderer<'s>,
    root: &'s Value,
    path: Vec<String>,
    /// Those that led here.
    references: HashSet<&'s str>,
    visits: usize,
    found: ReadSchema,
}

impl<'s> Walk<'s> {
    /// `said` is the description that stands above.
    fn visit(&mut self, schema: &'s Value, said: Option<String>, mut above: Above) {
        above.depth += 1;
        self.visits += 1;
        let is_over = self.visits > MAX_VISITS || self.found.fields.len() >= MAX_FIELDS;
        if above.depth > MAX_DEPTH || is_over {
            return;
        }
        let said = said.or_else(|| self.renderer.description(schema));
        let Value::Object(members) = schema else {
            return;
        };
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#');
            if let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer))
                && self.references.insert(reference)
            {
                self.visit(target, said, above);
                self.references.remove(reference);
            }
            return;
        }
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        if let Some([only]) = list("allOf").map(Vec::as_slice)
            && !members.contains_key("type")
        {
            return self.visit(only, said, above);
        }
        if let Some(values) = list("enum") {
            let options: Vec<Value> = { values.iter() }
                .filter(|value| !value.is_null())
                .cloned()
                .collect();
            let has_null = options.len() < values.len();
            return self.leaf(
                FieldKind::Options(options),
                String::new(),
                said,
                above.or_null(has_null),
            );
        }
        if let Some(branches) = list("anyOf").or_else(|| list("oneOf")) {
            let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
            let (nulls, rest): (Vec<&Value>, Vec<&Value>) = branches.iter().partition(is_null);
            let above = above.or_null(!nulls.is_empty());
            if let [only] = rest[..] {
                self.visit(only, said, above);
            } else if let Some(options) = { rest.iter() }.map(|it| it.get("const")).collect() {
                // As schemars writes an enum whose variants are documented.
                let options: Vec<&Value> = options;
                let options = options.into_iter().cloned().collect();
                self.leaf(FieldKind::Options(options), String::new(), said, above);
            }
            return;
        }
        let kinds = crate::notation::kinds(members);
        let has_null = kinds.contains(&"null");
        let rest: Vec<&str> = kinds.into_iter().filter(|&kind| kind != "null").collect();
        let above = above.or_null(has_null);
        match rest[..] {
            ["object"] => self.object(members, above),
            ["array"] => {
                if let Some(items) = members.get("items")
                    && !members.contains_key("prefixItems")
                {
                    let above = Above {
                        is_optional: true,
                        is_nullable: false,
                        is_many: true,
                        array: self.path.len(),
                        is_item: true,
                        ..above
                    };
                    // Items are described better by themselves.
                    let said = self.renderer.description(items).or(said);
                    self.visit(items, said, above);
                }
            }
            ["boolean"] => {
                let options = vec![Value::Bool(true), Value::Bool(false)];
                self.leaf(FieldKind::Options(options), String::new(), said, above);
            }
            [kind @ ("integer" | "number" | "string")] => {
                let name = format!(":{}", self.renderer.one(kind, members));
                let kind = match kind {
                    "string" => FieldKind::String {
                        format: members
                            .get("format")
                            .and_then(Value::as_str)
                            .map(str::to_owned),
                        has_pattern: members.contains_key("pattern"),
                    },
                    kind => FieldKind::Number {
                        is_whole: kind == "integer",
                    },
                };
                self.leaf(kind, name, said, above);
            }
            _ => {}
        }
    }

    fn object(&mut self, members: &'s Map<String, Value>, above: Above) {
        let required = members.get("required").and_then(Value::as_array);
        let properties = members.get("properties").and_then(Value::as_object);
        let count = self.found.keys.len() + properties.map_or(0, Map::len);
        let is_closed = count <= MAX_FIELDS
            && OTHER_KEYS
                .iter()
                .all(|keyword| !members.contains_key(*keyword))
            && (members.get("additionalProperties")).is_none_or(|it| *it == false);
        for (key, value) in properties.into_iter().flatten() {
            let is_required = required.is_some_and(|keys| keys.iter().any(|name| name == key));
            let above = Above {
                is_optional: above.is_optional || !is_required,
                is_nullable: false,
                is_item: false,
                ..above
            };
            self.path.push(key.clone());
            if is_closed {
                self.found.keys.push(ReadKey {
                    path: self.path.clone(),
                    is_required,
                });
            }
            self.visit(value, None, above);
            self.path.pop();
        }
    }

    fn leaf(&mut self, kind: FieldKind, kind_name: String, said: Option<String>, above: Above) {
        let mut name = self.path.join(" / ") + &kind_name;
        if let Some(said) = &said {
            name.push_str(&crate::notation::in_brackets(said));
        }
        self.found.fields.push(ReadField {
            path: self.path.clone(),
            kind,
            is_optional: above.is_optional,
            is_nullable: above.is_nullable,
            is_many: above.is_many,
            array: above.array,
            is_item: above.is_item,
            name,
            description: said,
        });
    }
}

impl Above {
    fn or_null(self, has_null: bool) -> Self {
        Self {
            is_optional: self.is_optional || has_null,
            is_nullable: self.is_nullable || has_null,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_named_as_in_training() {
        for line in include_str!("../../tests/data/questions.jsonl").lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let found: Vec<Value> = { fields(&case["schema"]).into_iter() }
                .map(|field| {
                    let options = match field.kind {
                        FieldKind::Options(options) => Value::from(options),
                        _ => Value::Null,
                    };
                    json!({
                        "path": field.path, "name": field.name, "options": options,
                        "optional": field.is_optional, "many": field.is_many,
                        "array": field.array,
                    })
                })
                .collect();
            assert_eq!(Value::from(found), case["fields"], "{}", case["schema"]);
        }
    }

    #[test]
    fn references_are_followed_once() {
        let schema = json!({
            "$defs": {
                "city": {"type": "string", "description": "where"},
                "node": {"properties": {"next": {"$ref": "#/$defs/node"}, "in": {"$ref": "#/$defs/city"}}},
            },
            "properties": {
                "from": {"$ref": "#/$defs/city", "description": "of departure"},
                "tree": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
        });
        let names: Vec<String> = fields(&schema)
            .into_iter()
            .map(|field| field.name)
            .collect();
        let expected = ["from:string (of departure)", "tree / in:string (where)"];
        assert_eq!(names, expected);
    }

    #[test]
    fn keys_are_those_of_objects_without_others() {
        let schema = json!({
            "properties": {
                "a": {"properties": {"b": {}, "c": {"type": "string"}}, "required": ["c"]},
                "open": {"properties": {"d": {}}, "additionalProperties": {}},
                "more": {"properties": {"e": {}}, "allOf": [{}, {}]},
            },
            "additionalProperties": false,
        });
        let found = ReadSchema::new(&schema).keys;
        let found: Vec<(String, bool)> = { found.into_iter() }
            .map(|key| (key.path.join("/"), key.is_required))
            .collect();
        let expected = [
            ("a", false),
            ("a/b", false),
            ("a/c", true),
            ("open", false),
            ("more", false),
        ];
        assert_eq!(
            found,
            expected.map(|(path, is_required)| (path.to_owned(), is_required))
        );
    }

    #[test]
    fn constants_are_options() {
        let schema = json!({"properties": {
            "size": {"oneOf": [{"const": "s", "description": "small"}, {"const": "l"}, {"type": "null"}]},
            "mixed": {"oneOf": [{"const": "s"}, {"type": "integer"}]},
        }});
        let found = fields(&schema);
        let [size] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(size.kind, FieldKind::Options(vec![json!("s"), json!("l")]));
        assert!(size.is_nullable);
    }

    #[test]
    fn there_are_not_too_many() {
        let mut schema = json!({"type": "string"});
        for _ in 0..40 {
            schema = json!({"properties": {"a": schema, "b": {"type": "integer"}}});
        }
        assert_eq!(fields(&schema).len(), MAX_DEPTH - 1);
        let keys = (0..2000).map(|at| (at.to_string(), json!({"type": "integer"})));
        let wide = json!({"properties": Map::from_iter(keys)});
        assert_eq!(fields(&wide).len(), MAX_FIELDS);
        assert_eq!(ReadSchema::new(&wide).keys, []);
        // A hundred keys lead to each of the next schemas, and none to a field.
        let level = |at: usize| {
            let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
            let keys = (0..100).map(|key| (key.to_string(), next.clone()));
            (at.to_string(), json!({"properties": Map::from_iter(keys)}))
        };
        let levels = Map::from_iter((0..12).map(level));
        let found = ReadSchema::new(&json!({"$ref": "#/$defs/0", "$defs": levels}));
        assert!(found.fields.is_empty() && found.keys.len() <= MAX_VISITS);
    }
}
