//! Removes captures, which change neither the texts nor the states of automata. In the opposite direction, [`of_rules`]
//! captures every rule.

use super::rebuild;
use crate::{Expr, ExprId, Grammar, GrammarBuilder, RuleId};

/// The result of the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturesReport {
    /// The names of captures, each once, in the order of the grammar.
    pub names: Vec<String>,
}

/// Runs the pass. Rules are kept.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, CapturesReport) {
    let mut report = CapturesReport::default();
    for expr in grammar.exprs() {
        if let Expr::Capture { name, .. } = expr
            && !report.names.iter().any(|known| **known == **name)
        {
            report.names.push(name.to_string());
        }
    }
    if report.names.is_empty() {
        return (grammar, report);
    }
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
    for expr in grammar.exprs {
        let copy = match expr {
            Expr::Capture { body, .. } => copies[body.index()],
            expr => rebuild::copy(&mut builder, expr, |id| copies[id.index()]),
        };
        copies.push(copy);
    }
    for (index, rule) in grammar.rules.iter().enumerate() {
        builder.define(RuleId(index as u32), copies[rule.body.index()]);
    }
    (builder.finish(grammar.root, grammar.form), report)
}

/// Replaces the grammar's own captures by one around every rule, with the rule's name: they show how a text derives
/// from the rules. Nothing is captured within the values of objects and arrays.
#[must_use]
pub fn of_rules(grammar: &Grammar) -> Grammar {
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Two copies of each expression: one with captures, and one without for the values of objects and arrays.
    let mut copies: Vec<(ExprId, ExprId)> = Vec::with_capacity(grammar.exprs().len());
    for expr in grammar.exprs() {
        let copy = match expr {
            Expr::Capture { body, .. } => copies[body.index()],
            Expr::Rule(rule) => {
                let plain = builder.rule(*rule);
                let name = grammar.rule(*rule).name.as_str();
                (builder.capture(name, plain), plain)
            }
            expr => {
                let plain = rebuild::copy(&mut builder, expr.clone(), |id| copies[id.index()].1);
                let captured = match expr {
                    Expr::Object(_) | Expr::Array(_) => plain,
                    _ => rebuild::copy(&mut builder, expr.clone(), |id| copies[id.index()].0),
                };
                (captured, plain)
            }
        };
        copies.push(copy);
    }
    for (index, rule) in grammar.rules().iter().enumerate() {
        let id = RuleId(index as u32);
        let mut body = copies[rule.body.index()].0;
        if id == grammar.root() {
            body = builder.capture(rule.name.as_str(), body);
        }
        builder.define(id, body);
    }
    builder.finish(grammar.root(), grammar.form().clone())
}
