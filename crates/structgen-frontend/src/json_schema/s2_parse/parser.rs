//! The parser of one schema object, with the helpers that the keywords' readers use.

use std::borrow::Cow;
use std::rc::Rc;

use super::dialect::SchemaDialect;
use super::scope::ScopeId;
use super::{Assertion, Invalid, Keyword, Location, Program, Schema, SchemaId, Step};
use crate::json_schema::keywords::{self, Role};
use crate::json_schema::s1_json::{Json, embedded};
use crate::json_schema::{Draft, SchemaError};

/// The note on a name that is not a keyword.
pub(crate) const KEYWORD_OF_NO_DRAFT: &str = "not a keyword of any draft";

/// Reads the keywords of one schema object.
pub(crate) struct SchemaParser<'p, 'j> {
    program: &'p mut Program<'j>,
    id: SchemaId,
    schema: &'p mut Schema<'j>,
    /// The groups of keywords, each read as one, that were already read.
    groups: Vec<&'static str>,
}

impl<'p, 'j> SchemaParser<'p, 'j> {
    pub(super) fn new(
        program: &'p mut Program<'j>,
        id: SchemaId,
        schema: &'p mut Schema<'j>,
    ) -> Self {
        Self {
            program,
            id,
            schema,
            groups: Vec::new(),
        }
    }

    pub(crate) fn draft(&self) -> Draft {
        self.dialect().draft
    }

    fn dialect(&self) -> SchemaDialect {
        self.program.resources.get(self.schema.resource).dialect
    }

    /// The value of a keyword, if the dialect has the keyword.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'j Json<'j>> {
        let value = self.sibling(keyword)?;
        self.dialect().uses(keyword).then_some(value)
    }

    /// The value of a keyword of the same schema, whether or not the dialect has it.
    pub(crate) fn sibling(&self, keyword: &str) -> Option<&'j Json<'j>> {
        self.json().get(keyword)
    }

    /// Whether this is the first keyword of a group that is read as one.
    pub(crate) fn is_first_of(&mut self, group: &'static str) -> bool {
        let is_first = !self.groups.contains(&group);
        if is_first {
            self.groups.push(group);
        }
        is_first
    }

    /// Whether the schema is read for a dynamic scope.
    pub(crate) fn is_scoped(&self) -> bool {
        self.schema.scope != ScopeId::UNSCOPED
    }

    /// Whether `format` asserts: decided by the caller's or the schema's options, else by the dialect.
    pub(crate) fn asserts_formats(&self) -> bool {
        self.program.resources.formats_are_set || self.dialect().asserts_formats != Some(false)
    }

    fn json(&self) -> &'j Json<'j> {
        self.schema.json
    }

    pub(super) fn read(&mut self, entries: &'j [(Cow<'j, str>, Json<'j>)]) {
        let draft = self.draft();
        let alone =
            draft <= Draft::Draft7 && matches!(self.json().get("$ref"), Some(Json::String(_)));
        for (name, value) in entries {
            let Some(row) = keywords::find(name) else {
                match name.as_ref() {
                    embedded::KEYWORD => keywords::read_source(self, value),
                    _ => self.annotation(name, KEYWORD_OF_NO_DRAFT),
                }
                continue;
            };
            let (keyword, role) = (row.name, row.role(draft));
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
                Role::Unknown => self.annotation(keyword, "not a keyword of this draft"),
                Role::Annotation => self.annotation(keyword, ""),
                Role::Assertion | Role::Applicator | Role::Identifier => {
                    if let Some(read) = row.read {
                        read(self, keyword, value);
                    }
                }
            }
        }
    }

    /// Records that some schema sets the source of its values.
    pub(crate) fn names_source(&mut self) {
        self.program.names_sources = true;
    }

    /// Records that some schema relates its values to others.
    pub(crate) fn names_relation(&mut self) {
        self.program.names_relations = true;
    }

    /// Whether the schema is the root of the document that is compiled.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.schema.location, Location::Root(None))
    }

    /// Whether it is a document's outermost schema.
    pub(crate) fn is_document_root(&self) -> bool {
        matches!(self.schema.location, Location::Root(_))
    }

    pub(crate) fn annotation(&mut self, name: &'j str, note: &'static str) {
        self.schema.annotations.push((name, note));
    }

    /// Adds what a keyword asserts.
    pub(crate) fn assert(&mut self, keyword: &'static str, assertion: impl Assertion<'j> + 'j) {
        let keyword = Keyword::new(keyword, assertion);
        self.schema.keywords.push(keyword);
    }

    pub(crate) fn invalid(&mut self, keyword: &'static str, expected: &str) {
        let error = SchemaError::InvalidKeyword {
            keyword: keyword.to_owned(),
            pointer: self.program.keyword_pointer(self.id, keyword),
            expected: expected.to_owned(),
        };
        self.assert(keyword, Invalid(Box::new(error)));
    }

    pub(crate) fn subschema(
        &mut self,
        json: &'j Json<'j>,
        keyword: &'static str,
        step: Step<'j>,
    ) -> SchemaId {
        let location = Location::Below {
            parent: self.id,
            keyword,
            step,
        };
        let Schema {
            resource, scope, ..
        } = *self.schema;
        self.program.read(json, location, resource, scope)
    }

    /// A list of schemas that must not be empty.
    pub(crate) fn subschemas(
        &mut self,
        keyword: &'static str,
        value: &'j Json<'j>,
    ) -> Option<Vec<SchemaId>> {
        match value {
            Json::Array(items) if !items.is_empty() => {
                let read = |(index, item)| self.subschema(item, keyword, Step::Index(index));
                Some(items.iter().enumerate().map(read).collect())
            }
            _ => {
                self.invalid(keyword, "a non-empty list of schemas");
                None
            }
        }
    }

    /// A non-negative integer, saturated to `u32`: no text can have more parts than that.
    pub(crate) fn count(&mut self, keyword: &'static str, value: &Json<'_>) -> Option<u32> {
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
            self.invalid(keyword, "a non-negative integer");
        }
        count
    }

    /// A list of keys.
    pub(crate) fn keys(&self, value: &'j Json<'j>) -> Option<Rc<[&'j str]>> {
        let Json::Array(items) = value else {
            return None;
        };
        items
            .iter()
            .map(|item| match item {
                Json::String(key) => Some(key.as_ref()),
                _ => None,
            })
            .collect()
    }
}
