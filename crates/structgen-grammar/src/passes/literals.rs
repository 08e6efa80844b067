//! Turns long lists of literals into terminals: `"a" | "b" | …` becomes one graph, in which the cost of a step does not
//! depend on the length of the list.

use super::rebuild;
use crate::{Expr, ExprId, Grammar, GrammarBuilder, LiteralSet, Regular, RuleId};

/// The length from which a list is long. Shorter ones are joined with their neighbours.
const LONG: usize = 64;

/// The result of the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiteralsReport {
    /// The number of lists that became terminals.
    pub lists: usize,
}

/// Runs the pass. Rules are kept.
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, LiteralsReport) {
    let lists: Vec<Option<LiteralSet>> = { grammar.exprs().iter() }
        .map(|expr| listed(&grammar, expr))
        .collect();
    let report = LiteralsReport {
        lists: lists.iter().flatten().count(),
    };
    if report.lists == 0 {
        return (grammar, report);
    }
    let is_literal: Vec<bool> = { grammar.exprs().iter() }
        .map(|expr| literal(expr).is_some())
        .collect();
    let mut builder = GrammarBuilder::new();
    for rule in grammar.rules() {
        builder.declare(rule.name.clone());
    }
    // Children precede their parents in the arena.
    let mut copies: Vec<ExprId> = Vec::with_capacity(is_literal.len());
    for (expr, list) in grammar.exprs.into_iter().zip(lists) {
        let copy = match (list, expr) {
            (None, expr) => rebuild::copy(&mut builder, expr, |id| copies[id.index()]),
            (Some(set), Expr::Choice(arms)) => {
                let first = builder.expr(Expr::Literals(set));
                let rest = arms.iter().filter(|arm| !is_literal[arm.index()]);
                let rest: Vec<ExprId> = rest.map(|arm| copies[arm.index()]).collect();
                builder.choice(std::iter::once(first).chain(rest))
            }
            (Some(set), _) => builder.expr(Expr::Literals(set)),
        };
        copies.push(copy);
    }
    for (index, rule) in grammar.rules.iter().enumerate() {
        builder.define(RuleId(index as u32), copies[rule.body.index()]);
    }
    (builder.finish(grammar.root, grammar.form), report)
}

/// The literals among the arms, if there are many.
fn listed(grammar: &Grammar, expr: &Expr) -> Option<LiteralSet> {
    let set = match expr {
        Expr::Choice(arms) if arms.len() >= LONG => {
            let texts: Vec<&[u8]> = { arms.iter() }
                .filter_map(|&arm| literal(grammar.expr(arm)))
                .collect();
            (texts.len() >= LONG).then(|| LiteralSet::new(texts))?
        }
        Expr::Regular(Regular::Union(arms)) if arms.len() >= LONG => {
            let texts: Option<Vec<&[u8]>> = arms.iter().map(regular_literal).collect();
            LiteralSet::new(texts?)
        }
        _ => return None,
    };
    // A list that is too large stays as it is.
    set.ok()
        .filter(|set| !set.first_bytes(set.root()).is_empty())
}

fn literal(expr: &Expr) -> Option<&[u8]> {
    match expr {
        Expr::Empty => Some(&[]),
        Expr::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn regular_literal(set: &Regular) -> Option<&[u8]> {
    match set {
        Regular::Empty => Some(&[]),
        Regular::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JsonForm;

    #[test]
    fn long_lists_become_terminals_and_short_ones_stay() {
        let mut builder = GrammarBuilder::new();
        let [root, few] = ["root", "few"].map(|name| builder.declare(name));
        let mut arms: Vec<ExprId> = (0..LONG)
            .map(|i| builder.bytes(format!("{i:02}")))
            .collect();
        let body = builder.choice(arms[..3].to_vec());
        builder.define(few, body);
        arms.push(builder.rule(few));
        let body = builder.choice(arms);
        builder.define(root, body);
        let (grammar, report) = run(builder.finish(root, JsonForm::generate()));
        assert_eq!(report.lists, 1);
        let Expr::Choice(arms) = grammar.expr(grammar.rule(root).body) else {
            panic!("{grammar}")
        };
        assert_eq!(arms.len(), 2);
        let Expr::Literals(set) = grammar.expr(arms[0]) else {
            panic!("{grammar}")
        };
        assert_eq!(set.count(), LONG as u64);
        assert!(
            grammar
                .to_string()
                .ends_with("few ::= \"00\" | \"01\" | \"02\"\n")
        );
    }

    #[test]
    fn long_unions_of_texts_become_terminals_and_others_stay() {
        let texts = |count: usize| (0..count).map(|i| Regular::literal(&format!("{i:02}")));
        let run_on = |arms: Vec<Regular>| {
            let mut builder = GrammarBuilder::new();
            let root = builder.declare("root");
            let body = builder.expr(Expr::Regular(Regular::Union(arms.into())));
            builder.define(root, body);
            let (grammar, report) = run(builder.finish(root, JsonForm::generate()));
            let body = grammar.expr(grammar.rule(root).body);
            let count = match body {
                Expr::Literals(set) => Some(set.count()),
                _ => None,
            };
            assert_eq!(report.lists, usize::from(count.is_some()));
            count
        };
        assert_eq!(run_on(texts(LONG).collect()), Some(LONG as u64));
        assert_eq!(run_on(texts(LONG - 1).collect()), None);
        let digits = Regular::Chars(crate::CharSet::new([('0', '9')]));
        assert_eq!(run_on(texts(LONG).chain([digits]).collect()), None);
    }
}
