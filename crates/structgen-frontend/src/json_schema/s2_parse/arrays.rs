//! The keywords of arrays.

use std::rc::Rc;

use super::{Assertion, Parser, Step};
use crate::json_schema::Draft;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::Of;
use crate::json_schema::s2_parse::atoms::{Atom, Contains, Elements};

impl<'j> Parser<'_, 'j> {
    /// `prefixItems`, `items` and `additionalItems`, which only say something together.
    ///
    /// A list under `items` has the meaning that it had up to 2019-09 in every draft: it can have no other.
    pub(super) fn read_elements(&mut self) {
        if std::mem::replace(&mut self.done.elements, true) {
            return;
        }
        let mut elements = Elements::default();
        let mut name = "items";
        let new = self.draft() >= Draft::Draft2020;
        if let Some(value) = self.json.get("prefixItems")
            && new
        {
            name = "prefixItems";
            elements.prefix = self.subschemas(name, value).unwrap_or_default();
        }
        match self.json.get("items") {
            Some(Json::Array(items)) => {
                if new && self.json.get("prefixItems").is_some() {
                    self.invalid("items", "a schema, beside `prefixItems`");
                    return;
                }
                for (index, item) in items.iter().enumerate() {
                    let id = self.subschema(item, "items", Step::Index(index));
                    elements.prefix.push(id);
                }
                if let Some(value) = self.json.get("additionalItems") {
                    elements.rest = Some(self.subschema(value, "additionalItems", Step::None));
                }
            }
            Some(value) => elements.rest = Some(self.subschema(value, "items", Step::None)),
            None => {}
        }
        if self.json.get("additionalItems").is_some()
            && !matches!(self.json.get("items"), Some(Json::Array(_)))
        {
            self.annotation(
                "additionalItems",
                "says nothing but beside a list under `items`",
            );
        }
        if !elements.prefix.is_empty() || elements.rest.is_some() {
            self.atom(name, Atom::Elements(Rc::new(elements)));
        }
    }

    /// `contains` with `minContains` and `maxContains`.
    pub(super) fn read_contains(&mut self) {
        if std::mem::replace(&mut self.done.contains, true) {
            return;
        }
        let counted = self.draft() >= Draft::Draft2019;
        let mut bound = |keyword| {
            let value = self.get(keyword).filter(|_| counted)?;
            self.count(keyword, value)
        };
        let (min, max) = (bound("minContains"), bound("maxContains"));
        let Some(value) = self.json.get("contains") else {
            for keyword in ["minContains", "maxContains"] {
                if self.json.get(keyword).is_some() {
                    self.annotation(keyword, "says nothing without `contains`");
                }
            }
            return;
        };
        let item = self.subschema(value, "contains", Step::None);
        let contains = Contains {
            item,
            min: min.unwrap_or(1),
            max,
        };
        if contains.min > 0 || contains.max.is_some() {
            self.atom("contains", Atom::Contains(Rc::new(contains)));
        } else if self.draft() >= Draft::Draft2020 {
            self.push("contains", Assertion::ContainsAny(item));
        }
    }

    pub(super) fn read_arrays(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match (keyword, value) {
            ("minItems", _) => {
                if let Some(count) = self.count(keyword, value).filter(|&count| count > 0) {
                    self.atom(keyword, Atom::MinItems(count));
                }
            }
            ("maxItems", _) => {
                if let Some(count) = self.count(keyword, value).filter(|&count| count < u32::MAX) {
                    self.atom(keyword, Atom::MaxItems(count));
                }
            }
            ("uniqueItems", Json::Bool(true)) => self.atom(keyword, Atom::Unique),
            ("uniqueItems", Json::Bool(false)) => {}
            ("uniqueItems", _) => self.invalid(keyword, "a boolean"),
            _ => {
                let id = self.subschema(value, keyword, Step::None);
                self.push(keyword, Assertion::Unevaluated(Of::Items, id));
            }
        }
    }
}
