//! Removes captures, which change neither the texts nor the states of automata. In the opposite direction, [`of_rules`]
//! captures every rule.

use std::collections::HashSet;

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
    let mut known: HashSet<&str> = HashSet::new();
    for expr in grammar.exprs() {
        if let Expr::Capture { name, .. } = expr
            && known.insert(name)
        {
            report.names.push(name.to_string());
        }
    }
    if report.names.is_empty() {
        return (grammar, report);
    }
    let without = rebuild::unwrap(grammar, |expr| match expr {
        Expr::Capture { body, .. } => Some(*body),
        _ => None,
    });
    (without, report)
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::{JsonForm, ObjectShape, Slot};

    /// `root ::= @a("x") @b(@a("y")) item {"additional": item}`, `item ::= "z"`.
    fn grammar() -> Grammar {
        let mut builder = GrammarBuilder::new();
        let [root, item] = ["root", "item"].map(|name| builder.declare(name));
        let [x, y, z] = ["x", "y", "z"].map(|text| builder.bytes(text));
        builder.define(item, z);
        let (first, inner) = (builder.capture("a", x), builder.capture("a", y));
        let outer = builder.capture("b", inner);
        let item = builder.rule(item);
        let object = builder.expr(Expr::Object(Box::new(ObjectShape {
            additional: Some(Slot::of(item)),
            ..ObjectShape::default()
        })));
        let body = builder.sequence([first, outer, item, object]);
        builder.define(root, body);
        builder.finish(root, JsonForm::generate())
    }

    #[test]
    fn captures_are_removed_and_each_name_is_reported_once() {
        let (without, report) = run(grammar());
        assert_eq!(report.names, ["a", "b"]);
        expect![[r#"
            root ::= "x" "y" item json-object({ *: item })
            item ::= "z"
        "#]]
        .assert_eq(&without.to_string());
        let (again, report) = run(without.clone());
        assert_eq!((again, report.names.len()), (without, 0));
    }

    #[test]
    fn a_hundred_thousand_names_are_no_burden() {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let text = builder.bytes("b");
        let parts: Vec<ExprId> = (0..100_000)
            .map(|n| builder.capture(format!("a{n}"), text))
            .collect();
        let body = builder.sequence(parts);
        builder.define(root, body);
        let (_, report) = run(builder.finish(root, JsonForm::generate()));
        assert_eq!(report.names.len(), 100_000);
    }

    #[test]
    fn every_rule_is_captured_except_within_values() {
        expect![[r#"
            root ::= @root("x" "y" @item(item) json-object({ *: item }))
            item ::= "z"
        "#]]
        .assert_eq(&of_rules(&grammar()).to_string());
    }
}
