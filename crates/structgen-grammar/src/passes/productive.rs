//! Removes what derives no text.
//!
//! An expression is productive if it derives some text. The productive expressions are a least fixed point, computed
//! in one pass over the arena and, for what refers to later rules, with one counter per expression: the number of
//! groups of children of which none is productive yet. Unproductive expressions are replaced by [`Expr::Never`], and
//! what contains them is narrowed: an arm disappears, a key is forbidden, an array ends earlier.
//!
//! Only the structure is examined. Whether a regular set or a set of numbers is empty, and whether counts of members
//! and items can be met, is decided when automata are built.

use super::rebuild;
use crate::lists::Lists;
use crate::{
    Expr, ExprId, Grammar, GrammarBuilder, NumberSet, ObjectShape, Property, Regular, Slot,
    StringContent, StringShape,
};

/// The result of the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductiveReport {
    /// The rules that derive no text, in the order of the grammar.
    pub never: Vec<String>,
    /// Whether the root is one of them: the grammar then has no text at all.
    pub root_is_never: bool,
}

/// Runs the pass. Rules are kept, even those that derive nothing.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, ProductiveReport) {
    let productive = productive(&grammar);
    if is_clean(&grammar, &productive) {
        return (grammar, ProductiveReport::default());
    }
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
    for (expr, &lives) in grammar.exprs.into_iter().zip(&productive) {
        let narrowed = if lives {
            narrow(&expr, &productive).unwrap_or(expr)
        } else {
            Expr::Never
        };
        copies.push(rebuild::copy(&mut builder, narrowed, |id| {
            copies[id.index()]
        }));
    }
    let mut report = ProductiveReport::default();
    for (index, rule) in grammar.rules.iter().enumerate() {
        builder.define(crate::RuleId(index as u32), copies[rule.body.index()]);
        if !productive[rule.body.index()] {
            report.never.push(rule.name.clone());
            report.root_is_never |= grammar.root.index() == index;
        }
    }
    (builder.finish(grammar.root, grammar.form), report)
}

/// Whether everything unproductive is already [`Expr::Never`], which a builder always contains, and nothing refers to
/// it.
fn is_clean(grammar: &Grammar, productive: &[bool]) -> bool {
    let lives = |id: ExprId| productive[id.index()];
    let is_kept = |(expr, &lives_itself): (&Expr, &bool)| match expr {
        Expr::Never => true,
        _ => lives_itself && expr.children().all(lives),
    };
    grammar.rules().iter().all(|rule| lives(rule.body))
        && grammar.exprs().iter().zip(productive).all(is_kept)
}

/// For each expression, whether it derives some text.
#[must_use]
pub fn productive(grammar: &Grammar) -> Vec<bool> {
    let exprs = grammar.exprs();
    let mut productive = vec![false; exprs.len()];
    // Children precede their parents, so one pass over the arena decides all but what waits for a rule defined later.
    let mut rest: Vec<usize> = Vec::new();
    for (index, expr) in exprs.iter().enumerate() {
        let mut lives = true;
        let mut needs = |mut children: &mut dyn Iterator<Item = ExprId>| {
            lives = lives && Iterator::any(&mut children, |child| productive[child.index()]);
        };
        let is_possible = demands(grammar, expr, &mut needs);
        productive[index] = is_possible && lives;
        if is_possible && !lives {
            rest.push(index);
        }
    }
    if !rest.is_empty() {
        settle(grammar, &rest, &mut productive);
    }
    productive
}

/// Finds which of the remaining expressions are productive. Each waits for groups of children: for one productive child
/// of each.
fn settle(grammar: &Grammar, rest: &[usize], productive: &mut [bool]) {
    let mut waiting: Vec<usize> = vec![0; rest.len()];
    let mut groups: Vec<Option<u32>> = Vec::new();
    let mut members = Vec::new();
    let mut found: Vec<usize> = Vec::new();
    for (place, &index) in rest.iter().enumerate() {
        let mut needs = |children: &mut dyn Iterator<Item = ExprId>| {
            let begin = members.len();
            for child in children {
                if productive[child.index()] {
                    return members.truncate(begin);
                }
                members.push((child.0, groups.len() as u32));
            }
            groups.push(Some(place as u32));
            waiting[place] += 1;
        };
        demands(grammar, &grammar.exprs()[index], &mut needs);
        if waiting[place] == 0 {
            found.push(index);
        }
    }
    for &index in &found {
        productive[index] = true;
    }
    let groups_of_child = Lists::new(productive.len(), &members);
    while let Some(child) = found.pop() {
        for &group in groups_of_child.of(child) {
            let Some(parent) = groups[group as usize].take() else {
                continue;
            };
            let parent = parent as usize;
            waiting[parent] -= 1;
            if waiting[parent] == 0 {
                productive[rest[parent]] = true;
                found.push(rest[parent]);
            }
        }
    }
}

/// Passes to `needs` each group of children of which one must be productive; returns `false` if no text is possible.
fn demands(
    grammar: &Grammar,
    expr: &Expr,
    needs: &mut dyn FnMut(&mut dyn Iterator<Item = ExprId>),
) -> bool {
    match expr {
        Expr::Never | Expr::Regular(Regular::Never) => return false,
        Expr::Regular(Regular::Chars(set)) => return !set.is_empty(),
        Expr::Empty | Expr::Bytes(_) | Expr::Token(_) | Expr::Regular(_) => {}
        Expr::Literals(set) => return !set.is_empty(),
        Expr::Sequence(parts) => parts
            .iter()
            .for_each(|&part| needs(&mut std::iter::once(part))),
        Expr::Choice(arms) => needs(&mut arms.iter().copied()),
        Expr::Repeat { min, max, .. } if max.is_some_and(|max| max < *min) => return false,
        Expr::Repeat { min: 0, .. } => {}
        Expr::Repeat { body, .. }
        | Expr::Capture { body, .. }
        | Expr::Guided { body, .. }
        | Expr::Grounded { body, .. }
        | Expr::Referent { body, .. }
        | Expr::Related { body, .. } => needs(&mut std::iter::once(*body)),
        Expr::Rule(rule) => needs(&mut std::iter::once(grammar.rule(*rule).body)),
        Expr::String(shape) => return has_strings(shape),
        Expr::Number(set) => return has_numbers(set),
        Expr::Object(shape) => {
            if shape.max_members.is_some_and(|max| max < shape.min_members) {
                return false;
            }
            for property in shape.properties.iter().filter(|it| it.required) {
                needs(&mut property.value.values());
            }
        }
        Expr::Array(shape) => {
            let least = shape.min_items as usize;
            if shape.max_items.is_some_and(|max| max < shape.min_items) {
                return false;
            }
            for slot in shape.prefix.iter().take(least) {
                needs(&mut slot.values());
            }
            if least > shape.prefix.len() {
                match &shape.rest {
                    Some(rest) => needs(&mut rest.values()),
                    None => return false,
                }
            }
        }
    }
    true
}

fn has_strings(shape: &StringShape) -> bool {
    let content = match &shape.content {
        StringContent::Any => true,
        StringContent::Regular(regular) => *regular != Regular::Never,
        StringContent::Literals(texts) => !texts.is_empty(),
    };
    content && shape.max_length.is_none_or(|max| max >= shape.min_length)
}

fn has_numbers(set: &NumberSet) -> bool {
    match (&set.lower, &set.upper) {
        (Some(lower), Some(upper)) if lower.exclusive || upper.exclusive => {
            lower.value < upper.value
        }
        (Some(lower), Some(upper)) => lower.value <= upper.value,
        _ => true,
    }
}

/// A productive shape without its unproductive parts; `None` if nothing changes, or if the builder leaves them out, as
/// arms and repetitions.
fn narrow(expr: &Expr, productive: &[bool]) -> Option<Expr> {
    let lives = |id: ExprId| productive[id.index()];
    match expr {
        Expr::Object(shape) if shape.children().all(lives) => None,
        Expr::Object(shape) => {
            let mut shape = (**shape).clone();
            let has_values = |slot: &Slot| !slot.alternatives.is_empty();
            shape.additional = shape.additional.map(|slot| slot.filter(lives));
            shape.additional = shape.additional.filter(has_values);
            for pattern in &mut shape.patterns {
                pattern.value = pattern.value.filter(lives);
            }
            for property in &mut shape.properties {
                property.value = property.value.filter(lives);
            }
            // If other keys are allowed, a key without values must stay, because it is forbidden.
            if shape.additional.is_none() {
                shape.patterns.retain(|pattern| has_values(&pattern.value));
            }
            if shape.additional.is_none() && shape.patterns.is_empty() {
                remove_impossible_keys(&mut shape);
            }
            Some(Expr::Object(Box::new(shape)))
        }
        Expr::Array(shape) if shape.children().all(lives) => None,
        Expr::Array(shape) => {
            let mut shape = (**shape).clone();
            for slot in &mut shape.prefix {
                *slot = slot.filter(lives);
            }
            let has_values = |slot: &Slot| !slot.alternatives.is_empty();
            let possible = shape
                .prefix
                .iter()
                .take_while(|slot| has_values(slot))
                .count();
            let is_cut = possible < shape.prefix.len();
            shape.prefix.truncate(possible);
            shape.rest = shape.rest.map(|slot| slot.filter(lives));
            shape.rest = shape.rest.filter(|slot| has_values(slot) && !is_cut);
            if shape.rest.is_none() {
                let most = u32::try_from(possible).unwrap_or(u32::MAX);
                shape.max_items = Some(shape.max_items.map_or(most, |max| max.min(most)));
            }
            Some(Expr::Array(Box::new(shape)))
        }
        _ => None,
    }
}

/// Removes the keys without values from an object without undeclared keys. Their absence still counts.
fn remove_impossible_keys(shape: &mut ObjectShape) {
    let is_possible = |property: &Property| !property.value.alternatives.is_empty();
    for property in shape.properties.iter().filter(|it| !is_possible(it)) {
        for (bit, tally) in shape.tallies.iter_mut().enumerate() {
            tally.min = tally.min.saturating_sub(property.absent >> bit & 1);
        }
    }
    let ordered = shape.properties.iter().take(shape.ordered as usize);
    shape.ordered = ordered.filter(|it| is_possible(it)).count() as u32;
    shape.properties.retain(is_possible);
}

#[cfg(test)]
mod tests;
