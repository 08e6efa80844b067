//! Checks whether an order can be satisfied whatever the other value is.

use structgen_grammar::{NumberBound, NumberSet, Relation, StringContent};

use super::compared::{above, below, order};
use crate::program::TerminalSpec;
use crate::value::Value;

/// Returns whether for every value of `other` there is one of `own` that has the relation to it.
pub(super) fn reaches(own: &TerminalSpec, relation: Relation, other: &TerminalSpec) -> bool {
    if own == other {
        return true;
    }
    if let (TerminalSpec::Number(own), TerminalSpec::Number(other)) = (own, other)
        && holds(own, other, relation)
    {
        return true;
    }
    match (end(own, relation, true), end(other, relation, false)) {
        (Some(own), Some(other)) => match order(&own, &other) {
            Some(order) if relation == Relation::AtLeast => order.is_ge(),
            Some(order) => order.is_le(),
            None => false,
        },
        _ => false,
    }
}

/// Returns whether `own` contains every number of `other`, except on the side where all values of `own` are allowed.
fn holds(own: &NumberSet, other: &NumberSet, relation: Relation) -> bool {
    let is_within = match relation {
        Relation::AtLeast => below(other, own.upper.clone()) == *other,
        _ => above(other, own.lower.clone()) == *other,
    };
    is_within && own.not_multiples_of.is_empty() && (!own.written_whole || other.written_whole) && {
        own.multiples_of.iter()
    }
    .all(|divisor| other.multiples_of.contains(divisor))
}

/// Returns the greatest value of a set, or the least. Unless `is_in_set`, it may also be a value outside the set beyond
/// which there is none.
fn end(spec: &TerminalSpec, relation: Relation, is_in_set: bool) -> Option<Value> {
    let greatest = relation == Relation::AtLeast;
    let listed = |values: &mut dyn Iterator<Item = Value>| match greatest {
        true => values.max(),
        false => values.min(),
    };
    match spec {
        TerminalSpec::Number(set) => {
            let bound = if greatest { &set.upper } else { &set.lower };
            let NumberBound { value, exclusive } = bound.as_ref()?;
            let is_plain =
                set.not_multiples_of.is_empty() && { set.multiples_of.iter() }.all(|divisor| {
                    divisor.digits() == [1] && divisor.exponent() == 1 && value.is_integer()
                });
            (!is_in_set || (!exclusive && is_plain)).then(|| Value::Number(value.clone()))
        }
        TerminalSpec::Literals(set) => {
            listed(&mut set.iter().filter_map(|text| Value::read(&text).ok()))
        }
        TerminalSpec::String(shape) | TerminalSpec::Span { shape, .. } => match &shape.content {
            StringContent::Literals(texts) => listed(&mut texts.iter().cloned().map(Value::String)),
            _ if is_in_set => None,
            // No date is beyond these.
            _ => Some(Value::String(
                if greatest { "9999-12-31" } else { "0000-01-01" }.into(),
            )),
        },
        _ => None,
    }
}
