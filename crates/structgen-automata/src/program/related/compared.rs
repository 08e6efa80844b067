//! The texts of a related value that are left once its referents are known.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use structgen_grammar::{
    Decimal, JsonForm, LiteralSet, NumberBound, NumberSet, Regular, Relation, StringContent,
    StringShape,
};

use crate::program::TerminalSpec;
use crate::terminal::Terminal;
use crate::value::Value;
use crate::{LimitExceeded, Limits};

/// Returns the texts of `value` that have the relation to all of `referents`, as terminals, some of which may have no
/// text.
pub(crate) fn compared(
    value: &TerminalSpec,
    relation: Relation,
    referents: &[&Value],
) -> Result<Vec<TerminalSpec>, LimitExceeded> {
    if relation == Relation::In {
        return Ok(among(value, referents));
    }
    if referents.is_empty() {
        return Ok(vec![value.clone()]);
    }
    let keeps = |own: &Value| {
        referents.iter().all(|&other| match relation {
            Relation::NotEqual => own != other,
            Relation::AtLeast => order(own, other).is_none_or(Ordering::is_ge),
            Relation::AtMost => order(own, other).is_none_or(Ordering::is_le),
            Relation::In => false,
        })
    };
    Ok(match value {
        TerminalSpec::Number(set) => numbers(set, relation, referents)
            .into_iter()
            .map(TerminalSpec::Number)
            .collect(),
        TerminalSpec::ListedNumbers(numbers) => {
            let kept = numbers
                .iter()
                .filter(|number| keeps(&Value::Number((*number).clone())));
            vec![TerminalSpec::ListedNumbers(kept.cloned().collect())]
        }
        TerminalSpec::Literals(set) => {
            let kept = set.iter().filter(|text| {
                let own = Value::read(text);
                own.is_ok_and(|own| keeps(&own))
            });
            let kept = LiteralSet::new(kept).map_err(|_| LimitExceeded {
                what: "candidates of the input",
                limit: u64::from(u32::MAX),
            })?;
            vec![TerminalSpec::Literals(kept)]
        }
        TerminalSpec::String(shape) => vec![TerminalSpec::String(strings(
            shape, relation, referents, keeps,
        ))],
        TerminalSpec::Span {
            shape,
            input,
            recognised,
        } => vec![TerminalSpec::Span {
            shape: strings(shape, relation, referents, keeps),
            input: input.clone(),
            recognised: *recognised,
        }],
        TerminalSpec::Bytes(_) | TerminalSpec::Regular(_) => vec![value.clone()],
    })
}

/// Returns those of the referents that a value of this kind can be.
fn among(value: &TerminalSpec, referents: &[&Value]) -> Vec<TerminalSpec> {
    match value {
        TerminalSpec::Number(set) => {
            let numbers = referents.iter().filter_map(|referent| match referent {
                Value::Number(number) => Some(TerminalSpec::Number(NumberSet {
                    written_whole: set.written_whole,
                    ..NumberSet::point(number.clone())
                })),
                _ => None,
            });
            numbers.collect()
        }
        TerminalSpec::ListedNumbers(numbers) => {
            let is_among = |number: &&Decimal| {
                referents
                    .iter()
                    .any(|&referent| matches!(referent, Value::Number(other) if other == *number))
            };
            let among: Box<[Decimal]> = numbers.iter().filter(is_among).cloned().collect();
            match among.is_empty() {
                true => Vec::new(),
                false => vec![TerminalSpec::ListedNumbers(among)],
            }
        }
        _ => {
            let texts: BTreeSet<Box<str>> = { referents.iter() }
                .filter_map(|referent| match referent {
                    Value::String(text) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            match texts.is_empty() {
                true => Vec::new(),
                false => vec![TerminalSpec::String(StringShape {
                    content: StringContent::Literals(texts.into_iter().collect()),
                    ..StringShape::default()
                })],
            }
        }
    }
}

/// Returns the order of two numbers or two dates.
pub(crate) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
        // Dates have the same length, with the year first.
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Returns the numbers of a set that have the relation to all referents.
fn numbers(set: &NumberSet, relation: Relation, referents: &[&Value]) -> Vec<NumberSet> {
    let mut others: Vec<_> = { referents.iter() }
        .filter_map(|referent| match referent {
            Value::Number(number) => Some(number.clone()),
            _ => None,
        })
        .collect();
    others.sort();
    others.dedup();
    let bound = |value, exclusive| Some(NumberBound { value, exclusive });
    match (relation, others.first().cloned(), others.last().cloned()) {
        (Relation::AtLeast, _, Some(greatest)) => vec![above(set, bound(greatest, false))],
        (Relation::AtMost, Some(least), _) => vec![below(set, bound(least, false))],
        (Relation::NotEqual, Some(_), _) => {
            // What is between two neighbours.
            let ends = || others.iter().cloned().map(|value| bound(value, true));
            let lower = std::iter::once(None).chain(ends());
            let upper = ends().chain([None]);
            lower
                .zip(upper)
                .map(|(lower, upper)| below(&above(set, lower), upper))
                .collect()
        }
        _ => vec![set.clone()],
    }
}

/// Returns the numbers of a set that are not below a bound.
pub(super) fn above(set: &NumberSet, bound: Option<NumberBound>) -> NumberSet {
    let mut set = set.clone();
    set.lower = match (set.lower.take(), bound) {
        (Some(own), Some(bound)) => {
            let is_tighter = match bound.value.cmp(&own.value) {
                Ordering::Equal => bound.exclusive,
                order => order == Ordering::Greater,
            };
            Some(if is_tighter { bound } else { own })
        }
        (own, bound) => own.or(bound),
    };
    set
}

/// Returns the numbers of a set that are not above a bound.
pub(super) fn below(set: &NumberSet, bound: Option<NumberBound>) -> NumberSet {
    let mut set = set.clone();
    set.upper = match (set.upper.take(), bound) {
        (Some(own), Some(bound)) => {
            let is_tighter = match bound.value.cmp(&own.value) {
                Ordering::Equal => bound.exclusive,
                order => order == Ordering::Less,
            };
            Some(if is_tighter { bound } else { own })
        }
        (own, bound) => own.or(bound),
    };
    set
}

/// Returns the strings of a shape that have the relation to all referents.
fn strings(
    shape: &StringShape,
    relation: Relation,
    referents: &[&Value],
    keeps: impl Fn(&Value) -> bool,
) -> StringShape {
    let texts = referents.iter().filter_map(|referent| match referent {
        Value::String(text) => Some(&**text),
        _ => None,
    });
    let content = match &shape.content {
        StringContent::Literals(own) => {
            let kept = { own.iter() }.filter(|text| keeps(&Value::String((*text).clone())));
            StringContent::Literals(kept.cloned().collect())
        }
        own => {
            let mut parts: Vec<Regular> = match own {
                StringContent::Regular(regular) => vec![regular.clone()],
                _ => Vec::new(),
            };
            parts.extend(texts.map(|text| match relation {
                Relation::AtLeast => from(text, true),
                Relation::AtMost => from(text, false),
                _ => Regular::Complement(Regular::literal(text).into()),
            }));
            match parts.len() {
                0 => StringContent::Any,
                1 => StringContent::Regular(parts.remove(0)),
                _ => StringContent::Regular(Regular::Intersection(parts.into())),
            }
        }
    };
    StringShape {
        content,
        ..shape.clone()
    }
}

/// Returns the texts of digits and hyphens with the length of a date that equal it or come after it (or before it).
fn from(date: &str, after: bool) -> Regular {
    const FIRST: u8 = b'-';
    const LAST: u8 = b'9';
    let mut arms = vec![Regular::literal(date)];
    for (i, &byte) in date.as_bytes().iter().enumerate() {
        let (first, last) = match after {
            true => (byte.saturating_add(1), LAST),
            false => (FIRST, byte.saturating_sub(1)),
        };
        if first > last {
            continue;
        }
        let rest = (i + 1..date.len()).map(|_| Regular::ByteRange(FIRST, LAST));
        let parts = [
            Regular::literal(&date[..i]),
            Regular::ByteRange(first, last),
        ];
        arms.push(Regular::concat(parts.into_iter().chain(rest)));
    }
    Regular::union(arms)
}

/// Builds the terminals of the specifications that have texts, and returns them with the cost of the cheapest.
pub(crate) fn built(
    specs: Vec<TerminalSpec>,
    form: &JsonForm,
    limits: &Limits,
) -> Result<Vec<Terminal>, LimitExceeded> {
    let mut terminals = Vec::with_capacity(specs.len());
    for spec in specs {
        let terminal = spec.terminal(form, limits)?;
        if !terminal.is_never() {
            terminals.push(terminal);
        }
    }
    Ok(terminals)
}
