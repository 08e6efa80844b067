//! Copies expressions from one arena to another.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Expr, ExprId, Grammar, GrammarBuilder, RuleId};

/// Removes the expressions for which `body` returns what they wrap. Rules are kept.
pub(crate) fn unwrap(grammar: Grammar, body: impl Fn(&Expr) -> Option<ExprId>) -> Grammar {
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
    for expr in grammar.exprs {
        let copy = match body(&expr) {
            Some(body) => copies[body.index()],
            None => copy(&mut builder, expr, |id| copies[id.index()]),
        };
        copies.push(copy);
    }
    for (index, rule) in grammar.rules.iter().enumerate() {
        builder.define(RuleId(index as u32), copies[rule.body.index()]);
    }
    builder.finish(grammar.root, grammar.form)
}

/// Returns a grammar of one expression, with the rules that it needs.
pub(crate) fn part(grammar: &Grammar, body: ExprId) -> Grammar {
    let mut seen = FxHashSet::from_iter([body]);
    let mut open = vec![body];
    let mut needed = Vec::new();
    while let Some(id) = open.pop() {
        needed.push(id);
        let expr = grammar.expr(id);
        let of_rule = match expr {
            Expr::Rule(rule) => Some(grammar.rule(*rule).body),
            _ => None,
        };
        let children = expr.children().chain(of_rule);
        open.extend(children.filter(|&child| seen.insert(child)));
    }
    // Children precede their parents in the arena.
    needed.sort_unstable();
    let mut builder = GrammarBuilder::with_capacity(needed.len());
    let root = builder.declare("part");
    let mut rules: FxHashMap<RuleId, RuleId> = FxHashMap::default();
    let mut copies: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in needed {
        let copy = match grammar.expr(id) {
            Expr::Rule(rule) => {
                let name = || grammar.rule(*rule).name.clone();
                let rule = *rules
                    .entry(*rule)
                    .or_insert_with(|| builder.declare(name()));
                builder.rule(rule)
            }
            expr => copy(&mut builder, expr.clone(), |id| copies[&id]),
        };
        copies.insert(id, copy);
    }
    for (rule, copy) in rules {
        builder.define(copy, copies[&grammar.rule(rule).body]);
    }
    builder.define(root, copies[&body]);
    builder.finish(root, grammar.form.clone())
}

/// Adds `expr` with other children: `map` returns the new child for each old one.
pub(crate) fn copy(
    builder: &mut GrammarBuilder,
    expr: Expr,
    mut map: impl FnMut(ExprId) -> ExprId,
) -> ExprId {
    match expr {
        Expr::Sequence(parts) => {
            let parts: Vec<ExprId> = parts.iter().map(|&part| map(part)).collect();
            builder.sequence(parts)
        }
        Expr::Choice(arms) => {
            let arms: Vec<ExprId> = arms.iter().map(|&arm| map(arm)).collect();
            builder.choice(arms)
        }
        Expr::Repeat { body, min, max } => {
            let body = map(body);
            builder.repeat(body, min, max)
        }
        Expr::Capture { name, body } => {
            let body = map(body);
            builder.capture(name, body)
        }
        Expr::Guided { guide, body } => {
            let body = map(body);
            builder.guided(guide, body)
        }
        Expr::Grounded {
            pointer,
            format,
            body,
        } => {
            let body = map(body);
            builder.grounded(pointer, format, body)
        }
        Expr::Referent { name, body } => {
            let body = map(body);
            builder.referent(name, body)
        }
        Expr::Related {
            pointer,
            relation,
            referent,
            body,
        } => {
            let body = map(body);
            builder.related(pointer, relation, referent, body)
        }
        Expr::Object(mut shape) => {
            for property in &mut shape.properties {
                property.value = std::mem::take(&mut property.value).map(&mut map);
            }
            for pattern in &mut shape.patterns {
                pattern.value = std::mem::take(&mut pattern.value).map(&mut map);
            }
            shape.additional = shape.additional.take().map(|slot| slot.map(&mut map));
            builder.expr(Expr::Object(shape))
        }
        Expr::Array(mut shape) => {
            for slot in &mut shape.prefix {
                *slot = std::mem::take(slot).map(&mut map);
            }
            shape.rest = shape.rest.take().map(|slot| slot.map(&mut map));
            builder.expr(Expr::Array(shape))
        }
        leaf => builder.expr(leaf),
    }
}
