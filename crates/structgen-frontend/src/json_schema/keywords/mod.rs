//! Every keyword of every draft: the table, and a file for each keyword.
//!
//! A file contains everything about its keyword alone: how it is parsed, its meaning, its negation, what it evaluates
//! and its entry in the report ([`Assertion`](super::s2_parse::Assertion)). Keywords that have a meaning only together,
//! or the same one for another side or type, share a file.

mod all_of;
mod any_of;
mod bounds;
mod conditional;
mod contains;
mod counts;
mod definitions;
mod dependencies;
mod format;
mod items;
mod multiple_of;
mod not;
mod one_of;
mod pattern;
mod properties;
mod property_names;
mod reference;
mod relation;
mod required;
mod rust;
mod source;
mod types;
mod unevaluated;
mod unique_items;
mod values;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::s1_json::Json;
use super::s2_parse::SchemaParser;
use crate::json_schema::Draft;

pub(crate) use any_of::any_of;
pub(crate) use format::FORMAT_OF_NO_DRAFT;
pub(crate) use rust::rust_strings;
pub(crate) use source::read as read_source;
pub(crate) use values::none_of;

use counts::{Characters, Items, Properties};

/// The role of a keyword in a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The draft does not define it, which makes it an annotation.
    Unknown,
    /// It decides which values are valid.
    Assertion,
    /// It applies other schemas.
    Applicator,
    /// It describes the value, without refusing any.
    Annotation,
    /// It names or locates a schema, or contains schemas to refer to.
    Identifier,
}

use Role::{Annotation, Applicator, Assertion, Identifier, Unknown};

/// The vocabulary of a keyword, if a dialect can leave it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    Applicator,
    /// In 2019-09 these are in the vocabulary of applicators.
    Unevaluated,
    Validation,
    /// Present in every dialect, or asserting nothing.
    Other,
}

/// Reads a keyword's value: adds what it asserts to the schema.
type Read = for<'p, 'j> fn(&mut SchemaParser<'p, 'j>, &'static str, &'j Json<'j>);

/// A row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// In drafts 4, 6, 7, 2019-09 and 2020-12.
    roles: [Role; 5],
    pub(crate) vocabulary: Vocabulary,
    /// `None` if it asserts nothing.
    pub(crate) read: Option<Read>,
}

impl Row {
    pub(crate) fn role(&self, draft: Draft) -> Role {
        self.roles[draft as usize]
    }
}

const fn always(role: Role) -> [Role; 5] {
    [role; 5]
}

const fn since_6(role: Role) -> [Role; 5] {
    [Unknown, role, role, role, role]
}

const fn since_7(role: Role) -> [Role; 5] {
    [Unknown, Unknown, role, role, role]
}

const fn since_2019(role: Role) -> [Role; 5] {
    [Unknown, Unknown, Unknown, role, role]
}

const fn only_2019(role: Role) -> [Role; 5] {
    [Unknown, Unknown, Unknown, role, Unknown]
}

const fn since_2020(role: Role) -> [Role; 5] {
    [Unknown, Unknown, Unknown, Unknown, role]
}

/// The keyword's row.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    static BY_NAME: LazyLock<FxHashMap<&str, &Row>> =
        LazyLock::new(|| KEYWORDS.iter().map(|row| (row.name, row)).collect());
    BY_NAME.get(name).copied()
}

/// Whether the keyword constrains values in some draft.
pub(crate) fn is_about_values(keyword: &str) -> bool {
    let is_about_values = |role: &Role| matches!(role, Assertion | Applicator);
    find(keyword).is_some_and(|row| row.roles.iter().any(is_about_values))
}

const fn row(name: &'static str, roles: [Role; 5], vocabulary: Vocabulary, read: Read) -> Row {
    Row {
        name,
        roles,
        vocabulary,
        read: Some(read),
    }
}

const fn without_assertion(name: &'static str, roles: [Role; 5]) -> Row {
    Row {
        name,
        roles,
        vocabulary: Vocabulary::Other,
        read: None,
    }
}

/// The table, sorted by keyword.
///
/// `dependencies` and `definitions` are still in the metaschemas of 2019-09 and 2020-12, which reserve them; both keep
/// their old meaning here. So does `additionalItems`, next to a list under `items`.
#[rustfmt::skip]
pub(crate) static KEYWORDS: &[Row] = &[
    without_assertion("$anchor", since_2019(Identifier)),
    without_assertion("$comment", since_7(Annotation)),
    row("$defs", since_2019(Identifier), Vocabulary::Other, definitions::read),
    without_assertion("$dynamicAnchor", since_2020(Identifier)),
    row("$dynamicRef", since_2020(Applicator), Vocabulary::Other, reference::read),
    without_assertion("$id", since_6(Identifier)),
    without_assertion("$recursiveAnchor", only_2019(Identifier)),
    row("$recursiveRef", only_2019(Applicator), Vocabulary::Other, reference::read),
    row("$ref", always(Applicator), Vocabulary::Other, reference::read),
    without_assertion("$schema", always(Identifier)),
    without_assertion("$vocabulary", since_2019(Identifier)),
    row("additionalItems", always(Applicator), Vocabulary::Applicator, items::read),
    row("additionalProperties", always(Applicator), Vocabulary::Applicator, properties::read),
    row("allOf", always(Applicator), Vocabulary::Applicator, all_of::read),
    row("anyOf", always(Applicator), Vocabulary::Applicator, any_of::read),
    row("const", since_6(Assertion), Vocabulary::Validation, values::read),
    row("contains", since_6(Applicator), Vocabulary::Applicator, contains::read),
    without_assertion("contentEncoding", since_7(Annotation)),
    without_assertion("contentMediaType", since_7(Annotation)),
    without_assertion("contentSchema", since_2019(Annotation)),
    without_assertion("default", always(Annotation)),
    row("definitions", always(Identifier), Vocabulary::Other, definitions::read),
    row("dependencies", always(Applicator), Vocabulary::Other, dependencies::read),
    row("dependentRequired", since_2019(Assertion), Vocabulary::Validation, dependencies::read),
    row("dependentSchemas", since_2019(Applicator), Vocabulary::Applicator, dependencies::read),
    without_assertion("deprecated", since_2019(Annotation)),
    without_assertion("description", always(Annotation)),
    row("else", since_7(Applicator), Vocabulary::Applicator, conditional::read),
    row("enum", always(Assertion), Vocabulary::Validation, values::read),
    without_assertion("examples", since_6(Annotation)),
    row("exclusiveMaximum", always(Assertion), Vocabulary::Validation, bounds::read_upper),
    row("exclusiveMinimum", always(Assertion), Vocabulary::Validation, bounds::read_lower),
    row("format", always(Assertion), Vocabulary::Other, format::read),
    without_assertion("id", [Identifier, Unknown, Unknown, Unknown, Unknown]),
    row("if", since_7(Applicator), Vocabulary::Applicator, conditional::read),
    row("items", always(Applicator), Vocabulary::Applicator, items::read),
    row("maxContains", since_2019(Assertion), Vocabulary::Validation, contains::read),
    row("maxItems", always(Assertion), Vocabulary::Validation, counts::read_most::<Items>),
    row("maxLength", always(Assertion), Vocabulary::Validation, counts::read_most::<Characters>),
    row("maxProperties", always(Assertion), Vocabulary::Validation, counts::read_most::<Properties>),
    row("maximum", always(Assertion), Vocabulary::Validation, bounds::read_upper),
    row("minContains", since_2019(Assertion), Vocabulary::Validation, contains::read),
    row("minItems", always(Assertion), Vocabulary::Validation, counts::read_least::<Items>),
    row("minLength", always(Assertion), Vocabulary::Validation, counts::read_least::<Characters>),
    row("minProperties", always(Assertion), Vocabulary::Validation, counts::read_least::<Properties>),
    row("minimum", always(Assertion), Vocabulary::Validation, bounds::read_lower),
    row("multipleOf", always(Assertion), Vocabulary::Validation, multiple_of::read),
    row("not", always(Applicator), Vocabulary::Applicator, not::read),
    row("oneOf", always(Applicator), Vocabulary::Applicator, one_of::read),
    row("pattern", always(Assertion), Vocabulary::Validation, pattern::read),
    row("patternProperties", always(Applicator), Vocabulary::Applicator, properties::read),
    row("prefixItems", since_2020(Applicator), Vocabulary::Applicator, items::read),
    row("properties", always(Applicator), Vocabulary::Applicator, properties::read),
    row("propertyNames", since_6(Applicator), Vocabulary::Applicator, property_names::read),
    without_assertion("readOnly", since_7(Annotation)),
    row("required", always(Assertion), Vocabulary::Validation, required::read),
    row("then", since_7(Applicator), Vocabulary::Applicator, conditional::read),
    without_assertion("title", always(Annotation)),
    row("type", always(Assertion), Vocabulary::Validation, types::read),
    row("unevaluatedItems", since_2019(Applicator), Vocabulary::Unevaluated, unevaluated::read),
    row("unevaluatedProperties", since_2019(Applicator), Vocabulary::Unevaluated, unevaluated::read),
    row("uniqueItems", always(Assertion), Vocabulary::Validation, unique_items::read),
    without_assertion("writeOnly", since_7(Annotation)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn no_keyword_about_values_is_ignored() {
        for row in KEYWORDS.iter().filter(|row| row.read.is_none()) {
            assert!(!is_about_values(row.name), "{}", row.name);
        }
    }

    #[test]
    fn a_keyword_has_a_role_per_draft() {
        let role = |name, draft| find(name).map(|row| row.role(draft));
        assert_eq!(role("id", Draft::Draft4), Some(Role::Identifier));
        assert_eq!(role("id", Draft::Draft2020), Some(Role::Unknown));
        assert_eq!(role("if", Draft::Draft6), Some(Role::Unknown));
        assert_eq!(role("if", Draft::Draft7), Some(Role::Applicator));
        assert_eq!(role("x-order", Draft::Draft2020), None);
    }
}
