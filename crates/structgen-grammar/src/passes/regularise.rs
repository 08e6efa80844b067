//! Joins what needs no stack into regular terminals: `[a-z]+ ("," [a-z]+)*` becomes one automaton instead of four and a
//! counter.
//!
//! Literals, regular terminals, and their sequences, choices and repetitions are regular. So is a rule that consists of
//! these and is not recursive; it replaces its references if terminals stay small. In a sequence or choice that is not
//! regular as a whole, adjacent regular parts or regular arms are joined. JSON shapes, long lists of literals and token
//! terminals are boundaries: nothing is joined across them. Rules and expressions that the root does not need are
//! dropped.

use std::cell::OnceCell;

use super::{reachable, rebuild};
use crate::lists::Lists;
use crate::{Expr, ExprId, Grammar, GrammarBuilder, Regular, RuleId};

/// The maximum number of nodes of one regular terminal, counting shared ones every time they occur.
const MAX_SIZE: usize = 100_000;
/// The maximum number of nodes of a rule that replaces more than one reference.
const MAX_INLINED: usize = 256;
/// The maximum nesting of a regular terminal.
const MAX_DEPTH: u32 = 200;
/// Inner sequences and choices up to this length are copied into outer ones.
const FLATTENED: usize = 64;

/// The result of the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegulariseReport {
    /// The rules that became one regular terminal, in the order of the grammar.
    pub regular: Vec<String>,
    /// The rules that the root does not need, in the order of the grammar.
    pub dropped: Vec<String>,
}

/// Runs the pass. The remaining rules keep their order.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, RegulariseReport) {
    let forms = forms(&grammar);
    // The parts of regular expressions are not needed.
    let (needed, needed_rules) = reachable::reach(&grammar, |id| forms[id.index()].is_some());
    let regular = { grammar.rules().iter() }.filter(|rule| forms[rule.body.index()].is_some());
    let mut report = RegulariseReport {
        regular: regular.map(|rule| rule.name.clone()).collect(),
        dropped: Vec::new(),
    };
    if !needed_rules.contains(&false) && stays(&grammar, &forms, &needed) {
        return (grammar, report);
    }
    let mut builder = GrammarBuilder::with_capacity(forms.len());
    // The new ids of the remaining rules.
    let mut renamed: Vec<Option<RuleId>> = Vec::with_capacity(grammar.rules.len());
    let mut bodies: Vec<ExprId> = Vec::with_capacity(grammar.rules.len());
    for (rule, is_needed) in grammar.rules.into_iter().zip(needed_rules) {
        bodies.push(rule.body);
        renamed.push(match is_needed {
            true => Some(builder.declare(rule.name)),
            false => {
                report.dropped.push(rule.name);
                None
            }
        });
    }
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(forms.len());
    for (index, expr) in grammar.exprs.into_iter().enumerate() {
        let copy = match (&forms[index], &expr) {
            _ if !needed[index] => ExprId(u32::MAX),
            (Some(form), _) => terminal(&mut builder, form),
            (None, Expr::Rule(rule)) => match renamed[rule.index()] {
                Some(rule) => builder.rule(rule),
                None => unreachable!("a rule that a needed expression refers to is needed"),
            },
            (None, _) => joined(&mut builder, expr, &forms, &copies),
        };
        copies.push(copy);
    }
    for (body, new) in bodies.into_iter().zip(&renamed) {
        if let Some(new) = *new {
            builder.define(new, copies[body.index()]);
        }
    }
    let root = renamed[grammar.root.index()].unwrap_or(grammar.root);
    (builder.finish(root, grammar.form), report)
}

/// Whether each expression is needed and stays as it is.
fn stays(grammar: &Grammar, forms: &[Option<Form>], needed: &[bool]) -> bool {
    let is_regular = |id: &ExprId| forms[id.index()].is_some();
    { grammar.exprs().iter() }
        .zip(forms)
        .zip(needed)
        .all(|((expr, form), &is_needed)| match (expr, form) {
            // Every builder has it.
            (Expr::Never, _) => true,
            _ if !is_needed => false,
            (Expr::Empty | Expr::Bytes(_), _) => true,
            (Expr::Regular(Regular::Never | Regular::Empty | Regular::Bytes(_)), _) => false,
            (Expr::Regular(regular), Some(form)) => *regular == form.regular,
            (_, Some(_)) => false,
            (Expr::Sequence(parts), None) => {
                !{ parts.windows(2) }.any(|pair| pair.iter().all(is_regular))
            }
            (Expr::Choice(arms), None) => arms.iter().filter(|arm| is_regular(arm)).count() < 2,
            (_, None) => true,
        })
}

/// An expression as a regular set, with its size and depth.
#[derive(Clone, Debug)]
struct Form {
    regular: Regular,
    size: usize,
    depth: u32,
}

impl Form {
    fn leaf(regular: Regular) -> Self {
        Self {
            regular,
            size: 1,
            depth: 1,
        }
    }

    /// The form of an existing regular terminal, if it is not too large.
    fn measured(regular: &Regular) -> Option<Self> {
        let mut size = 0;
        let mut depth = 0;
        let mut looks = false;
        let mut stack = vec![(regular, 1)];
        while let Some((part, level)) = stack.pop() {
            size += 1;
            depth = depth.max(level);
            looks |= matches!(part, Regular::Look { .. });
            match part {
                Regular::Concat(parts) | Regular::Union(parts) | Regular::Intersection(parts) => {
                    stack.extend(parts.iter().map(|part| (part, level + 1)));
                }
                Regular::Complement(body)
                | Regular::Repeat { body, .. }
                | Regular::Look { body, .. } => {
                    stack.push((body, level + 1));
                }
                _ => {}
            }
            if size > MAX_SIZE || depth > MAX_DEPTH {
                return None;
            }
        }
        let regular = regular.clone();
        Some(Self {
            // Its look-arounds must not see the text that it is joined with.
            regular: match (looks, &regular) {
                (true, Regular::Concat(_) | Regular::Union(_))
                | (true, Regular::Repeat { .. } | Regular::Look { .. }) => {
                    Regular::Intersection([regular].into())
                }
                _ => regular,
            },
            size,
            depth,
        })
    }

    fn within_limits(self) -> Option<Self> {
        (self.size <= MAX_SIZE && self.depth <= MAX_DEPTH).then_some(self)
    }

    fn concat<'f>(parts: impl Iterator<Item = &'f Self>) -> Option<Self> {
        let mut list = List::default();
        let mut bytes: Vec<u8> = Vec::new();
        for part in parts {
            list.measure(part);
            match &part.regular {
                Regular::Never => return Some(Self::leaf(Regular::Never)),
                Regular::Empty => {}
                Regular::Concat(inner) if inner.len() <= FLATTENED => {
                    for part in inner.iter() {
                        list.push_part(part, &mut bytes);
                    }
                }
                other => list.push_part(other, &mut bytes),
            }
        }
        list.flush(&mut bytes);
        list.finish(Regular::Empty, |parts| Regular::Concat(parts.into()))
    }

    fn union<'f>(arms: impl Iterator<Item = &'f Self>) -> Option<Self> {
        let mut list = List::default();
        for arm in arms {
            list.measure(arm);
            match &arm.regular {
                Regular::Never => {}
                Regular::Union(inner) if inner.len() <= FLATTENED => {
                    list.parts.extend(inner.iter().cloned());
                }
                other => list.parts.push(other.clone()),
            }
        }
        list.finish(Regular::Never, |arms| Regular::Union(arms.into()))
    }

    fn repeat(&self, min: u32, max: Option<u32>) -> Option<Self> {
        Self {
            regular: Regular::repeat(self.regular.clone(), min, max),
            size: self.size + 1,
            depth: self.depth + 1,
        }
        .within_limits()
    }
}

/// The parts of a concatenation or union under construction.
#[derive(Default)]
struct List {
    parts: Vec<Regular>,
    size: usize,
    depth: u32,
}

impl List {
    fn measure(&mut self, part: &Form) {
        self.size = self.size.saturating_add(part.size);
        self.depth = self.depth.max(part.depth);
    }

    /// Adds a part of a concatenation; adjacent bytes are joined.
    fn push_part(&mut self, part: &Regular, bytes: &mut Vec<u8>) {
        match part {
            Regular::Bytes(more) => bytes.extend_from_slice(more),
            other => {
                self.flush(bytes);
                self.parts.push(other.clone());
            }
        }
    }

    fn flush(&mut self, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.parts.push(Regular::Bytes(bytes.as_slice().into()));
            bytes.clear();
        }
    }

    fn finish(mut self, none: Regular, some: fn(Vec<Regular>) -> Regular) -> Option<Form> {
        let regular = match self.parts.len() {
            0 => none,
            1 => self.parts.swap_remove(0),
            _ => some(self.parts),
        };
        Form {
            regular,
            size: self.size + 1,
            depth: self.depth + 1,
        }
        .within_limits()
    }
}

/// The regular form of every expression that has one within the limits.
///
/// An expression is computed after all those that it is made of; expressions in a cycle never are.
fn forms(grammar: &Grammar) -> Vec<Option<Form>> {
    let exprs = grammar.exprs();
    let references = OnceCell::new();
    let mut forms: Vec<Option<Form>> = vec![None; exprs.len()];
    // Children precede their parents, so one pass over the arena computes all but what waits for a rule defined later.
    let mut is_settled = vec![false; exprs.len()];
    let mut rest: Vec<usize> = Vec::new();
    for (index, expr) in exprs.iter().enumerate() {
        if grammar.parts(expr).all(|part| is_settled[part.index()]) {
            forms[index] = form(grammar, expr, &forms, &references);
            is_settled[index] = true;
        } else {
            rest.push(index);
        }
    }
    if rest.is_empty() {
        return forms;
    }
    let mut waiting: Vec<usize> = Vec::with_capacity(rest.len());
    let mut edges = Vec::new();
    for (place, &index) in rest.iter().enumerate() {
        let missing = { grammar.parts(&exprs[index]) }.filter(|part| !is_settled[part.index()]);
        let known = edges.len();
        edges.extend(missing.map(|part| (part.0, place as u32)));
        waiting.push(edges.len() - known);
    }
    let users = Lists::new(exprs.len(), &edges);
    let mut ready: Vec<usize> = (0..rest.len()).filter(|&it| waiting[it] == 0).collect();
    while let Some(place) = ready.pop() {
        let index = rest[place];
        forms[index] = form(grammar, &exprs[index], &forms, &references);
        for &user in users.of(index) {
            let user = user as usize;
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.push(user);
            }
        }
    }
    forms
}

/// How often each rule is referred to, by an expression or as the whole body of another rule.
fn references(grammar: &Grammar) -> Vec<usize> {
    let mut references = vec![0; grammar.rules().len()];
    let mut count = |id| {
        if let Expr::Rule(rule) = grammar.expr(id) {
            references[rule.index()] += 1;
        }
    };
    for expr in grammar.exprs() {
        expr.children().for_each(&mut count);
        if let Expr::Rule(rule) = expr {
            count(grammar.rule(*rule).body);
        }
    }
    references
}

fn form(
    grammar: &Grammar,
    expr: &Expr,
    forms: &[Option<Form>],
    references: &OnceCell<Vec<usize>>,
) -> Option<Form> {
    let of = |ids: &[ExprId]| -> Option<Vec<&Form>> {
        ids.iter().map(|id| forms[id.index()].as_ref()).collect()
    };
    match expr {
        Expr::Never => Some(Form::leaf(Regular::Never)),
        Expr::Empty => Some(Form::leaf(Regular::Empty)),
        Expr::Bytes(bytes) => Some(Form::leaf(Regular::Bytes((**bytes).into()))),
        Expr::Regular(regular) => Form::measured(regular),
        Expr::Sequence(parts) => Form::concat(of(parts)?.into_iter()),
        Expr::Choice(arms) => Form::union(of(arms)?.into_iter()),
        Expr::Repeat { body, min, max } => forms[body.index()].as_ref()?.repeat(*min, *max),
        Expr::Rule(rule) => {
            let body = forms[grammar.rule(*rule).body.index()].as_ref()?;
            let is_used_once =
                || references.get_or_init(|| self::references(grammar))[rule.index()] <= 1;
            (body.size <= MAX_INLINED || is_used_once()).then(|| body.clone())
        }
        Expr::Capture { .. }
        | Expr::Guided { .. }
        | Expr::Grounded { .. }
        | Expr::Referent { .. }
        | Expr::Related { .. }
        | Expr::Literals(_)
        | Expr::Token(_)
        | Expr::String(_)
        | Expr::Number(_)
        | Expr::Object(_)
        | Expr::Array(_) => None,
    }
}

fn terminal(builder: &mut GrammarBuilder, form: &Form) -> ExprId {
    match &form.regular {
        Regular::Never => builder.never(),
        Regular::Empty => builder.bytes([]),
        Regular::Bytes(bytes) => builder.bytes(bytes),
        regular => builder.expr(Expr::Regular(regular.clone())),
    }
}

/// An expression that is not regular, with its adjacent regular parts or regular arms joined.
fn joined(
    builder: &mut GrammarBuilder,
    expr: Expr,
    forms: &[Option<Form>],
    copies: &[ExprId],
) -> ExprId {
    let form = |id: &ExprId| forms[id.index()].as_ref();
    match &expr {
        Expr::Sequence(parts) => {
            let mut new = Vec::new();
            for run in parts.chunk_by(|left, right| form(left).is_some() && form(right).is_some()) {
                match Form::concat(run.iter().filter_map(form)) {
                    Some(join) if run.len() > 1 => new.push(terminal(builder, &join)),
                    _ => new.extend(run.iter().map(|part| copies[part.index()])),
                }
            }
            builder.sequence(new)
        }
        Expr::Choice(arms) => {
            let regular: Vec<&Form> = arms.iter().filter_map(form).collect();
            match Form::union(regular.iter().copied()) {
                Some(join) if regular.len() > 1 => {
                    let first = terminal(builder, &join);
                    let rest = arms.iter().filter(|arm| form(arm).is_none());
                    let arms: Vec<ExprId> = std::iter::once(first)
                        .chain(rest.map(|arm| copies[arm.index()]))
                        .collect();
                    builder.choice(arms)
                }
                _ => rebuild::copy(builder, expr, |id| copies[id.index()]),
            }
        }
        _ => rebuild::copy(builder, expr, |id| copies[id.index()]),
    }
}

#[cfg(test)]
mod tests;
