//! No pass changes the language: random grammars are compared with a chart of all their matches.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{CharSet, Expr, ExprId, GrammarBuilder, JsonForm, Regular, RuleId, TokenTerminal};

/// For every expression and position, the ends of its matches: the least fixed point of the definitions. Shapes and
/// tokens match nothing here.
fn accepts(grammar: &Grammar, text: &[u8]) -> bool {
    let places = text.len() + 1;
    let mut chart: Vec<Vec<BTreeSet<usize>>> =
        vec![vec![BTreeSet::new(); places]; grammar.exprs().len()];
    loop {
        let mut changed = false;
        for (index, expr) in grammar.exprs().iter().enumerate() {
            for from in 0..places {
                let ends = match expr {
                    Expr::Empty => BTreeSet::from([from]),
                    Expr::Bytes(bytes) => after(text, from, bytes),
                    Expr::Regular(regular) => regular_ends(regular, text, from),
                    Expr::Sequence(parts) => {
                        parts.iter().fold(BTreeSet::from([from]), |at, part| {
                            at.iter()
                                .flat_map(|&at| chart[part.index()][at].clone())
                                .collect()
                        })
                    }
                    Expr::Choice(arms) => arms
                        .iter()
                        .flat_map(|arm| chart[arm.index()][from].clone())
                        .collect(),
                    Expr::Repeat { body, min, max } => rounds(from, *min, *max, places, |at| {
                        chart[body.index()][at].clone()
                    }),
                    Expr::Rule(rule) => chart[grammar.rule(*rule).body.index()][from].clone(),
                    _ => BTreeSet::new(),
                };
                changed |= ends != chart[index][from];
                chart[index][from] = ends;
            }
        }
        if !changed {
            let root = grammar.rule(grammar.root()).body;
            return chart[root.index()][0].contains(&text.len());
        }
    }
}

fn after(text: &[u8], from: usize, bytes: &[u8]) -> BTreeSet<usize> {
    let found = text[from..].starts_with(bytes);
    found.then_some(from + bytes.len()).into_iter().collect()
}

fn rounds(
    from: usize,
    min: u32,
    max: Option<u32>,
    places: usize,
    once: impl Fn(usize) -> BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut at = BTreeSet::from([from]);
    let mut found = BTreeSet::new();
    for round in 0..=max.unwrap_or(u32::MAX).min(min + places as u32) {
        if round >= min {
            found.extend(&at);
        }
        at = at.iter().flat_map(|&at| once(at)).collect();
    }
    found
}

fn regular_ends(regular: &Regular, text: &[u8], from: usize) -> BTreeSet<usize> {
    match regular {
        Regular::Empty => BTreeSet::from([from]),
        Regular::Bytes(bytes) => after(text, from, bytes),
        Regular::Chars(set) => text[from..]
            .first()
            .is_some_and(|&byte| set.contains(char::from(byte)))
            .then_some(from + 1)
            .into_iter()
            .collect(),
        Regular::Concat(parts) => parts.iter().fold(BTreeSet::from([from]), |at, part| {
            at.iter()
                .flat_map(|&at| regular_ends(part, text, at))
                .collect()
        }),
        Regular::Union(arms) => arms
            .iter()
            .flat_map(|arm| regular_ends(arm, text, from))
            .collect(),
        Regular::Repeat { body, min, max } => rounds(from, *min, *max, text.len() + 1, |at| {
            regular_ends(body, text, at)
        }),
        _ => BTreeSet::new(),
    }
}

/// An expression that is not in a builder yet.
#[derive(Clone, Debug)]
enum Tree {
    Bytes(&'static str),
    Class,
    Never,
    Token,
    Rule(usize),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["", "a", "b", "ab"]).prop_map(Tree::Bytes),
        1 => Just(Tree::Class),
        1 => Just(Tree::Never),
        1 => Just(Tree::Token),
        3 => (0_usize..4).prop_map(Tree::Rule),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Sequence),
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Choice),
            2 => (inner, 0_u32..3, prop::option::of(0_u32..3)).prop_map(|(body, min, more)| {
                Tree::Repeat(Box::new(body), min, more.map(|more| min + more))
            }),
        ]
    })
}

fn add(builder: &mut GrammarBuilder, tree: &Tree) -> ExprId {
    let all = |builder: &mut GrammarBuilder, trees: &[Tree]| -> Vec<ExprId> {
        trees.iter().map(|tree| add(builder, tree)).collect()
    };
    match tree {
        Tree::Bytes(text) => builder.bytes(text),
        Tree::Class => builder.expr(Expr::Regular(Regular::Chars(CharSet::new([('a', 'b')])))),
        Tree::Never => builder.never(),
        Tree::Token => builder.expr(Expr::Token(TokenTerminal::Id(0))),
        Tree::Rule(rule) => builder.rule(RuleId(*rule as u32)),
        Tree::Sequence(parts) => {
            let parts = all(builder, parts);
            builder.sequence(parts)
        }
        Tree::Choice(arms) => {
            let arms = all(builder, arms);
            builder.choice(arms)
        }
        Tree::Repeat(body, min, max) => {
            let body = add(builder, body);
            builder.repeat(body, *min, *max)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_pass_changes_the_texts(bodies in prop::collection::vec(tree(), 4)) {
        let mut builder = GrammarBuilder::new();
        let rules: Vec<RuleId> = (0..4).map(|n| builder.declare(format!("rule-{n}"))).collect();
        for (&rule, body) in rules.iter().zip(&bodies) {
            let body = add(&mut builder, body);
            builder.define(rule, body);
        }
        let grammar = builder.finish(rules[0], JsonForm::generate());
        let passed = [
            productive::run(grammar.clone()).0,
            regularise::run(grammar.clone()).0,
            reachable::run(grammar.clone()).0,
            run(grammar.clone()).0,
        ];
        for text in ["", "a", "b", "ab", "ba", "aa", "aab", "abab", "bbba", "aaaaa"] {
            let expected = accepts(&grammar, text.as_bytes());
            for after in &passed {
                prop_assert_eq!(
                    accepts(after, text.as_bytes()), expected, "{:?}\n{}\n{}", text, grammar, after
                );
            }
        }
        // A text may also derive through a token, which the chart cannot match, so only one direction holds.
        let (_, report) = productive::run(grammar);
        prop_assert!(!report.root_is_never || passed[3].to_string() == "rule-0 ::= never()\n");
    }
}
