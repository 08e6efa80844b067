//! Which of several schemas, none of which holds, comes closest to a value.

use std::cmp::Reverse;

use crate::json_schema::Violation;
use crate::json_schema::s1_json::Json;

/// The moment at which a reader of the value's text notices a violation: the way to the value by the numbers of the
/// members and items, then nothing if its first byte is enough, or [`END`] if all of it has to be read. So the order is
/// that of the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(Vec<usize>);

/// After all members and items.
const END: usize = usize::MAX;

impl Moment {
    /// Returns the moment at which a value, to which the way leads, is known to violate a keyword of the schema.
    pub(super) fn of(way: &[usize], keyword: &str, schema: &Json<'_>, value: &Json<'_>) -> Self {
        let mut way = way.to_vec();
        if !shows_at_first_byte(keyword, schema, value) {
            way.push(END);
        }
        Self(way)
    }

    /// Returns the moment at which the key of a member is read.
    pub(super) fn of_key(way: &[usize], member: usize) -> Self {
        Self([way, &[member]].concat())
    }
}

/// Returns whether the first byte of the value shows that it violates the keyword.
fn shows_at_first_byte(keyword: &str, schema: &Json<'_>, value: &Json<'_>) -> bool {
    let is_like = |other: &Json<'_>| std::mem::discriminant(other) == std::mem::discriminant(value);
    match (keyword, schema.get(keyword)) {
        // A schema `false`.
        ("", _) => true,
        // Only all its digits show that a number is no integer.
        ("type", _) => !matches!(value, Json::Number(_)) || !allows_integers(schema),
        ("const", Some(constant)) => !is_like(constant),
        ("enum", Some(Json::Array(values))) => !values.iter().any(is_like),
        _ => false,
    }
}

fn allows_integers(schema: &Json<'_>) -> bool {
    let is_integer = |name: &Json<'_>| matches!(name, Json::String(name) if name == "integer");
    match schema.get("type") {
        Some(Json::Array(names)) => names.iter().any(is_integer),
        Some(name) => is_integer(name),
        None => false,
    }
}

/// A violation, and when it is noticed.
pub(super) struct Noticed {
    pub(super) violation: Violation,
    pub(super) moment: Moment,
}

/// The schema that a value comes closest to.
pub(super) struct Closest {
    /// Its violations; none if it holds.
    pub(super) causes: Vec<Violation>,
    /// When the first of them is noticed.
    pub(super) moment: Option<Moment>,
    /// Whether another schema is as close.
    pub(super) is_tied: bool,
}

/// Chooses from the violations of each schema: the one that holds longest while the text is read, then the one with the
/// fewest violations, then the first one.
pub(super) fn closest(branches: Vec<Vec<Noticed>>) -> Option<Closest> {
    let rank = |branch: &Vec<Noticed>| {
        let first = branch.iter().map(|noticed| &noticed.moment).min();
        // A schema that holds comes first.
        (first.is_none(), first.cloned(), Reverse(branch.len()))
    };
    let ranks: Vec<_> = branches.iter().map(rank).collect();
    let best = ranks.iter().max()?;
    let is_tied = !best.0 && ranks.iter().filter(|rank| *rank == best).count() > 1;
    let index = ranks.iter().position(|rank| rank == best)?;
    let moment = best.1.clone();
    let causes = branches.into_iter().nth(index)?;
    Some(Closest {
        causes: causes
            .into_iter()
            .map(|noticed| noticed.violation)
            .collect(),
        moment,
        is_tied,
    })
}
