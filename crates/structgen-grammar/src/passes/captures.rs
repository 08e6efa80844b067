//! Takes out the names of captures: the texts are the same without them, and so are the states of automata.

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
