//! `type`, `enum`, `const`.

use super::{Assertion, Parser};
use crate::json_schema::Draft;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{Atom, TypeSet};

impl<'j> Parser<'_, 'j> {
    pub(super) fn read_values(&mut self, keyword: &'static str, value: &'j Json<'j>) {
        match (keyword, value) {
            ("type", _) => match read_type(value) {
                Some(types) => {
                    self.atom(keyword, Atom::Types(types));
                    let whole = types.meets(TypeSet::INTEGER) && !types.meets(TypeSet::FRACTION);
                    if whole && self.draft() == Draft::Draft4 {
                        self.atom(keyword, Atom::WrittenWhole);
                    }
                }
                None => self.invalid(
                    keyword,
                    "null, boolean, integer, number, string, object or array, or a list of these",
                ),
            },
            ("enum", Json::Array(values)) if values.is_empty() => {
                self.push(keyword, Assertion::Never);
            }
            ("enum", Json::Array(values)) => self.atom(keyword, Atom::Values(values)),
            ("enum", _) => self.invalid(keyword, "a list of values"),
            _ => self.atom(keyword, Atom::Values(std::slice::from_ref(value))),
        }
    }
}

fn read_type(value: &Json<'_>) -> Option<TypeSet> {
    match value {
        Json::String(name) => TypeSet::named(name),
        Json::Array(names) if !names.is_empty() => {
            names
                .iter()
                .try_fold(TypeSet::NONE, |types, name| match name {
                    Json::String(name) => TypeSet::named(name).map(|named| types.union(named)),
                    _ => None,
                })
        }
        _ => None,
    }
}
