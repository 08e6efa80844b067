//! Takes out what derives no text.
//!
//! An expression is productive when it derives some text; the productive ones are the least fixpoint, found with one counter for
//! every expression: how many children it still waits for. What is left is replaced by [`Expr::Never`], and what
//! contains it is narrowed: an arm disappears, a key is forbidden, an array ends earlier.
//!
//! Only the structure is looked at. Whether a regular set or a set of numbers is empty is decided where they become automata.

use super::rebuild;
use crate::{
    ArrayShape, Expr, ExprId, Grammar, GrammarBuilder, NumberSet, ObjectShape, Regular,
    StringContent, StringShape,
};

/// What the pass has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The rules that derive no text, in the order of the grammar.
    pub never: Vec<String>,
    /// Whether the root is one of them: then the grammar has no text at all.
    pub root_is_never: bool,
}

/// Runs the pass. Rules stay, even those that derive nothing.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, Report) {
    let productive = productive(&grammar);
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Children stand in the arena before what is made of them.
    let mut copies: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
    for (expr, &lives) in grammar.exprs().iter().zip(&productive) {
        let narrowed = if lives {
            narrow(expr, &productive)
        } else {
            Some(Expr::Never)
        };
        let copy = rebuild::copy(&mut builder, narrowed.as_ref().unwrap_or(expr), |id| {
            copies[id.index()]
        });
        copies.push(copy);
    }
    let mut report = Report::default();
    for (index, rule) in grammar.rules().iter().enumerate() {
        builder.define(crate::RuleId(index as u32), copies[rule.body.index()]);
        if !productive[rule.body.index()] {
            report.never.push(rule.name.clone());
            report.root_is_never |= grammar.root().index() == index;
        }
    }
    (builder.finish(grammar.root(), grammar.form), report)
}

/// Which expressions derive some text.
fn productive(grammar: &Grammar) -> Vec<bool> {
    let exprs = grammar.exprs();
    // Who waits for whom, and for how many; usize::MAX is forever.
    let mut waiting: Vec<usize> = vec![0; exprs.len()];
    let mut waits_for_child: Vec<Vec<u32>> = vec![Vec::new(); exprs.len()];
    let mut productive = vec![false; exprs.len()];
    let mut found: Vec<usize> = Vec::new();
    for (index, expr) in exprs.iter().enumerate() {
        let Some((needed, from)) = demands(grammar, expr) else {
            continue;
        };
        waiting[index] = needed;
        if needed == 0 {
            productive[index] = true;
            found.push(index);
        } else {
            for child in from {
                waits_for_child[child.index()].push(index as u32);
            }
        }
    }
    while let Some(child) = found.pop() {
        for parent in std::mem::take(&mut waits_for_child[child]) {
            let parent = parent as usize;
            waiting[parent] = waiting[parent].saturating_sub(1);
            if waiting[parent] == 0 && !productive[parent] {
                productive[parent] = true;
                found.push(parent);
            }
        }
    }
    productive
}

/// How many of which children have to be productive; `None` where nothing helps.
fn demands(grammar: &Grammar, expr: &Expr) -> Option<(usize, Vec<ExprId>)> {
    let all = |children: Vec<ExprId>| Some((children.len(), children));
    match expr {
        Expr::Never => None,
        Expr::Empty | Expr::Bytes(_) | Expr::Token(_) => all(Vec::new()),
        Expr::Regular(Regular::Never) => None,
        Expr::Regular(Regular::Chars(set)) if set.is_empty() => None,
        Expr::Regular(_) => all(Vec::new()),
        Expr::Sequence(parts) => all(parts.to_vec()),
        Expr::Choice(arms) => Some((1, arms.to_vec())),
        Expr::Repeat { min, max, .. } if max.is_some_and(|max| max < *min) => None,
        Expr::Repeat { min: 0, .. } => all(Vec::new()),
        Expr::Repeat { body, .. } => all(vec![*body]),
        Expr::Rule(rule) => all(vec![grammar.rule(*rule).body]),
        Expr::String(shape) => has_strings(shape).then(|| (0, Vec::new())),
        Expr::Number(set) => has_numbers(set).then(|| (0, Vec::new())),
        Expr::Object(shape) => all(shape
            .properties
            .iter()
            .filter(|property| property.required)
            .map(|property| property.value)
            .collect()),
        Expr::Array(shape) => {
            let least = shape.min_items as usize;
            if shape.max_items.is_some_and(|max| max < shape.min_items) {
                return None;
            }
            let mut items: Vec<ExprId> = shape.prefix.iter().copied().take(least).collect();
            if least > shape.prefix.len() {
                items.push(shape.rest?);
            }
            all(items)
        }
    }
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

/// A productive expression without what its unproductive children promise; `None` where nothing changes.
fn narrow(expr: &Expr, productive: &[bool]) -> Option<Expr> {
    let lives = |id: &ExprId| productive[id.index()];
    match expr {
        Expr::Choice(arms) if !arms.iter().all(lives) => {
            Some(Expr::Choice(arms.iter().copied().filter(lives).collect()))
        }
        Expr::Repeat { body, .. } if !lives(body) => Some(Expr::Empty),
        Expr::Object(shape) => {
            let additional = shape.additional.filter(lives);
            let mut properties = shape.properties.clone();
            if additional.is_none() {
                properties.retain(|property| lives(&property.value));
            }
            // With other keys allowed, a key without values has to stay: it is forbidden.
            (additional != shape.additional || properties != shape.properties).then(|| {
                Expr::Object(Box::new(ObjectShape {
                    properties,
                    additional,
                }))
            })
        }
        Expr::Array(shape) => {
            let possible = shape.prefix.iter().take_while(|item| lives(item)).count();
            let cut = possible < shape.prefix.len();
            let rest = shape.rest.filter(|rest| lives(rest) && !cut);
            (cut || rest != shape.rest).then(|| {
                let most = u32::try_from(possible).unwrap_or(u32::MAX);
                Expr::Array(Box::new(ArrayShape {
                    prefix: shape.prefix[..possible].to_vec(),
                    rest,
                    min_items: shape.min_items,
                    max_items: Some(shape.max_items.map_or(most, |max| max.min(most))),
                }))
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
