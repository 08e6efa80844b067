//! Named parts of outputs, against all ways of reading them.

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use structgen_automata::{CapturePiece, Limits, Program, ProgramError};
use structgen_constraint::{CaptureSpan, CompiledConstraint, ConstraintOptions, Matcher};
use structgen_grammar::{
    CharSet, Expr, ExprId, Grammar, GrammarBuilder, JsonForm, ObjectShape, Property, Regular,
    RuleId, Slot, TokenTerminal,
};
use structgen_vocab::TokenId;
use support::{any_value, compile, json, vocabulary, walk_and_compare};

fn grammar(build: impl Fn(&mut GrammarBuilder) -> ExprId) -> Grammar {
    json(build, JsonForm::generate())
}

fn class(builder: &mut GrammarBuilder, low: char, high: char) -> ExprId {
    let set = CharSet::new([(low, high)]);
    builder.expr(Expr::Regular(Regular::Chars(set)))
}

/// A matcher behind a text, byte by byte.
fn behind(constraint: &CompiledConstraint, text: &str) -> Matcher {
    let mut matcher = constraint.matcher();
    for byte in text.bytes() {
        matcher.accept_token(TokenId(byte.into())).unwrap();
    }
    matcher
}

/// Captures as `name=start..end`, with a `+` where they may go on.
fn shown(captures: &[CaptureSpan]) -> String {
    let shown = captures.iter().map(|capture| {
        let mark = if capture.is_open { "+" } else { "" };
        format!("{}={:?}{mark}", capture.name, capture.span)
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// key=value pairs between semicolons.
fn pairs(builder: &mut GrammarBuilder) -> ExprId {
    let letter = class(builder, 'a', 'z');
    let digit = class(builder, '0', '9');
    let letters = builder.repeat(letter, 1, None);
    let digits = builder.repeat(digit, 1, None);
    let key = builder.capture("key", letters);
    let value = builder.capture("value", digits);
    let equals = builder.bytes("=");
    let pair = builder.sequence([key, equals, value]);
    let pair = builder.capture("pair", pair);
    let semicolon = builder.bytes(";");
    let more = builder.sequence([semicolon, pair]);
    let rest = builder.repeat(more, 0, None);
    builder.sequence([pair, rest])
}

#[test]
fn spans_grow_close_and_come_again() {
    let constraint = compile(grammar(pairs));
    let at = |text| shown(&behind(&constraint, text).captures().unwrap());
    assert_eq!(at(""), "");
    assert_eq!(at("ab"), "pair=0..2+ key=0..2+");
    assert_eq!(at("ab="), "pair=0..3+ key=0..2");
    assert_eq!(at("ab=1"), "pair=0..4+ key=0..2 value=3..4+");
    assert_eq!(at("ab=1;"), "pair=0..4 key=0..2 value=3..4");
    assert_eq!(
        at("ab=1;c=23"),
        "pair=0..4 key=0..2 value=3..4 pair=5..9+ key=5..6 value=7..9+"
    );
    let mut matcher = behind(&constraint, "ab=1;c=23");
    let closed = "pair=0..4 key=0..2 value=3..4 pair=5..9 key=5..6 value=7..9";
    assert_eq!(shown(&matcher.captures_at_end().unwrap().unwrap()), closed);
    matcher.accept_token(constraint.eos()[0]).unwrap();
    assert_eq!(shown(&matcher.captures().unwrap()), closed);
    assert_eq!(behind(&constraint, "ab=").captures_at_end().unwrap(), None);
}

#[test]
fn names_change_no_mask() {
    let named = compile(grammar(pairs));
    let plain = structgen_grammar::passes::captures::run(grammar(pairs)).0;
    assert_eq!(
        named.program().grammar(),
        compile(plain).program().grammar()
    );
    for seed in 0..4 {
        walk_and_compare(&named, seed, 20);
    }
}

#[test]
fn rollback_and_forks_have_the_captures_of_their_texts() {
    let constraint = compile(grammar(pairs));
    let mut matcher = behind(&constraint, "ab=1;c=2");
    let mut fork = matcher.clone();
    fork.accept_token(TokenId(u32::from(b'3'))).unwrap();
    matcher.rollback(4).unwrap();
    matcher.accept_token(TokenId(u32::from(b'0'))).unwrap();
    let replayed = behind(&constraint, "ab=10").captures().unwrap();
    assert_eq!(matcher.captures().unwrap(), replayed);
    let replayed = behind(&constraint, "ab=1;c=23").captures().unwrap();
    assert_eq!(fork.captures().unwrap(), replayed);
}

#[test]
fn ambiguous_texts_have_one_reading() {
    // Each part takes what it can, and the first of equal arms counts.
    let constraint = compile(grammar(|builder| {
        let a = builder.bytes("a");
        let ab = builder.bytes("ab");
        let many = builder.repeat(a, 0, None);
        let first = builder.capture("first", many);
        let second = builder.capture("second", many);
        let arms = [builder.capture("x", ab), builder.capture("y", ab)];
        let either = builder.choice(arms);
        let tail = builder.repeat(either, 0, Some(2));
        builder.sequence([first, second, tail])
    }));
    let at_end = |text| {
        let found = behind(&constraint, text).captures_at_end().unwrap();
        shown(&found.unwrap())
    };
    assert_eq!(at_end("aa"), "first=0..2 second=2..2");
    assert_eq!(at_end("aab"), "first=0..1 second=1..1 x=1..3");
    assert_eq!(at_end(""), "first=0..0 second=0..0");
}

#[test]
fn recursion_on_the_left_in_the_middle_and_in_circles_ends() {
    // sum ::= sum "+" @n(d) | @n(d) | sum, and parentheses within.
    let mut builder = GrammarBuilder::new();
    let [root, sum] = ["root", "sum"].map(|name| builder.declare(name));
    let digit = class(&mut builder, '0', '9');
    let number = builder.capture("n", digit);
    let again = builder.rule(sum);
    let [plus, open, close] = ["+", "(", ")"].map(|text| builder.bytes(text));
    let longer = builder.sequence([again, plus, number]);
    let within = builder.sequence([open, again, close]);
    let within = builder.capture("within", within);
    let body = builder.choice([again, longer, number, within]);
    builder.define(sum, body);
    builder.define(root, again);
    let constraint = compile(builder.finish(root, JsonForm::generate()));
    let found = behind(&constraint, "((1)+2)+3").captures_at_end().unwrap();
    assert_eq!(
        shown(&found.unwrap()),
        "within=0..7 within=1..4 n=2..3 n=5..6 n=8..9"
    );
    let found = behind(&constraint, "(1+").captures().unwrap();
    assert_eq!(shown(&found), "within=0..3+ n=1..2");
}

#[test]
fn the_first_of_ambiguous_arms_counts_in_recursive_rules_too() {
    // e ::= @add(e "+" e) | @mul(e "*" e) | "1", either arm first.
    for add_is_first in [true, false] {
        let mut builder = GrammarBuilder::new();
        let [root, e] = ["root", "e"].map(|name| builder.declare(name));
        let again = builder.rule(e);
        let [plus, times, one] = ["+", "*", "1"].map(|text| builder.bytes(text));
        let [add, mul] = [("add", plus), ("mul", times)].map(|(name, sign)| {
            let both = builder.sequence([again, sign, again]);
            builder.capture(name, both)
        });
        let arms = if add_is_first {
            [add, mul, one]
        } else {
            [mul, add, one]
        };
        let body = builder.choice(arms);
        builder.define(e, body);
        builder.define(root, again);
        let constraint = compile(builder.finish(root, JsonForm::generate()));
        let found = behind(&constraint, "1+1*1").captures_at_end().unwrap();
        let expected = if add_is_first {
            "add=0..5 mul=2..5"
        } else {
            "mul=0..5 add=0..3"
        };
        assert_eq!(shown(&found.unwrap()), expected);
        let found = behind(&constraint, "1+1+1").captures_at_end().unwrap();
        assert_eq!(shown(&found.unwrap()), "add=0..5 add=0..3");
    }
}

#[test]
fn values_and_special_tokens_stand_beside_captures() {
    let constraint = compile(grammar(|builder| {
        let value = any_value(builder);
        let token = builder.expr(Expr::Token(TokenTerminal::Name("<eos>".into())));
        let first = builder.capture("value", value);
        let second = builder.capture("after", value);
        builder.sequence([first, token, second])
    }));
    let mut matcher = behind(&constraint, "{\"a\":[1]}");
    matcher.accept_token(constraint.eos()[0]).unwrap();
    assert_eq!(shown(&matcher.captures().unwrap()), "value=0..9");
    for byte in b"true" {
        matcher.accept_token(TokenId(u32::from(*byte))).unwrap();
    }
    assert_eq!(
        shown(&matcher.captures().unwrap()),
        "value=0..9 after=9..13"
    );
}

#[test]
fn what_is_not_looked_for_is_refused() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let text = builder.bytes("1");
    let named = builder.capture("inside", text);
    let body = builder.expr(Expr::Object(Box::new(ObjectShape {
        properties: vec![Property {
            key: "a".into(),
            value: Slot::of(named),
            ..Property::default()
        }],
        ..ObjectShape::default()
    })));
    builder.define(root, body);
    let grammar = builder.finish(root, JsonForm::generate());
    let error = Program::new(grammar, Limits::default()).unwrap_err();
    assert!(matches!(error, ProgramError::CaptureInShape { name } if name == "inside"));
}

#[test]
fn tokens_that_are_named_are_read_as_such_or_by_their_text() {
    // The token "ab", or an "a" and then anything; the first arm that fits counts.
    let tables = vocabulary();
    let ab = { tables.vocabulary().tokens() }
        .find(|&(_, bytes)| bytes == b"ab")
        .map(|(id, _)| id)
        .unwrap();
    let constraint = compile(grammar(|builder| {
        let token = builder.expr(Expr::Token(TokenTerminal::Id(ab.0)));
        let a = builder.bytes("a");
        let letter = class(builder, 'a', 'z');
        let letters = builder.repeat(letter, 1, None);
        let text = builder.sequence([a, letters]);
        let arms = [
            builder.capture("token", token),
            builder.capture("text", text),
        ];
        let either = builder.choice(arms);
        let mark = builder.bytes("!");
        builder.sequence([either, mark])
    }));
    let mut matcher = constraint.matcher();
    matcher.accept_token(ab).unwrap();
    assert_eq!(shown(&matcher.captures().unwrap()), "text=0..2+");
    matcher.accept_token(TokenId(u32::from(b'!'))).unwrap();
    assert_eq!(shown(&matcher.captures().unwrap()), "token=0..2");
    let found = behind(&constraint, "ab!").captures().unwrap();
    assert_eq!(shown(&found), "text=0..2");
}

#[test]
fn long_texts_are_read_and_what_takes_too_long_is_an_error() {
    let constraint = compile(grammar(pairs));
    let text = "a=1;".repeat(2_000) + "a=1";
    let found = behind(&constraint, &text).captures().unwrap();
    assert_eq!(found.len(), 3 * 2_001);
    // Where rounds are of any length, every part of the text may be one.
    let constraint = compile(grammar(|builder| {
        let letter = class(builder, 'a', 'z');
        let word = builder.repeat(letter, 1, None);
        let word = builder.capture("word", word);
        let words = builder.repeat(word, 1, None);
        let mark = builder.bytes("!");
        builder.sequence([words, mark])
    }));
    let found = behind(&constraint, "abc").captures().unwrap();
    assert_eq!(shown(&found), "word=0..3+");
    let error = behind(&constraint, &"a".repeat(8_000))
        .captures()
        .unwrap_err();
    assert!(error.to_string().contains("captures"), "{error}");
}

#[test]
fn captures_survive_the_constraint_s_file() {
    let constraint = compile(grammar(pairs));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs");
    constraint.save(&path).unwrap();
    let options = ConstraintOptions {
        eos: constraint.eos().to_vec(),
        ..ConstraintOptions::default()
    };
    let loaded = CompiledConstraint::load(&vocabulary(), &options, &path).unwrap();
    let found = behind(&loaded, "ab=1").captures().unwrap();
    assert_eq!(shown(&found), "pair=0..4+ key=0..2 value=3..4+");
}

/// How a random expression is made.
#[derive(Clone, Debug)]
enum Shape {
    Text(&'static str),
    Rule(usize),
    Sequence(Vec<Shape>),
    Choice(Vec<Shape>),
    Repeat(Box<Shape>, u32, Option<u32>),
    Capture(&'static str, Box<Shape>),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["", "a", "b", "ab", "ba"]).prop_map(Shape::Text),
        1 => (0..2_usize).prop_map(Shape::Rule),
    ];
    leaf.prop_recursive(4, 14, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => some().prop_map(Shape::Sequence),
            2 => some().prop_map(Shape::Choice),
            1 => (inner.clone(), 0..2_u32, prop::option::of(1..3_u32)).prop_map(|(body, min, more)| {
                Shape::Repeat(Box::new(body), min, more.map(|more| min + more))
            }),
            3 => (prop::sample::select(vec!["x", "y"]), inner)
                .prop_map(|(name, body)| Shape::Capture(name, Box::new(body))),
        ]
    })
}

fn build(builder: &mut GrammarBuilder, rules: &[RuleId], shape: &Shape) -> ExprId {
    let all = |builder: &mut GrammarBuilder, shapes: &[Shape]| -> Vec<ExprId> {
        { shapes.iter() }
            .map(|shape| build(builder, rules, shape))
            .collect()
    };
    match shape {
        Shape::Text(text) => builder.bytes(text),
        Shape::Rule(rule) => builder.rule(rules[*rule]),
        Shape::Sequence(parts) => {
            let parts = all(builder, parts);
            builder.sequence(parts)
        }
        Shape::Choice(arms) => {
            let arms = all(builder, arms);
            builder.choice(arms)
        }
        Shape::Repeat(body, min, max) => {
            let body = build(builder, rules, body);
            builder.repeat(body, *min, *max)
        }
        Shape::Capture(name, body) => {
            let body = build(builder, rules, body);
            builder.capture(*name, body)
        }
    }
}

/// Spans in the order in which they begin.
type Reading = Vec<(String, usize, usize)>;

/// All ways of reading the text from a place on, with where they end; none comes back to a rule over the same bytes.
fn readings(
    shapes: &[Shape],
    shape: &Shape,
    text: &str,
    from: usize,
    within: &[(usize, usize)],
) -> BTreeSet<(usize, Reading)> {
    match shape {
        Shape::Text(own) => {
            text[from..]
                .starts_with(own)
                .then(|| (from + own.len(), vec![]))
        }
        .into_iter()
        .collect(),
        Shape::Rule(rule) => {
            // Every rule once per place, and twice where it may be left recursive.
            if within.iter().filter(|&&at| at == (*rule, from)).count() > text.len() {
                return BTreeSet::new();
            }
            let within = [within, &[(*rule, from)]].concat();
            readings(shapes, &shapes[*rule], text, from, &within)
        }
        Shape::Sequence(parts) => {
            let mut found = BTreeSet::from([(from, Reading::new())]);
            for part in parts {
                found = { found.into_iter() }
                    .flat_map(|(at, before)| {
                        let behind = readings(shapes, part, text, at, within);
                        { behind.into_iter() }
                            .map(move |(end, behind)| (end, [before.clone(), behind].concat()))
                    })
                    .collect();
            }
            found
        }
        Shape::Choice(arms) => { arms.iter() }
            .flat_map(|arm| readings(shapes, arm, text, from, within))
            .collect(),
        Shape::Repeat(body, min, max) => {
            let mut found = BTreeSet::new();
            let mut round = BTreeSet::from([(from, Reading::new())]);
            for rounds in 0..=max.unwrap_or(u32::MAX).min(*min + text.len() as u32 + 1) {
                if rounds >= *min {
                    found.extend(round.iter().cloned());
                }
                round = { round.into_iter() }
                    .flat_map(|(at, before)| {
                        let behind = readings(shapes, body, text, at, within);
                        { behind.into_iter() }
                            .filter(move |&(end, _)| end > at || rounds < *min)
                            .map(move |(end, behind)| (end, [before.clone(), behind].concat()))
                    })
                    .collect();
            }
            found
        }
        Shape::Capture(name, body) => { readings(shapes, body, text, from, within).into_iter() }
            .map(|(end, inner)| {
                let own = vec![((*name).to_owned(), from, end)];
                (end, [own, inner].concat())
            })
            .collect(),
    }
}

fn reading(captures: &[CaptureSpan]) -> Reading {
    { captures.iter() }
        .map(|capture| {
            (
                capture.name.to_string(),
                capture.span.start,
                capture.span.end,
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Where a text can be read in one way, that is the way; else it is one of them, and always the same.
    #[test]
    fn random_grammars_are_read_as_a_brute_force_parser_reads_them(
        shapes in [shapes(), shapes()],
        texts in prop::collection::vec("[ab]{0,4}", 6),
    ) {
        let mut builder = GrammarBuilder::new();
        let rules = ["root", "other"].map(|name| builder.declare(name));
        for (rule, shape) in rules.iter().zip(&shapes) {
            let body = build(&mut builder, &rules, shape);
            builder.define(*rule, body);
        }
        let grammar = builder.finish(rules[0], JsonForm::generate());
        let Ok(program) = Program::new(grammar, Limits::default()) else {
            return Ok(());
        };
        let Some(captures) = program.captures() else {
            return Ok(());
        };
        for text in &texts {
            let pieces = [CapturePiece::text(text.as_bytes())];
            let found = captures.find(&pieces, &[], true).unwrap();
            let ways: BTreeSet<Reading> = { readings(&shapes, &Shape::Rule(0), text, 0, &[]).into_iter() }
                .filter(|(end, _)| *end == text.len())
                .map(|(_, reading)| reading)
                .collect();
            match found {
                None => prop_assert!(ways.is_empty(), "{text:?} has {ways:?}"),
                Some(found) => {
                    prop_assert!(ways.contains(&reading(&found)), "{text:?}: {found:?} is not in {ways:?}");
                    let again = captures.find(&pieces, &[], true).unwrap().unwrap();
                    prop_assert_eq!(found, again);
                }
            }
        }
    }
}
