//! Drops the rules and expressions that cannot be reached from the root.

use super::rebuild;
use crate::{Expr, ExprId, Grammar, GrammarBuilder, RuleId};

/// The result of the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReachableReport {
    /// The dropped rules, in the order of the grammar.
    pub dropped: Vec<String>,
}

/// Runs the pass. The remaining rules keep their order.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, ReachableReport) {
    let (exprs, rules) = reach(&grammar, |_| false);
    if rules.iter().all(|&reached| reached) {
        return (grammar, ReachableReport::default());
    }
    let mut builder = GrammarBuilder::with_capacity(exprs.len());
    let mut report = ReachableReport::default();
    // The new ids of the remaining rules.
    let mut renamed: Vec<Option<RuleId>> = Vec::with_capacity(rules.len());
    for (rule, &reached) in grammar.rules().iter().zip(&rules) {
        renamed.push(reached.then(|| builder.declare(rule.name.clone())));
        if !reached {
            report.dropped.push(rule.name.clone());
        }
    }
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(exprs.len());
    for (expr, &reached) in grammar.exprs.into_iter().zip(&exprs) {
        let copy = match expr {
            _ if !reached => ExprId(u32::MAX),
            Expr::Rule(rule) => match renamed[rule.index()] {
                Some(rule) => builder.rule(rule),
                None => builder.never(),
            },
            expr => rebuild::copy(&mut builder, expr, |id| copies[id.index()]),
        };
        copies.push(copy);
    }
    let mut root = RuleId(0);
    for (index, rule) in grammar.rules.iter().enumerate() {
        if let Some(new) = renamed[index] {
            builder.define(new, copies[rule.body.index()]);
            if grammar.root.index() == index {
                root = new;
            }
        }
    }
    (builder.finish(root, grammar.form), report)
}

/// The expressions and the rules that can be reached from the root, without what is below a leaf.
pub(super) fn reach(grammar: &Grammar, is_leaf: impl Fn(ExprId) -> bool) -> (Vec<bool>, Vec<bool>) {
    let mut exprs = vec![false; grammar.exprs().len()];
    let mut rules = vec![false; grammar.rules().len()];
    rules[grammar.root().index()] = true;
    let mut stack = vec![grammar.rule(grammar.root()).body];
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut exprs[id.index()], true) || is_leaf(id) {
            continue;
        }
        let expr = grammar.expr(id);
        if let Expr::Rule(rule) = expr
            && !std::mem::replace(&mut rules[rule.index()], true)
        {
            stack.push(grammar.rule(*rule).body);
        }
        expr.children().for_each(|child| stack.push(child));
    }
    (exprs, rules)
}

#[cfg(test)]
mod tests;
