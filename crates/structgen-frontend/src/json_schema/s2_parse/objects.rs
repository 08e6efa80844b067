//! The keywords of objects.

use std::rc::Rc;

use super::{Assertion, Dependent, Parser, Step};
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::Of;
use crate::json_schema::s2_parse::atoms::{Atom, Fields};

impl<'j> Parser<'_, 'j> {
    /// `properties`, `patternProperties` and `additionalProperties`, which only say something together.
    pub(super) fn read_fields(&mut self) {
        if std::mem::replace(&mut self.done.fields, true) {
            return;
        }
        let mut fields = Fields::default();
        let mut name = "additionalProperties";
        if let Some(value) = self.json.get("patternProperties") {
            name = "patternProperties";
            match value {
                Json::Object(entries) => {
                    for (pattern, value) in entries {
                        let id = self.subschema(value, name, Step::Key(pattern));
                        fields.patterns.push((pattern, id));
                    }
                }
                _ => self.invalid(name, "an object of schemas"),
            }
        }
        if let Some(value) = self.json.get("properties") {
            name = "properties";
            match value {
                Json::Object(entries) => {
                    for (key, value) in entries {
                        let id = self.subschema(value, name, Step::Key(key));
                        fields.properties.push((key, id));
                    }
                }
                _ => self.invalid(name, "an object of schemas"),
            }
        }
        if let Some(value) = self.json.get("additionalProperties") {
            fields.additional = Some(self.subschema(value, "additionalProperties", Step::None));
        }
        fields.index();
        self.atom(name, Atom::Fields(Rc::new(fields)));
    }

    pub(super) fn read_objects(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match keyword {
            "required" => match self.keys(value) {
                Some(keys) if keys.is_empty() => {}
                Some(keys) => self.atom(keyword, Atom::Required(keys)),
                None => self.invalid(keyword, "a list of keys"),
            },
            "propertyNames" => {
                let id = self.subschema(value, keyword, Step::None);
                self.atom(keyword, Atom::Names(id));
            }
            "minProperties" => {
                if let Some(count) = self.count(keyword, value).filter(|&count| count > 0) {
                    self.atom(keyword, Atom::MinProperties(count));
                }
            }
            "maxProperties" => {
                if let Some(count) = self.count(keyword, value).filter(|&count| count < u32::MAX) {
                    self.atom(keyword, Atom::MaxProperties(count));
                }
            }
            "unevaluatedProperties" => {
                let id = self.subschema(value, keyword, Step::None);
                self.push(keyword, Assertion::Unevaluated(Of::Properties, id));
            }
            _ => self.read_dependencies(keyword, value),
        }
    }

    fn read_dependencies(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        let Json::Object(entries) = value else {
            self.invalid(keyword, "an object");
            return;
        };
        let mut dependencies: Vec<(&'j str, Dependent<'j>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let dependent = match (keyword, value) {
                ("dependentSchemas", _) | ("dependencies", Json::Object(_) | Json::Bool(_)) => {
                    Dependent::Schema(self.subschema(value, keyword, Step::Key(key)))
                }
                // Draft 3 had a single key; it is still about.
                ("dependencies", Json::String(other)) => Dependent::Keys([other.as_ref()].into()),
                _ => match self.keys(value) {
                    Some(keys) => Dependent::Keys(keys),
                    None => {
                        self.invalid(keyword, "lists of keys, or schemas");
                        return;
                    }
                },
            };
            dependencies.push((key, dependent));
        }
        self.push(keyword, Assertion::Dependent(dependencies));
    }

    fn keys(&self, value: &'j Json<'j>) -> Option<Rc<[&'j str]>> {
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
