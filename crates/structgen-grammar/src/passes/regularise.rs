//! Joins what needs no stack into regular terminals: `[a-z]+ ("," [a-z]+)*` becomes one automaton instead of four and a
//! counter.
//!
//! Literals, regular terminals, and their sequences, choices and repetitions are regular. So is a rule that consists of
//! these and is not recursive; it replaces its references if terminals stay small. In a sequence or choice that is not
//! regular as a whole, adjacent regular parts or regular arms are joined. JSON shapes, long lists of literals and token
//! terminals are boundaries: nothing is joined across them.

use super::lists::Lists;
use super::rebuild;
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
}

/// Runs the pass. Rules are kept, even those that nothing refers to any more.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, RegulariseReport) {
    let forms = forms(&grammar);
    let mut builder = GrammarBuilder::with_capacity(forms.len());
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    let needed = needed(&grammar, &forms);
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(needed.len());
    for (index, expr) in grammar.exprs.into_iter().enumerate() {
        let copy = match &forms[index] {
            _ if !needed[index] => ExprId(u32::MAX),
            Some(form) => terminal(&mut builder, form),
            None => joined(&mut builder, expr, &forms, &copies),
        };
        copies.push(copy);
    }
    let mut report = RegulariseReport::default();
    for (index, rule) in grammar.rules.iter().enumerate() {
        builder.define(RuleId(index as u32), copies[rule.body.index()]);
        if forms[rule.body.index()].is_some() {
            report.regular.push(rule.name.clone());
        }
    }
    (builder.finish(grammar.root, grammar.form), report)
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
/// An expression is computed after all its children; expressions in a cycle never are.
fn forms(grammar: &Grammar) -> Vec<Option<Form>> {
    let exprs = grammar.exprs();
    let mut references = vec![0_usize; grammar.rules().len()];
    let mut waiting: Vec<usize> = Vec::with_capacity(exprs.len());
    let mut edges = Vec::with_capacity(exprs.len());
    for (index, expr) in exprs.iter().enumerate() {
        let mut count = 0;
        for child in expr.children().chain(body_of(grammar, expr)) {
            count += 1;
            edges.push((child.0, index as u32));
            if let Expr::Rule(rule) = grammar.expr(child) {
                references[rule.index()] += 1;
            }
        }
        waiting.push(count);
    }
    let parents = Lists::new(exprs.len(), &edges);
    let mut forms: Vec<Option<Form>> = vec![None; exprs.len()];
    let mut ready: Vec<usize> = (0..exprs.len()).filter(|&id| waiting[id] == 0).collect();
    while let Some(index) = ready.pop() {
        forms[index] = form(grammar, &exprs[index], &forms, &references);
        for &parent in parents.of(index) {
            let parent = parent as usize;
            waiting[parent] -= 1;
            if waiting[parent] == 0 {
                ready.push(parent);
            }
        }
    }
    forms
}

fn body_of(grammar: &Grammar, expr: &Expr) -> Option<ExprId> {
    match expr {
        Expr::Rule(rule) => Some(grammar.rule(*rule).body),
        _ => None,
    }
}

fn form(
    grammar: &Grammar,
    expr: &Expr,
    forms: &[Option<Form>],
    references: &[usize],
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
            (body.size <= MAX_INLINED || references[rule.index()] <= 1).then(|| body.clone())
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

/// The expressions that the new grammar keeps: the bodies of rules, and the parts of those that are not regular.
fn needed(grammar: &Grammar, forms: &[Option<Form>]) -> Vec<bool> {
    let mut needed = vec![false; forms.len()];
    let mut stack: Vec<ExprId> = grammar.rules().iter().map(|rule| rule.body).collect();
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut needed[id.index()], true) && forms[id.index()].is_none() {
            stack.extend(grammar.expr(id).children());
        }
    }
    needed
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
