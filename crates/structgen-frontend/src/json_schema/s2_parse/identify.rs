//! What names a schema: `$schema`, `$id` and the anchors.

use super::{Form, Invalid, Keyword, Program, Schema, SchemaId};
use crate::json_schema::keywords::{self, Role};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::resolve::ResourceId;
use crate::json_schema::{Draft, SchemaError};

impl<'j> Program<'j> {
    /// Registers `$schema`, `$id` and the anchors of a schema; returns the resource that it belongs to.
    pub(super) fn identify(
        &mut self,
        json: &'j Json<'j>,
        id: SchemaId,
        outer: ResourceId,
        schema: &mut Schema<'j>,
    ) -> ResourceId {
        let is_root = std::ptr::eq(self.resources.get(outer).root, json);
        let mut dialect = self.resources.get(outer).dialect;
        let identifier = |draft| {
            let keyword = if draft == Draft::Draft4 { "id" } else { "$id" };
            match json.get(keyword) {
                Some(Json::String(text)) => Some(text.as_ref()),
                _ => None,
            }
        };
        if let Some(Json::String(uri)) = json.get("$schema")
            && (is_root || identifier(dialect.draft).is_some())
        {
            let mut invalid = |error| {
                let invalid = Invalid(Box::new(error));
                schema.keywords.push(Keyword::new("$schema", invalid));
            };
            match self.dialect(uri, &|program| program.keyword_pointer(id, "$schema")) {
                Ok(Some(named)) => {
                    dialect = named;
                    if is_root {
                        self.resources.set_dialect(outer, dialect);
                    }
                }
                Err(error) => invalid(error),
                // Keywords up to draft 3 may since have changed their meaning: `required`, `type`, `extends`.
                Ok(None) if uri.contains("json-schema.org/draft-0") => {
                    invalid(SchemaError::UnknownDialect {
                        uri: uri.to_string(),
                        pointer: self.keyword_pointer(id, "$schema"),
                    });
                }
                Ok(None) => schema
                    .annotations
                    .push(("$schema", "an unknown dialect: read as the default draft")),
            }
        }
        let draft = dialect.draft;
        let mut resource = outer;
        // Up to draft 7, `$ref` disables its sibling keywords.
        let alone = draft <= Draft::Draft7 && json.get("$ref").is_some();
        if let Some(uri) = identifier(draft)
            && !alone
        {
            let (path, anchor) = uri.split_once('#').unwrap_or((uri, ""));
            if !path.is_empty() {
                resource = self.resources.open(outer, json, path, dialect, is_root);
            }
            if !anchor.is_empty() && draft <= Draft::Draft7 {
                self.resources.set_anchor(resource, anchor, id);
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Json::String(anchor)) = json.get(keyword)
                && keywords::find(keyword).is_some_and(|row| row.role(draft) == Role::Identifier)
            {
                self.resources.set_anchor(resource, anchor, id);
                if keyword == "$dynamicAnchor" {
                    self.resources
                        .set_dynamic_anchor(resource, Some(anchor), id);
                }
            }
        }
        if draft == Draft::Draft2019
            && std::ptr::eq(self.resources.get(resource).root, json)
            && matches!(json.get("$recursiveAnchor"), Some(Json::Bool(true)))
        {
            self.resources.set_dynamic_anchor(resource, None, id);
        }
        resource
    }
}

impl<'j> Schema<'j> {
    /// Copies what was found about `$schema` when the document was first read.
    pub(super) fn take_dialect(&mut self, unscoped: &Self) {
        for keyword in &unscoped.keywords {
            if let ("$schema", Form::Invalid(error)) = (keyword.name, keyword.assertion.form()) {
                let invalid = Invalid(Box::new(error.clone()));
                self.keywords.push(Keyword::new("$schema", invalid));
            }
        }
        let annotations = unscoped.annotations.iter();
        self.annotations
            .extend(annotations.filter(|annotation| annotation.0 == "$schema"));
    }
}
