//! Takes out the names of captures: the texts are the same without them, and so are the states of automata. The other way
//! round, [`of_rules`] captures every rule.

use super::rebuild;
use crate::{Expr, ExprId, Grammar, GrammarBuilder, RuleId};

/// What the pass has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturesReport {
    /// The names, each once, in the order of the grammar.
    pub names: Vec<String>,
}

/// Runs the pass. Rules stay.
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
    // Children stand in the arena before what is made of them.
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

/// The grammar with a capture around every rule, under the rule's name and in place of the grammar's own captures: what
/// they find is how a text is made of rules. Within the values of objects and arrays nothing is captured.
#[must_use]
pub fn of_rules(grammar: &Grammar) -> Grammar {
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Of each expression a copy with captures, and one without, for the values of objects and arrays.
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
