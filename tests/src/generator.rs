//! Random schemas that use every keyword, and documents that come close to them.
//!
//! Keys, strings and numbers are few, so that what schemas say meets what documents have.

use serde_json::{Map, Value, json};

use crate::SplitMix;

const KEYS: [&str; 5] = ["a", "b", "ab", "ba", "c"];
const TEXTS: [&str; 7] = ["", "a", "b", "ab", "ba", "aab", "2020-02-29"];
const PATTERNS: [&str; 9] = [
    "a",
    "^a",
    "b$",
    "^[ab]{1,2}$",
    "^(a|ab)(c|bc)?$",
    "^(?!ab)",
    "a(?=b)",
    "(?<!a)b$",
    "\\bab\\b",
];
/// Formats that every draft has, for the validator that the tests compare with; this project knows every format in
/// every draft.
const FORMATS: [&str; 4] = ["ipv4", "email", "uri", "no-format-at-all"];

/// Makes schemas.
#[derive(Debug)]
pub struct SchemaGenerator<'r> {
    random: &'r mut SplitMix,
    /// How many definitions a reference may lead to.
    definitions: usize,
    draft: Draft,
}

/// The spelling of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draft {
    /// Draft 4.
    Four,
    /// Draft 7.
    Seven,
    /// Draft 2019-09.
    Nineteen,
    /// Draft 2020-12.
    Twenty,
}

impl Draft {
    /// The URI of the draft's metaschema.
    #[must_use]
    pub fn uri(self) -> &'static str {
        match self {
            Self::Four => "http://json-schema.org/draft-04/schema#",
            Self::Seven => "http://json-schema.org/draft-07/schema#",
            Self::Nineteen => "https://json-schema.org/draft/2019-09/schema",
            Self::Twenty => "https://json-schema.org/draft/2020-12/schema",
        }
    }
}

impl<'r> SchemaGenerator<'r> {
    /// A random schema as a document, with its `$schema`.
    pub fn document(random: &'r mut SplitMix) -> Value {
        let draft = match random.below(8) {
            0 => Draft::Four,
            1 | 2 => Draft::Seven,
            3 => Draft::Nineteen,
            _ => Draft::Twenty,
        };
        let definitions = random.below(3);
        let mut generator = Self {
            random,
            definitions,
            draft,
        };
        let mut schema = match generator.schema(3) {
            Value::Object(schema) => schema,
            value => Map::from_iter([("not".to_owned(), json!({"not": value}))]),
        };
        if draft == Draft::Four {
            // Boolean schemas came with draft 6.
            schema = generator.object(3);
        }
        schema.insert("$schema".to_owned(), draft.uri().into());
        let mut all = Map::new();
        for i in 0..generator.definitions {
            let schema = generator.schema(2);
            all.insert(format!("d{i}"), schema);
        }
        if !all.is_empty() {
            schema.insert("definitions".to_owned(), all.into());
        }
        schema.into()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len())].clone()
    }

    fn schema(&mut self, depth: usize) -> Value {
        if self.draft != Draft::Four && self.one_in(8) {
            return (!self.one_in(3)).into();
        }
        self.object(depth).into()
    }

    fn schemas(&mut self, depth: usize) -> Value {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.schema(depth)).collect()
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut schema = Map::new();
        if self.one_in(2) {
            let types = [
                "null", "boolean", "integer", "number", "string", "array", "object",
            ];
            let first = self.pick(&types);
            let second = self.pick(&types);
            let value = if self.one_in(3) && first != second {
                json!([first, second])
            } else {
                json!(first)
            };
            schema.insert("type".to_owned(), value);
        }
        for _ in 0..1 + self.random.below(3) {
            self.keyword(&mut schema, depth);
        }
        schema
    }

    fn keyword(&mut self, schema: &mut Map<String, Value>, depth: usize) {
        let modern = self.draft == Draft::Twenty;
        let from_nineteen = matches!(self.draft, Draft::Nineteen | Draft::Twenty);
        let from_six = self.draft != Draft::Four;
        let below = depth.saturating_sub(1);
        let mut add = |name: &str, value: Value| {
            schema.insert(name.to_owned(), value);
        };
        let kinds = if depth == 0 { 14 } else { 37 };
        match self.random.below(kinds) {
            0 if from_six => add("const", self.value(2)),
            0 | 1 => {
                let count = 1 + self.random.below(3);
                let mut values: Vec<Value> = Vec::new();
                for _ in 0..count {
                    let value = self.value(2);
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                add("enum", values.into());
            }
            2 => add(
                "multipleOf",
                self.pick(&[json!(1), json!(2), json!(0.5), json!(3)]),
            ),
            3 => add("minimum", self.number()),
            4 => add("maximum", self.number()),
            5 if from_six => add("exclusiveMinimum", self.number()),
            6 if from_six => add("exclusiveMaximum", self.number()),
            5 | 6 => {
                add("minimum", self.number());
                add("exclusiveMinimum", true.into());
            }
            7 => add("minLength", self.random.below(3).into()),
            8 => add("maxLength", self.random.below(4).into()),
            9 => add("pattern", self.pick(&PATTERNS).into()),
            10 => add("format", self.pick(&FORMATS).into()),
            11 => add("minItems", self.random.below(3).into()),
            12 => add("maxItems", self.random.below(4).into()),
            13 => add("uniqueItems", (!self.one_in(4)).into()),
            14 if modern => {
                add("prefixItems", self.schemas(below));
                if self.one_in(2) {
                    add("items", self.schema(below));
                }
            }
            14 => {
                add("items", self.schemas(below));
                if self.one_in(2) {
                    add("additionalItems", self.schema(below));
                }
            }
            15 => add("items", self.schema(below)),
            16 | 17 if from_six => {
                add("contains", self.schema(below));
                if from_nineteen && self.one_in(2) {
                    add("minContains", self.random.below(3).into());
                }
                if from_nineteen && self.one_in(3) {
                    add("maxContains", self.random.below(3).into());
                }
            }
            16 | 18 => add("minProperties", self.random.below(3).into()),
            17 | 19 => add("maxProperties", self.random.below(4).into()),
            20 | 21 => {
                let keys = self.keys();
                if !keys.is_empty() {
                    add("required", json!(keys));
                }
            }
            22 | 23 => add("properties", self.by_key(below)),
            24 => {
                let mut patterns = Map::new();
                for _ in 0..1 + self.random.below(2) {
                    let pattern = self.pick(&PATTERNS).to_owned();
                    patterns.insert(pattern, self.schema(below));
                }
                add("patternProperties", patterns.into());
            }
            25 => add("additionalProperties", self.schema(below)),
            26 if from_six => {
                add("propertyNames", json!({"pattern": self.pick(&PATTERNS)}));
            }
            26 | 27 if from_nineteen => {
                let (key, keys) = (self.pick(&KEYS), self.keys());
                add("dependentRequired", json!({key: keys}));
            }
            28 if from_nineteen => {
                let key = self.pick(&KEYS);
                add("dependentSchemas", json!({key: self.schema(below)}));
            }
            26..=28 => {
                let key = self.pick(&KEYS);
                let keys = self.keys();
                let value = if self.one_in(2) && !keys.is_empty() {
                    json!(keys)
                } else {
                    self.object(below).into()
                };
                add("dependencies", json!({key: value}));
            }
            29 => add("allOf", self.schemas(below)),
            30 => add("anyOf", self.schemas(below)),
            31 => add("oneOf", self.schemas(below)),
            32 => add("not", self.schema(below)),
            33 if from_six => {
                add("if", self.schema(below));
                add("then", self.schema(below));
                if self.one_in(2) {
                    add("else", self.schema(below));
                }
            }
            34 if from_nineteen => add("unevaluatedProperties", self.schema(below)),
            35 if from_nineteen => add("unevaluatedItems", self.schema(below)),
            _ if self.definitions > 0 => {
                let target = self.random.below(self.definitions);
                add("$ref", format!("#/definitions/d{target}").into());
            }
            _ => add("title", "nothing".into()),
        }
    }

    fn keys(&mut self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let key = self.pick(&KEYS);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    fn by_key(&mut self, depth: usize) -> Value {
        let keys = self.keys();
        let entries = keys
            .into_iter()
            .map(|key| (key.to_owned(), self.schema(depth)));
        Value::Object(entries.collect())
    }

    fn number(&mut self) -> Value {
        number(self.random)
    }

    fn value(&mut self, depth: usize) -> Value {
        value(self.random, depth)
    }
}

fn number(random: &mut SplitMix) -> Value {
    let all = [
        json!(-1),
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(0.5),
        json!(1.5),
        json!(6),
    ];
    all[random.below(all.len())].clone()
}

/// A random value.
pub fn value(random: &mut SplitMix, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => Value::Null,
        1 => random.below(2).eq(&0).into(),
        2 | 3 => number(random),
        4 => TEXTS[random.below(TEXTS.len())].into(),
        5 | 6 => {
            let count = random.below(4);
            (0..count).map(|_| value(random, depth - 1)).collect()
        }
        _ => {
            let count = random.below(4);
            let entries = (0..count).map(|_| {
                let key = KEYS[random.below(KEYS.len())].to_owned();
                (key, value(random, depth - 1))
            });
            Value::Object(entries.collect())
        }
    }
}

/// The value with something changed.
pub fn mutated(random: &mut SplitMix, old: &Value) -> Value {
    match old {
        Value::Array(items) if !items.is_empty() && random.below(4) > 0 => {
            let mut items = items.clone();
            let at = random.below(items.len());
            match random.below(4) {
                0 => {
                    items.remove(at);
                }
                1 => {
                    let copy = items[at].clone();
                    items.push(copy);
                }
                _ => items[at] = mutated(random, &items[at].clone()),
            }
            items.into()
        }
        Value::Object(entries) if !entries.is_empty() && random.below(4) > 0 => {
            let mut entries = entries.clone();
            let keys: Vec<String> = entries.keys().cloned().collect();
            let key = &keys[random.below(keys.len())];
            match random.below(4) {
                0 => {
                    entries.remove(key);
                }
                1 => {
                    let other = KEYS[random.below(KEYS.len())].to_owned();
                    entries.insert(other, value(random, 1));
                }
                _ => {
                    let new = mutated(random, &entries[key].clone());
                    entries.insert(key.clone(), new);
                }
            }
            entries.into()
        }
        _ => value(random, 2),
    }
}
