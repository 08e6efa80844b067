//! Captures, compared with all ways of reading an output.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{any_value, compile, json, vocabulary, walk_and_compare};
use proptest::prelude::*;
use structgen_automata::{CapturePiece, CaptureProgram, Limits, Program, ProgramError};
use structgen_constraint::{CaptureSpan, CompiledConstraint, ConstraintOptions, Matcher};
use structgen_grammar::{
    CharSet, Expr, ExprId, Grammar, GrammarBuilder, JsonForm, ObjectShape, Property, Regular,
    RuleId, Slot, TokenTerminal,
};
use structgen_vocab::TokenId;

fn grammar(build: impl Fn(&mut GrammarBuilder) -> ExprId) -> Grammar {
    json(build, JsonForm::generate())
}

fn class(builder: &mut GrammarBuilder, low: char, high: char) -> ExprId {
    let set = CharSet::new([(low, high)]);
    builder.expr(Expr::Regular(Regular::Chars(set)))
}

/// A matcher after a text, byte by byte.
fn behind(constraint: &CompiledConstraint, text: &str) -> Matcher {
    let mut matcher = constraint.matcher();
    for byte in text.bytes() {
        matcher.accept_token(TokenId(byte.into())).unwrap();
    }
    matcher
}

/// Captures as `name=start..end`, with a `+` if they are open.
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
    // Each part takes what it can, and the first of equal alternatives counts.
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
    // e ::= @add(e "+" e) | @mul(e "*" e) | "1", with either alternative first.
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
fn parts_that_have_the_empty_text_only_do_not_go_on() {
    let mut builder = GrammarBuilder::new();
    let [root, nothing] = ["root", "nothing"].map(|name| builder.declare(name));
    let empty = builder.bytes("");
    builder.define(nothing, empty);
    let never = builder.rule(nothing);
    let nevers = builder.repeat(never, 0, None);
    let a = builder.bytes("a");
    let named = builder.capture("x", nevers);
    let body = builder.sequence([a, named]);
    builder.define(root, body);
    let constraint = compile(builder.finish(root, JsonForm::generate()));
    let matcher = behind(&constraint, "a");
    assert!(matcher.is_finished());
    assert_eq!(shown(&matcher.captures().unwrap()), "x=1..1");
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
    let error = CaptureProgram::new(&grammar, &Limits::default()).unwrap_err();
    assert!(matches!(error, ProgramError::CaptureInShape { name } if name == "inside"));
}

#[test]
fn tokens_that_are_named_are_read_as_such_or_by_their_text() {
    // The token "ab", or an "a" and then anything; the first alternative that matches counts.
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
    for is_left in [true, false] {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let again = builder.rule(root);
        let word = builder.bytes("a,");
        let word = builder.capture("word", word);
        let order = if is_left {
            [again, word]
        } else {
            [word, again]
        };
        let longer = builder.sequence(order);
        let body = builder.choice([longer, word]);
        builder.define(root, body);
        let grammar = builder.finish(root, JsonForm::generate());
        let captures = CaptureProgram::new(&grammar, &Limits::default());
        let text = "a,".repeat(50_000);
        let pieces = [CapturePiece::text(text.as_bytes())];
        let found = captures.unwrap().unwrap().find(&pieces, &[], true);
        assert_eq!(found.unwrap().unwrap().len(), 50_000);
    }
    // If rounds may have any length, every part of the text may be one.
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

/// A name, its start and its end; the end is beyond the text if the part is open.
type Part = (String, usize, Option<usize>);

/// Reads texts by the definition of captures: tries every way, the preferred one first.
struct Reader<'g> {
    grammar: &'g Grammar,
    text: &'g str,
    has_text: BTreeSet<ExprId>,
    known: BTreeMap<(ExprId, Rest, Span, Busy), Option<Vec<Part>>>,
}

/// Start and end; the end is beyond the text if the part is open.
type Span = (usize, Option<usize>);

/// The rules that are being read over the same span.
type Busy = BTreeSet<RuleId>;

/// The number of parts of a sequence that are done, or the minimum and maximum number of rounds that a repetition has
/// left.
type Rest = (u32, Option<u32>);

impl<'g> Reader<'g> {
    fn new(grammar: &'g Grammar, text: &'g str) -> Self {
        let mut has_text = BTreeSet::new();
        let ids = || (0..).map(ExprId).zip(grammar.exprs());
        // Each round finds at least one.
        for _ in grammar.exprs() {
            let found = ids().filter(|(_, expr)| match expr {
                Expr::Never => false,
                Expr::Choice(arms) => arms.iter().any(|arm| has_text.contains(arm)),
                Expr::Repeat { min: 0, .. } => true,
                Expr::Rule(rule) => has_text.contains(&grammar.rule(*rule).body),
                expr => expr.children().all(|child| has_text.contains(&child)),
            });
            let found: Vec<ExprId> = found.map(|(id, _)| id).collect();
            has_text.extend(found);
        }
        Self {
            grammar,
            text,
            has_text,
            known: BTreeMap::new(),
        }
    }

    /// Returns the reading that counts.
    fn root(&mut self, is_complete: bool) -> Option<Vec<Part>> {
        let root = self.grammar.root();
        let span = (0, is_complete.then_some(self.text.len()));
        self.read(self.grammar.rule(root).body, span, &Busy::from([root]))
    }

    fn read(&mut self, id: ExprId, span: Span, busy: &Busy) -> Option<Vec<Part>> {
        if !self.has_text.contains(&id) {
            return None;
        }
        let rest = match *self.grammar.expr(id) {
            Expr::Repeat { min, max, .. } => (min, max),
            _ => (0, None),
        };
        self.read_rest(id, rest, span, busy)
    }

    fn read_rest(&mut self, id: ExprId, rest: Rest, span: Span, busy: &Busy) -> Option<Vec<Part>> {
        let key = (id, rest, span, busy.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let grammar = self.grammar;
        let read = match grammar.expr(id) {
            Expr::Empty => (span.1 == Some(span.0)).then(Vec::new),
            Expr::Bytes(own) => {
                let text = &self.text.as_bytes()[span.0..];
                let fits = match span.1 {
                    Some(end) => own[..] == text[..end - span.0],
                    None => own.starts_with(text) && own.len() > text.len(),
                };
                fits.then(Vec::new)
            }
            Expr::Choice(arms) => { arms.iter() }.find_map(|&arm| self.read(arm, span, busy)),
            Expr::Rule(rule) => {
                let mut within = busy.clone();
                let body = grammar.rule(*rule).body;
                within
                    .insert(*rule)
                    .then(|| self.read(body, span, &within))
                    .flatten()
            }
            Expr::Capture { name, body } => self.read(*body, span, busy).map(|inner| {
                let own = (name.to_string(), span.0, span.1);
                [vec![own], inner].concat()
            }),
            Expr::Sequence(parts) => match parts.get(rest.0 as usize) {
                Some(&part) => self.read_two(part, 0, (id, (rest.0 + 1, None)), span, busy),
                None => (span.1 == Some(span.0)).then(Vec::new),
            },
            Expr::Repeat { body, .. } => {
                let (min, max) = rest;
                if min == 0 && span.1 == Some(span.0) {
                    Some(Vec::new())
                } else if max == Some(0) {
                    None
                } else {
                    let left = (min.saturating_sub(1), max.map(|max| max - 1));
                    self.read_two(*body, usize::from(min == 0), (id, left), span, busy)
                }
            }
            _ => unreachable!(),
        };
        self.known.insert(key, read.clone());
        read
    }

    /// A part of at least this many bytes, as long as possible, and what follows it.
    fn read_two(
        &mut self,
        part: ExprId,
        fewest: usize,
        (id, rest): (ExprId, Rest),
        span: Span,
        busy: &Busy,
    ) -> Option<Vec<Part>> {
        let within = |inner: Span| match inner == span {
            true => busy.clone(),
            false => Busy::new(),
        };
        if span.1.is_none()
            && let Some(read) = self.read(part, span, busy)
        {
            return Some(read);
        }
        let last = span.1.unwrap_or(self.text.len());
        (span.0 + fewest..=last).rev().find_map(|end| {
            let [first, second] = [(span.0, Some(end)), (end, span.1)];
            let part = self.read(part, first, &within(first))?;
            let behind = self.read_rest(id, rest, second, &within(second))?;
            Some([part, behind].concat())
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The reading that the definition prefers, of all ways of reading a text or the beginning of one.
    #[test]
    fn random_grammars_are_read_as_a_parser_reads_them_that_tries_every_way(
        shapes in [shapes(), shapes()],
        texts in prop::collection::vec("[ab]{0,6}", 6),
    ) {
        let mut builder = GrammarBuilder::new();
        let rules = ["root", "other"].map(|name| builder.declare(name));
        for (rule, shape) in rules.iter().zip(&shapes) {
            let body = build(&mut builder, &rules, shape);
            builder.define(*rule, body);
        }
        let grammar = builder.finish(rules[0], JsonForm::generate());
        let Ok(Some(captures)) = CaptureProgram::new(&grammar, &Limits::default()) else {
            return Ok(());
        };
        if Program::new(grammar.clone(), Limits::default()).is_err() {
            return Ok(());
        }
        for (text, is_complete) in texts.iter().flat_map(|text| [(text, true), (text, false)]) {
            let pieces = [CapturePiece::text(text.as_bytes())];
            let found = captures.find(&pieces, &[], is_complete).unwrap();
            let found = found.map(|found| shown(&found));
            let expected = Reader::new(&grammar, text).root(is_complete).map(|parts| {
                // A part that is about to begin does not count yet.
                let parts = parts.into_iter().filter(|&(_, start, end)| end.is_some() || start < text.len());
                let spans = parts.map(|(name, start, end)| CaptureSpan {
                    name: name.into(),
                    span: start..end.unwrap_or(text.len()),
                    is_open: end.is_none(),
                });
                shown(&spans.collect::<Vec<_>>())
            });
            prop_assert_eq!(found, expected, "{:?}, complete: {}", text, is_complete);
        }
    }
}
