//! Checks the invariants that the types of the IR do not enforce.

use rustc_hash::FxHashSet;

use super::BytesError;
use super::ir::MAX_NESTING;
use crate::{
    ArrayShape, Decimal, Expr, Grammar, MAX_TALLIES, NumberSet, ObjectShape, Regular, Slot,
    StringContent, Tally,
};

/// Checks all invariants that users of a grammar rely on, except that classes of keys are disjoint, which is too costly
/// to check. If they overlap, a key belongs to the first one.
pub(super) fn check(grammar: &Grammar) -> Result<(), BytesError> {
    if grammar.exprs.len() > Grammar::MAX_EXPRS {
        return Err(BytesError::TooLarge {
            what: "expressions of the grammar",
            limit: Grammar::MAX_EXPRS as u64,
        });
    }
    let rules = grammar.rules.len();
    promise(grammar.root.index() < rules, "the root is a rule")?;
    let bodies = grammar.rules.iter().map(|rule| rule.body.index());
    promise(
        { bodies }.all(|body| body < grammar.exprs.len()),
        "the body of a rule is an expression",
    )?;
    for (index, expr) in grammar.exprs.iter().enumerate() {
        promise(
            { expr.children() }.all(|child| child.index() < index),
            "expressions stand behind what they are made of",
        )?;
        match expr {
            Expr::Rule(rule) => promise(rule.index() < rules, "a reference leads to a rule")?,
            Expr::Repeat { min, max, .. } => check_repeat(*min, *max)?,
            Expr::Regular(set) => check_regular(set)?,
            Expr::String(shape) => check_content(&shape.content)?,
            Expr::Number(set) => check_number(set)?,
            Expr::Object(shape) => check_object(shape)?,
            Expr::Array(shape) => check_array(shape)?,
            Expr::Grounded { body, .. } => promise(
                matches!(grammar.expr(*body), Expr::String(_) | Expr::Number(_)),
                "what is grounded is a string or a number",
            )?,
            Expr::Related { body, .. } => promise(
                is_value(grammar.expr(*body)),
                "what is related is a string or a number",
            )?,
            Expr::Referent { body, .. } => promise(
                is_value(grammar.expr(*body))
                    || matches!(
                        grammar.expr(*body),
                        Expr::Referent { .. } | Expr::Related { .. }
                    ),
                "a referent is a string or a number",
            )?,
            Expr::Literals(set) => promise(
                !set.edges(set.root()).is_empty(),
                "some text of a list of literals has a byte",
            )?,
            Expr::Never
            | Expr::Empty
            | Expr::Bytes(_)
            | Expr::Sequence(_)
            | Expr::Choice(_)
            | Expr::Capture { .. }
            | Expr::Guided { .. }
            | Expr::Token(_) => {}
        }
    }
    if unfolded(grammar) > Grammar::MAX_UNFOLDED {
        return Err(BytesError::TooLarge {
            what: "expressions, shared ones counted each time,",
            limit: Grammar::MAX_UNFOLDED,
        });
    }
    Ok(())
}

/// Whether the expression is a string or a number, grounded or not.
fn is_value(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::String(_) | Expr::Number(_) | Expr::Grounded { .. }
    )
}

fn promise(kept: bool, what: &'static str) -> Result<(), BytesError> {
    match kept {
        true => Ok(()),
        false => Err(BytesError::Broken { what }),
    }
}

fn check_repeat(min: u32, max: Option<u32>) -> Result<(), BytesError> {
    promise(
        max.is_none_or(|max| min <= max),
        "the fewest times are at most the most",
    )
}

fn check_regular(set: &Regular) -> Result<(), BytesError> {
    let mut open = vec![(set, 1)];
    while let Some((set, depth)) = open.pop() {
        if depth > MAX_NESTING {
            return Err(BytesError::TooLarge {
                what: "nested regular sets",
                limit: MAX_NESTING.into(),
            });
        }
        match set {
            Regular::Repeat { min, max, .. } => check_repeat(*min, *max)?,
            Regular::ByteRange(low, high) => {
                promise(low <= high, "a range of bytes ends behind its beginning")?;
            }
            _ => {}
        }
        open.extend(set.parts().iter().map(|part| (part, depth + 1)));
    }
    Ok(())
}

fn check_content(content: &StringContent) -> Result<(), BytesError> {
    match content {
        StringContent::Any => Ok(()),
        StringContent::Regular(set) => check_regular(set),
        StringContent::Literals(texts) => {
            let sorted = texts.is_sorted_by(|a, b| a < b);
            promise(sorted, "literals are sorted, without duplicates")
        }
    }
}

fn check_number(set: &NumberSet) -> Result<(), BytesError> {
    for divisors in [&set.multiples_of, &set.not_multiples_of] {
        let is_positive = |divisor: &Decimal| !divisor.is_zero() && !divisor.is_negative();
        promise(divisors.iter().all(is_positive), "divisors are positive")?;
        let sorted = divisors.is_sorted_by(|a, b| a < b);
        promise(sorted, "divisors are sorted, without duplicates")?;
    }
    Ok(())
}

fn check_object(shape: &ObjectShape) -> Result<(), BytesError> {
    check_tallies(&shape.tallies, shape.slots())?;
    let mut keys = FxHashSet::default();
    for property in &shape.properties {
        promise(keys.insert(&property.key), "no two properties have a key")?;
        let counts = |bit: usize| property.absent >> bit & 1 == 1;
        let fits = |bit: usize| {
            shape
                .tallies
                .get(bit)
                .is_some_and(|tally| tally.max.is_none())
        };
        promise(
            { 0..MAX_TALLIES }.all(|bit| !counts(bit) || fits(bit)),
            "what is absent counts for tallies without an upper bound",
        )?;
    }
    { shape.patterns.iter() }.try_for_each(|pattern| check_regular(&pattern.keys))
}

fn check_array(shape: &ArrayShape) -> Result<(), BytesError> {
    check_tallies(&shape.tallies, shape.slots())
}

fn check_tallies<'s>(
    tallies: &[Tally],
    mut slots: impl Iterator<Item = &'s Slot>,
) -> Result<(), BytesError> {
    promise(
        tallies.len() <= MAX_TALLIES,
        "a shape has at most 32 tallies",
    )?;
    let all = u32::try_from((1_u64 << tallies.len().min(MAX_TALLIES)) - 1).unwrap_or(u32::MAX);
    promise(
        slots.all(|slot| slot.alternatives.iter().all(|one| one.tallies & !all == 0)),
        "alternatives count for tallies that there are",
    )
}

/// The number of expressions and nodes of regular sets in all rules and all values of shapes, counting shared ones each
/// time.
fn unfolded(grammar: &Grammar) -> u64 {
    let mut sizes: Vec<u64> = Vec::with_capacity(grammar.exprs.len());
    let mut values = FxHashSet::default();
    let mut total = 0_u64;
    for expr in &grammar.exprs {
        let mut size = 1_u64;
        match expr {
            Expr::Regular(set) => size += nodes(set),
            // Values of shapes are compiled once, however often they occur.
            Expr::Object(_) | Expr::Array(_) => {
                size += expr.children().count() as u64;
                values.extend(expr.children());
            }
            _ => {
                let parts = expr.children().map(|child| sizes[child.index()]);
                size = parts.fold(size, u64::saturating_add);
            }
        }
        sizes.push(size);
    }
    let bodies = grammar.rules.iter().map(|rule| rule.body);
    for id in bodies.chain(values) {
        total = total.saturating_add(sizes[id.index()]);
    }
    total
}

fn nodes(set: &Regular) -> u64 {
    let mut count = 0;
    let mut open = vec![set];
    while let Some(set) = open.pop() {
        count += 1;
        open.extend(set.parts());
    }
    count
}
