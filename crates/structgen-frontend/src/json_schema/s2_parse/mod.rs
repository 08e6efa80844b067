//! Second stage: from JSON to typed schemas, each with its location.
//!
//! A keyword with an invalid value is kept as [`Invalid`]; it is an error only if the schema is used. The same holds
//! for a reference that cannot be resolved. So a definition that nothing refers to does no harm.

pub(crate) mod assertion;
pub(crate) mod atoms;
pub(crate) mod dialect;
mod identify;
mod location;
mod parser;
pub(crate) mod resolve;
pub(crate) mod scope;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::json_schema::keywords::any_of;
use crate::json_schema::pointer::pointer_below;
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Draft, SchemaError};
use dialect::SchemaDialect;
use resolve::{Resource, ResourceId, Resources};
use scope::{ScopeId, Scopes};

pub(crate) use assertion::{
    Arm, Assertion, Context, Evaluated, Evaluates, Form, Invalid, Never, Of, Part,
};
pub(crate) use atoms::{
    Atom, Elements, Fields, ItemCount, KeyLiteral, Literal, Origin, OtherField, SomeMember, TypeSet,
};
pub(crate) use location::{Location, Step};
pub(crate) use parser::{KEYWORD_OF_NO_DRAFT, SchemaParser};

/// A schema of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SchemaId(pub(crate) u32);

/// A schema: the conjunction of its keywords' assertions.
#[derive(Debug)]
pub(crate) struct Schema<'j> {
    pub(crate) location: Location<'j>,
    pub(crate) resource: ResourceId,
    pub(crate) scope: ScopeId,
    /// Its source.
    pub(crate) json: &'j Json<'j>,
    /// In the order of the source, except that `properties` and then `required` come first: they declare the order of
    /// keys.
    pub(crate) keywords: Vec<Keyword<'j>>,
    /// The keywords that assert nothing, each with a note on why.
    pub(crate) annotations: Vec<(&'j str, &'static str)>,
    /// Its JSON Pointer, once it was asked for.
    pointer: OnceCell<Arc<str>>,
}

/// A keyword that asserts something.
#[derive(Debug)]
pub(crate) struct Keyword<'j> {
    /// Its name; empty if the assertion is not a keyword's.
    pub(crate) name: &'static str,
    pub(crate) assertion: Box<dyn Assertion<'j> + 'j>,
}

impl<'j> Keyword<'j> {
    fn new(name: &'static str, assertion: impl Assertion<'j> + 'j) -> Self {
        Self {
            name,
            assertion: Box::new(assertion),
        }
    }
}

/// All schemas of a document and of the documents that it refers to.
pub(crate) struct Program<'j> {
    schemas: Vec<Rc<Schema<'j>>>,
    /// The schema that was read from a JSON value, by the value's address and the scope: documents neither move nor
    /// change.
    by_address: FxHashMap<(usize, ScopeId), SchemaId>,
    pub(crate) resources: Resources<'j>,
    /// Schemas that do not occur in a document: each is the union of the listed ones.
    unions: FxHashMap<Vec<SchemaId>, SchemaId>,
    pub(crate) scopes: Scopes<'j>,
    /// Whether some schema sets the source of its values.
    pub(crate) names_sources: bool,
    /// Whether some schema relates its values to others.
    pub(crate) names_relations: bool,
    /// The approximate number of values that were read again for a scope, and its limit.
    pub(crate) read_again: u64,
    pub(crate) most_read_again: u64,
    /// A buffer for pointers.
    text: Cell<String>,
}

impl<'j> Program<'j> {
    /// Reads a document and registers it under `uri`, if there is one.
    pub(crate) fn read_document(
        &mut self,
        json: &'j Json<'j>,
        uri: Option<&str>,
        draft: Draft,
    ) -> SchemaId {
        let base = uri.map(str::to_owned);
        let document = uri.map(Rc::from);
        let location = Location::Root(document.clone());
        let resource = Resource::new(base, document, json, SchemaDialect::of(draft));
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
            names_sources: false,
            names_relations: false,
            read_again: 0,
            most_read_again,
            text: Cell::default(),
        }
    }

    pub(crate) fn get(&self, id: SchemaId) -> Rc<Schema<'j>> {
        Rc::clone(&self.schemas[id.0 as usize])
    }

    pub(crate) fn schema_ref(&self, id: SchemaId) -> &Schema<'j> {
        &self.schemas[id.0 as usize]
    }

    /// The schema that was read from this value, if any.
    pub(crate) fn at_address(&self, json: &'j Json<'j>, scope: ScopeId) -> Option<SchemaId> {
        self.by_address.get(&(address(json), scope)).copied()
    }

    /// Whether every value is valid under the schema because it asserts nothing.
    pub(crate) fn is_anything(&self, id: SchemaId) -> bool {
        self.schema_ref(id).keywords.is_empty()
    }

    /// The number of schemas that were read.
    pub(crate) fn count(&self) -> usize {
        self.schemas.len()
    }

    /// The values of `enum` and `const`, of all schemas.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &'j Json<'j>> {
        let keywords = self.schemas.iter().flat_map(|schema| &schema.keywords);
        let values = keywords.filter_map(|keyword| match keyword.assertion.form() {
            Form::Atom(Atom::Values(values)) => Some(values),
            _ => None,
        });
        values.flatten()
    }

    /// Whether anything was read for a dynamic scope.
    pub(crate) fn has_scopes(&self) -> bool {
        self.read_again > 0
    }

    /// The JSON Pointer of a schema.
    pub(crate) fn pointer(&self, id: SchemaId) -> &str {
        location::pointer(self, id)
    }

    /// The JSON Pointer of a schema, without a copy of its own.
    pub(crate) fn shared_pointer(&self, id: SchemaId) -> Arc<str> {
        Arc::clone(location::pointer(self, id))
    }

    /// The JSON Pointer of a keyword in a schema.
    pub(crate) fn keyword_pointer(&self, id: SchemaId, keyword: &str) -> String {
        pointer_below(self.pointer(id), keyword)
    }

    /// The schema under which every value is valid, as if it were part of `within`.
    pub(crate) fn anything(&mut self, within: SchemaId) -> SchemaId {
        self.written_nowhere(within, Vec::new())
    }

    /// The union of schemas, as if it were part of `within`.
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
            keywords.push(Keyword::new("", any_of(arms.clone())));
        }
        let schema = self.schema_ref(within);
        self.schemas.push(Rc::new(Schema {
            location: schema.location.clone(),
            resource: schema.resource,
            scope: schema.scope,
            json: schema.json,
            keywords,
            annotations: Vec::new(),
            pointer: OnceCell::new(),
        }));
        self.unions.insert(arms, id);
        id
    }

    /// Reads a value as a schema, with all its subschemas. It is read without a scope first, which registers what can
    /// be referred to.
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
            pointer: OnceCell::new(),
        };
        self.schemas.push(Rc::new(schema.clone_empty()));
        if unscoped.is_some() {
            self.read_again += weight(json);
            if let Some(error) = self.too_many_scopes(id) {
                let invalid = Invalid(Box::new(error));
                schema.keywords.push(Keyword::new("", invalid));
                self.set(id, schema);
                return id;
            }
        }
        match json {
            Json::Bool(true) => {}
            Json::Bool(false) => schema.keywords.push(Keyword::new("", Never)),
            Json::Object(entries) => {
                match unscoped {
                    None => schema.resource = self.identify(json, id, resource, &mut schema),
                    Some(unscoped) => schema.take_dialect(self.schema_ref(unscoped)),
                }
                SchemaParser::new(self, id, &mut schema).read(entries);
                let rank = |keyword: &Keyword<'_>| match keyword.assertion.form() {
                    Form::Atom(Atom::Fields(_)) => 0,
                    Form::Atom(Atom::Required(_)) => 1,
                    _ => 2,
                };
                schema.keywords.sort_by_key(rank);
            }
            _ => {
                let pointer = self.pointer(id).to_owned();
                let error = SchemaError::NotASchema { pointer };
                let invalid = Invalid(Box::new(error));
                schema.keywords.push(Keyword::new("", invalid));
            }
        }
        self.set(id, schema);
        id
    }

    /// Sets a schema that was read, in the place that was kept for it.
    fn set(&mut self, id: SchemaId, schema: Schema<'j>) {
        let place = &mut self.schemas[id.0 as usize];
        match Rc::get_mut(place) {
            Some(place) => *place = schema,
            None => *place = Rc::new(schema),
        }
    }
}

impl<'j> Schema<'j> {
    /// A copy without keywords.
    fn clone_empty(&self) -> Self {
        Self {
            location: self.location.clone(),
            keywords: Vec::new(),
            annotations: Vec::new(),
            pointer: OnceCell::new(),
            ..*self
        }
    }
}

/// The approximate number of values in reading a schema again: its keywords and two levels below them.
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
