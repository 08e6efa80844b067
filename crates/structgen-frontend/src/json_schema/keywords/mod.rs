//! Every keyword of every draft, and what it is there.

use crate::json_schema::Draft;

/// What a keyword is in a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The draft does not know it, which makes it an annotation.
    Unknown,
    /// It says which values fit.
    Assertion,
    /// It applies other schemas.
    Applicator,
    /// It says something about the value, without refusing any.
    Annotation,
    /// It names or finds a schema, or holds schemas to be found.
    Identifier,
}

use Role::{Annotation, Applicator, Assertion, Identifier, Unknown};

/// One row: the keyword, and its role in drafts 4, 6, 7, 2019-09 and 2020-12.
type Row = (&'static str, [Role; 5]);

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

/// Whether the keyword says in some draft which values fit.
pub(crate) fn is_about_values(keyword: &str) -> bool {
    let row = KEYWORDS.iter().find(|(name, _)| *name == keyword);
    row.is_some_and(|(_, roles)| {
        roles
            .iter()
            .any(|role| matches!(role, Assertion | Applicator))
    })
}

/// The table, sorted by keyword.
///
/// `dependencies` and `definitions` are still in the metaschemas of 2019-09 and 2020-12, so that nobody gives them another
/// meaning; both keep their old one here.
pub(crate) const KEYWORDS: &[Row] = &[
    ("$anchor", since_2019(Identifier)),
    ("$comment", since_7(Annotation)),
    ("$defs", since_2019(Identifier)),
    ("$dynamicAnchor", since_2020(Identifier)),
    ("$dynamicRef", since_2020(Applicator)),
    ("$id", since_6(Identifier)),
    ("$recursiveAnchor", only_2019(Identifier)),
    ("$recursiveRef", only_2019(Applicator)),
    ("$ref", always(Applicator)),
    ("$schema", always(Identifier)),
    ("$vocabulary", since_2019(Identifier)),
    (
        "additionalItems",
        [Applicator, Applicator, Applicator, Applicator, Unknown],
    ),
    ("additionalProperties", always(Applicator)),
    ("allOf", always(Applicator)),
    ("anyOf", always(Applicator)),
    ("const", since_6(Assertion)),
    ("contains", since_6(Applicator)),
    ("contentEncoding", since_7(Annotation)),
    ("contentMediaType", since_7(Annotation)),
    ("contentSchema", since_2019(Annotation)),
    ("default", always(Annotation)),
    ("definitions", always(Identifier)),
    ("dependencies", always(Applicator)),
    ("dependentRequired", since_2019(Assertion)),
    ("dependentSchemas", since_2019(Applicator)),
    ("deprecated", since_2019(Annotation)),
    ("description", always(Annotation)),
    ("else", since_7(Applicator)),
    ("enum", always(Assertion)),
    ("examples", since_6(Annotation)),
    ("exclusiveMaximum", always(Assertion)),
    ("exclusiveMinimum", always(Assertion)),
    ("format", always(Assertion)),
    ("id", [Identifier, Unknown, Unknown, Unknown, Unknown]),
    ("if", since_7(Applicator)),
    ("items", always(Applicator)),
    ("maxContains", since_2019(Assertion)),
    ("maxItems", always(Assertion)),
    ("maxLength", always(Assertion)),
    ("maxProperties", always(Assertion)),
    ("maximum", always(Assertion)),
    ("minContains", since_2019(Assertion)),
    ("minItems", always(Assertion)),
    ("minLength", always(Assertion)),
    ("minProperties", always(Assertion)),
    ("minimum", always(Assertion)),
    ("multipleOf", always(Assertion)),
    ("not", always(Applicator)),
    ("oneOf", always(Applicator)),
    ("pattern", always(Assertion)),
    ("patternProperties", always(Applicator)),
    ("prefixItems", since_2020(Applicator)),
    ("properties", always(Applicator)),
    ("propertyNames", since_6(Applicator)),
    ("readOnly", since_7(Annotation)),
    ("required", always(Assertion)),
    ("then", since_7(Applicator)),
    ("title", always(Annotation)),
    ("type", always(Assertion)),
    ("unevaluatedItems", since_2019(Applicator)),
    ("unevaluatedProperties", since_2019(Applicator)),
    ("uniqueItems", always(Assertion)),
    ("writeOnly", since_7(Annotation)),
];

/// The keyword as the table spells it, and its role in the draft.
pub(crate) fn find(name: &str, draft: Draft) -> Option<(&'static str, Role)> {
    let row = KEYWORDS.binary_search_by(|row| row.0.cmp(name)).ok()?;
    let (name, roles) = KEYWORDS[row];
    Some((name, roles[draft as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_keyword_has_a_role_per_draft() {
        let role = |name, draft| find(name, draft).map(|found| found.1);
        assert_eq!(role("id", Draft::Draft4), Some(Role::Identifier));
        assert_eq!(role("id", Draft::Draft2020), Some(Role::Unknown));
        assert_eq!(role("if", Draft::Draft6), Some(Role::Unknown));
        assert_eq!(role("if", Draft::Draft7), Some(Role::Applicator));
        assert_eq!(role("x-order", Draft::Draft2020), None);
    }
}
