//! Second stage: from JSON to typed schemas, each with its place.
//!
//! A keyword with a wrong value is kept as [`Assertion::Invalid`] and is an error only where the schema is used, as is a
//! reference that leads nowhere: a definition that nothing refers to does no harm.

mod arrays;
pub(crate) mod atoms;
mod combinators;
pub(crate) mod dialect;
mod identify;
mod location;
mod numbers;
mod objects;
pub(crate) mod resolve;
pub(crate) mod scope;
mod strings;
mod values;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::json_schema::formats::Format;
use crate::json_schema::keywords::{self, Role};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s1_json::embedded;
use crate::json_schema::{Draft, SchemaError};
use atoms::Of;
use atoms::{Atom, TypeSet};
use dialect::Dialect;
use resolve::{Resource, ResourceId, Resources};
use scope::{ScopeId, Scopes};

pub(crate) use location::{Location, Step};

/// A schema of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SchemaId(pub(crate) u32);

/// A schema: a conjunction of what its keywords assert.
#[derive(Debug)]
pub(crate) struct Schema<'j> {
    pub(crate) location: Location<'j>,
    pub(crate) resource: ResourceId,
    pub(crate) scope: ScopeId,
    /// What it was read from.
    pub(crate) json: &'j Json<'j>,
    /// In the order as written, but what declares keys comes first, `required` behind `properties`: the order of keys.
    pub(crate) keywords: Vec<Keyword<'j>>,
    /// What asserts nothing: the name, and a note on why not.
    pub(crate) annotations: Vec<(&'j str, &'static str)>,
}

/// A keyword that asserts something.
#[derive(Debug)]
pub(crate) struct Keyword<'j> {
    pub(crate) name: &'static str,
    pub(crate) assertion: Assertion<'j>,
}

/// What a keyword asserts.
#[derive(Debug)]
pub(crate) enum Assertion<'j> {
    /// Nothing fits: the schema `false`.
    Never,
    /// Something about the value itself.
    Atom(Atom<'j>),
    /// A `pattern`, not read yet.
    Pattern(&'j str),
    /// A `format` that a draft defines.
    Format(&'static Format),
    /// A `format` of no draft that schemars gives to a Rust type.
    RustFormat(&'j str),
    /// All of these.
    AllOf(Vec<SchemaId>),
    /// One of these at least.
    AnyOf(Vec<SchemaId>),
    /// Exactly one of these.
    OneOf(Vec<SchemaId>),
    /// Not this.
    Not(SchemaId),
    /// `if`, `then`, `else`.
    Conditional {
        condition: SchemaId,
        then: Option<SchemaId>,
        otherwise: Option<SchemaId>,
    },
    /// An object with the key has to have these keys, or to fit the schema.
    Dependent(Vec<(&'j str, Dependent<'j>)>),
    /// Whatever the reference leads to: its keyword says how it is followed.
    Reference(&'j str),
    /// What no other keyword evaluates fits the schema.
    Unevaluated(Of, SchemaId),
    /// `if` without `then` and `else`: it asserts nothing, and still evaluates what it does.
    IfAlone(SchemaId),
    /// `contains` that any number of items may fit: it asserts nothing, and evaluates those that do.
    ContainsAny(SchemaId),
    /// What is not compiled, about values of these types.
    Refused(TypeSet, &'static str),
    /// The keyword's value is wrong.
    Invalid(Box<SchemaError>),
}

/// What a key brings with it.
#[derive(Debug)]
pub(crate) enum Dependent<'j> {
    Keys(Rc<[&'j str]>),
    Schema(SchemaId),
}

/// All schemas of a document and of the documents that it refers to.
pub(crate) struct Program<'j> {
    schemas: Vec<Rc<Schema<'j>>>,
    /// Which schema a JSON value was read as, by the value's address and the scope: documents neither move nor change
    /// meanwhile.
    by_address: FxHashMap<(usize, ScopeId), SchemaId>,
    pub(crate) resources: Resources<'j>,
    /// The schemas that are written nowhere: any of the listed fits.
    unions: FxHashMap<Vec<SchemaId>, SchemaId>,
    pub(crate) scopes: Scopes<'j>,
    /// About how many values were read again for a scope, and may be.
    pub(crate) read_again: u64,
    pub(crate) most_read_again: u64,
}

impl<'j> Program<'j> {
    /// Reads a document that is to be found under `uri`, if under any.
    pub(crate) fn read_document(
        &mut self,
        json: &'j Json<'j>,
        uri: Option<&str>,
        draft: Draft,
    ) -> SchemaId {
        let base = uri.map(str::to_owned);
        let document = uri.map(Rc::from);
        let location = Location::Root(document.clone());
        let resource = Resource::new(base, document, json, Dialect::of(draft));
        let resource = self.resources.add(resource);
        self.read(json, location, resource, ScopeId::UNSCOPED)
    }

    pub(crate) fn new(resources: Resources<'j>, most_read_again: u64) -> Self {
        Self {
            schemas: Vec::new(),
            by_address: FxHashMap::default(),
            resources,
            unions: FxHashMap::default(),
            scopes: Scopes::new(),
            read_again: 0,
            most_read_again,
        }
    }

    pub(crate) fn get(&self, id: SchemaId) -> Rc<Schema<'j>> {
        Rc::clone(&self.schemas[id.0 as usize])
    }

    pub(crate) fn schema_ref(&self, id: SchemaId) -> &Schema<'j> {
        &self.schemas[id.0 as usize]
    }

    /// The schema that this value was read as, if it was.
    pub(crate) fn at_address(&self, json: &'j Json<'j>, scope: ScopeId) -> Option<SchemaId> {
        self.by_address.get(&(address(json), scope)).copied()
    }

    /// Whether anything was read for a dynamic scope.
    pub(crate) fn has_scopes(&self) -> bool {
        self.read_again > 0
    }

    /// The JSON Pointer of a schema.
    pub(crate) fn pointer(&self, id: SchemaId) -> String {
        location::pointer(self, id, None)
    }

    /// The JSON Pointer of a keyword in a schema.
    pub(crate) fn keyword_pointer(&self, id: SchemaId, keyword: &str) -> String {
        location::pointer(self, id, Some(keyword))
    }

    /// The schema that everything fits, as if it stood in `within`.
    pub(crate) fn anything(&mut self, within: SchemaId) -> SchemaId {
        self.written_nowhere(within, Vec::new())
    }

    /// The schema that says that one of the schemas fits at least.
    pub(crate) fn any_of(&mut self, within: SchemaId, arms: Vec<SchemaId>) -> SchemaId {
        self.written_nowhere(within, arms)
    }

    fn written_nowhere(&mut self, within: SchemaId, arms: Vec<SchemaId>) -> SchemaId {
        if let Some(&id) = self.unions.get(&arms) {
            return id;
        }
        let id = SchemaId(u32::try_from(self.schemas.len()).unwrap_or(u32::MAX));
        let mut keywords = Vec::new();
        if !arms.is_empty() {
            keywords.push(Keyword {
                name: "",
                assertion: Assertion::AnyOf(arms.clone()),
            });
        }
        let schema = self.schema_ref(within);
        self.schemas.push(Rc::new(Schema {
            location: schema.location.clone(),
            resource: schema.resource,
            scope: schema.scope,
            json: schema.json,
            keywords,
            annotations: Vec::new(),
        }));
        self.unions.insert(arms, id);
        id
    }

    /// Reads a value as a schema, with all schemas in it: without a scope first, which takes up what can be referred to.
    pub(crate) fn read(
        &mut self,
        json: &'j Json<'j>,
        location: Location<'j>,
        mut resource: ResourceId,
        mut scope: ScopeId,
    ) -> SchemaId {
        let mut unscoped = None;
        if scope != ScopeId::UNSCOPED {
            let id = self.read(json, location.clone(), resource, ScopeId::UNSCOPED);
            resource = self.schema_ref(id).resource;
            scope = self.enter(scope, resource);
            unscoped = Some(id);
        }
        if let Some(id) = self.at_address(json, scope) {
            return id;
        }
        let id = SchemaId(u32::try_from(self.schemas.len()).unwrap_or(u32::MAX));
        self.by_address.insert((address(json), scope), id);
        let mut schema = Schema {
            location,
            resource,
            scope,
            json,
            keywords: Vec::new(),
            annotations: Vec::new(),
        };
        self.schemas.push(Rc::new(schema.clone_empty()));
        if unscoped.is_some() {
            self.read_again += weight(json);
            if let Some(error) = self.too_many_scopes(id) {
                schema.keywords.push(Keyword {
                    name: "",
                    assertion: Assertion::Invalid(Box::new(error)),
                });
                self.schemas[id.0 as usize] = Rc::new(schema);
                return id;
            }
        }
        match json {
            Json::Bool(true) => {}
            Json::Bool(false) => schema.keywords.push(Keyword {
                name: "",
                assertion: Assertion::Never,
            }),
            Json::Object(entries) => {
                match unscoped {
                    None => schema.resource = self.identify(json, id, resource, &mut schema),
                    Some(unscoped) => schema.take_dialect(self.schema_ref(unscoped)),
                }
                let mut parser = Parser {
                    program: self,
                    id,
                    json,
                    resource: schema.resource,
                    scope,
                    schema: &mut schema,
                    done: Done::default(),
                };
                parser.read(entries);
                let rank = |keyword: &Keyword<'_>| match keyword.assertion {
                    Assertion::Atom(Atom::Fields(_)) => 0,
                    Assertion::Atom(Atom::Required(_)) => 1,
                    _ => 2,
                };
                schema.keywords.sort_by_key(rank);
            }
            _ => {
                let pointer = self.pointer(id);
                schema.keywords.push(Keyword {
                    name: "",
                    assertion: Assertion::Invalid(Box::new(SchemaError::NotASchema { pointer })),
                });
            }
        }
        self.schemas[id.0 as usize] = Rc::new(schema);
        id
    }
}

impl<'j> Schema<'j> {
    /// The same without keywords.
    fn clone_empty(&self) -> Self {
        Self {
            location: self.location.clone(),
            keywords: Vec::new(),
            annotations: Vec::new(),
            ..*self
        }
    }
}

/// About how many values it takes to read a schema again: its keywords, what is in them, and what is in that.
fn weight(json: &Json<'_>) -> u64 {
    let Json::Object(entries) = json else {
        return 1;
    };
    let inner = entries.iter().map(|(_, value)| match value {
        Json::Object(entries) => entries.iter().map(|(_, value)| 1 + size(value)).sum(),
        other => size(other),
    });
    1 + entries.len() as u64 + inner.sum::<u64>()
}

fn size(json: &Json<'_>) -> u64 {
    match json {
        Json::Object(entries) => entries.len() as u64,
        Json::Array(items) => items.len() as u64,
        _ => 0,
    }
}

fn address(json: &Json<'_>) -> usize {
    std::ptr::from_ref(json).addr()
}

/// Which groups of keywords, each read as one, were met already.
#[derive(Default)]
struct Done {
    fields: bool,
    elements: bool,
    contains: bool,
    conditional: bool,
}

/// Reads the keywords of one schema object.
struct Parser<'p, 'j> {
    program: &'p mut Program<'j>,
    id: SchemaId,
    json: &'j Json<'j>,
    resource: ResourceId,
    scope: ScopeId,
    schema: &'p mut Schema<'j>,
    done: Done,
}

impl<'j> Parser<'_, 'j> {
    fn draft(&self) -> Draft {
        self.dialect().draft
    }

    fn dialect(&self) -> Dialect {
        self.program.resources.get(self.resource).dialect
    }

    /// The value of a keyword, where the dialect has it.
    fn get(&self, keyword: &str) -> Option<&'j Json<'j>> {
        let value = self.json.get(keyword)?;
        self.dialect().uses(keyword).then_some(value)
    }

    fn read(&mut self, entries: &'j [(std::borrow::Cow<'j, str>, Json<'j>)]) {
        let draft = self.draft();
        let alone =
            draft <= Draft::Draft7 && matches!(self.json.get("$ref"), Some(Json::String(_)));
        for (name, value) in entries {
            let Some((keyword, role)) = keywords::find(name, draft) else {
                let note = match name.as_ref() {
                    embedded::KEYWORD => "options of structgen, which count at the root only",
                    _ => "no keyword of any draft",
                };
                self.annotation(name, note);
                continue;
            };
            // Definitions beside a `$ref` can still be referred to.
            if alone && !matches!(keyword, "$ref" | "definitions") {
                self.annotation(keyword, "ignored beside `$ref` up to draft 7");
                continue;
            }
            if !self.dialect().uses(keyword) {
                self.annotation(keyword, "its vocabulary is not one of the dialect's");
                continue;
            }
            match role {
                Role::Unknown if keyword == "additionalItems" => self.read_elements(),
                Role::Unknown => self.annotation(keyword, "no keyword of this draft"),
                Role::Annotation => self.annotation(keyword, ""),
                Role::Identifier => self.read_identifier(keyword, value),
                Role::Assertion | Role::Applicator => self.read_keyword(keyword, value),
            }
        }
    }

    fn read_keyword(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match keyword {
            "type" | "enum" | "const" => self.read_values(keyword, value),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                self.read_numbers(keyword, value);
            }
            "minLength" | "maxLength" | "pattern" | "format" => self.read_strings(keyword, value),
            "properties" | "patternProperties" | "additionalProperties" => self.read_fields(),
            "required"
            | "propertyNames"
            | "minProperties"
            | "maxProperties"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => {
                self.read_objects(keyword, value);
            }
            "items" | "prefixItems" | "additionalItems" => self.read_elements(),
            "contains" | "minContains" | "maxContains" => self.read_contains(),
            "minItems" | "maxItems" | "uniqueItems" | "unevaluatedItems" => {
                self.read_arrays(keyword, value);
            }
            _ => self.read_combinators(keyword, value),
        }
    }

    fn read_identifier(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match (keyword, value) {
            // What nothing refers to in a scope need not be read for it.
            ("$defs" | "definitions", Json::Object(entries)) if self.scope == ScopeId::UNSCOPED => {
                for (key, value) in entries {
                    self.subschema(value, keyword, Step::Key(key));
                }
            }
            _ => {}
        }
    }

    fn annotation(&mut self, name: &'j str, note: &'static str) {
        self.schema.annotations.push((name, note));
    }

    fn push(&mut self, name: &'static str, assertion: Assertion<'j>) {
        self.schema.keywords.push(Keyword { name, assertion });
    }

    fn atom(&mut self, name: &'static str, atom: Atom<'j>) {
        self.push(name, Assertion::Atom(atom));
    }

    fn invalid(&mut self, keyword: &'static str, expected: &str) {
        let error = SchemaError::InvalidKeyword {
            keyword: keyword.to_owned(),
            pointer: self.program.keyword_pointer(self.id, keyword),
            expected: expected.to_owned(),
        };
        self.push(keyword, Assertion::Invalid(Box::new(error)));
    }

    fn subschema(&mut self, json: &'j Json<'j>, keyword: &'static str, step: Step<'j>) -> SchemaId {
        let location = Location::Below {
            parent: self.id,
            keyword,
            step,
        };
        self.program.read(json, location, self.resource, self.scope)
    }

    /// A list of schemas that must not be empty.
    fn subschemas(&mut self, keyword: &'static str, value: &'j Json<'j>) -> Option<Vec<SchemaId>> {
        match value {
            Json::Array(items) if !items.is_empty() => {
                let read = |(index, item)| self.subschema(item, keyword, Step::Index(index));
                Some(items.iter().enumerate().map(read).collect())
            }
            _ => {
                self.invalid(keyword, "a list of schemas that is not empty");
                None
            }
        }
    }

    /// A count of something: an integer that is not negative. What does not fit is more than any text can hold.
    fn count(&mut self, keyword: &'static str, value: &Json<'_>) -> Option<u32> {
        let count = match value {
            Json::Number(number) if number.is_integer() && !number.is_negative() => {
                if number.exponent() > 10 {
                    Some(u32::MAX)
                } else {
                    let digits = (0..number.exponent() as usize)
                        .map(|place| u64::from(number.digits().get(place).copied().unwrap_or(0)));
                    let value = digits.fold(0, |value, digit| value * 10 + digit);
                    Some(u32::try_from(value).unwrap_or(u32::MAX))
                }
            }
            _ => None,
        };
        if count.is_none() {
            self.invalid(keyword, "an integer that is not negative");
        }
        count
    }
}
