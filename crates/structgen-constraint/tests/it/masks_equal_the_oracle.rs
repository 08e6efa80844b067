//! The fast path compared with the naive oracle, in every state that random walks reach.

use crate::support::{
    any_value, compile, compile_with, compile_with_long_tokens, json, vocabulary, vocabulary_with,
    walk_and_compare,
};
use structgen_constraint::{CompiledConstraint, ConstraintOptions, oracle};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_grammar::{
    ArrayShape, CharSet, Decimal, Expr, Grammar, GrammarBuilder, JsonForm, NumberBound, NumberSet,
    ObjectShape, Property, Regular, Slot, StringContent, StringShape, TokenTerminal,
};
use structgen_vocab::TokenId;

fn person(builder: &mut GrammarBuilder, open: bool, ordered: u32) -> structgen_grammar::ExprId {
    let name = builder.expr(Expr::String(StringShape {
        min_length: 2,
        max_length: Some(5),
        ..StringShape::default()
    }));
    let bound = |value| {
        Some(NumberBound {
            value: Decimal::from(value),
            exclusive: false,
        })
    };
    let age = builder.expr(Expr::Number(NumberSet {
        lower: bound(7),
        upper: bound(120),
        ..NumberSet::integers()
    }));
    let words = ["a", "ab", "b\"", "日"].map(Box::from);
    let kind = builder.expr(Expr::String(StringShape {
        content: StringContent::Literals(words.into()),
        ..StringShape::default()
    }));
    let tags = builder.expr(Expr::Array(Box::new(ArrayShape {
        rest: Some(Slot::of(kind)),
        min_items: 1,
        max_items: Some(3),
        prefix: vec![Slot::of(age)],
        ..ArrayShape::default()
    })));
    let code = builder.expr(Expr::String(StringShape {
        content: StringContent::Regular(Regular::repeat(
            Regular::Chars(CharSet::new([('a', 'c'), ('日', '日'), ('\0', '\u{2}')])),
            1,
            None,
        )),
        ..StringShape::default()
    }));
    let additional = open.then(|| Slot::of(any_value(builder)));
    let property = |key: &str, value, required| Property {
        key: key.into(),
        value: Slot::of(value),
        required,
        ..Property::default()
    };
    let properties = vec![
        property("name", name, true),
        property("a", age, false),
        property("ab", tags, true),
        property("q\"x", code, false),
    ];
    builder.expr(Expr::Object(Box::new(ObjectShape {
        properties,
        ordered,
        additional,
        ..ObjectShape::default()
    })))
}

fn forms() -> [JsonForm; 2] {
    // Small enough for the f64 of the parser that reads the result.
    let mut exact = JsonForm::exact();
    exact.numbers.exponent_digits = 2;
    [exact, JsonForm::generate()]
}

#[test]
fn objects_closed_and_open_in_every_form() {
    // All keys ordered, none, and only the first two.
    for (open, ordered) in [false, true]
        .into_iter()
        .flat_map(|open| [(open, 4), (open, 0), (open, 2)])
    {
        for form in forms() {
            let constraint = compile(json(|builder| person(builder, open, ordered), form));
            for seed in 0..5 {
                let text = walk_and_compare(&constraint, seed, 40);
                let value: serde_json::Value = serde_json::from_slice(&text)
                    .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)));
                let object = value.as_object().unwrap();
                assert!(object.contains_key("name") && object.contains_key("ab"));
                assert!((2..=5).contains(&object["name"].as_str().unwrap().chars().count()));
            }
        }
    }
}

#[test]
fn any_json_in_every_form() {
    for form in forms() {
        let constraint = compile(json(any_value, form));
        for seed in 0..8 {
            let text = walk_and_compare(&constraint, seed, 30);
            serde_json::from_slice::<serde_json::Value>(&text)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)));
        }
    }
}

#[test]
fn nesting_stays_within_its_limit() {
    let form = JsonForm {
        max_depth: 3,
        ..JsonForm::generate()
    };
    let constraint = compile(json(any_value, form));
    let mut matcher = constraint.matcher();
    assert!(matcher.check_text(b"[[[1]]]").unwrap().is_none());
    let refusal = matcher.check_text(b"[[[[1]]]]").unwrap().unwrap();
    assert_eq!(refusal.offset, 3);
    for seed in 0..8 {
        walk_and_compare(&constraint, seed, 20);
    }
}

#[test]
fn a_key_repeated_within_one_token_is_seen() {
    for form in forms().into_iter().chain([JsonForm {
        max_depth: 3,
        ..JsonForm::generate()
    }]) {
        let constraint = compile(json(any_value, form));
        for text in ["{\"", "[[{\"_", "{\"_", "[[{\"a\":1,\"", "[[{\"b"] {
            let mut matcher = constraint.matcher();
            for byte in text.bytes() {
                matcher.accept_token(TokenId(u32::from(byte))).unwrap();
            }
            let mask = matcher.mask().unwrap();
            assert_eq!(mask.bits(), &oracle::mask(&matcher).unwrap(), "{text}");
        }
    }
}

/// Tokens that end with a key or an item which they also begin with: the repeated one is the last of their bytes.
#[test]
fn what_is_repeated_at_the_end_of_a_token_is_seen() {
    let longer = [
        "a\":1,\"a\"",
        "a\":1,\"b\"",
        "\":1,\"a\"",
        "\"a\":1,\"a\"",
        "{\"a\":1,\"a\"",
        "{\"a\":1,\"a",
        "[{\"a\":1,\"a\"",
        ",\"a\"",
        "\"a\",\"a\"",
        "a\",\"a\"",
        "\",\"a\"",
        "1,1",
        "[1,1",
        "[\"a\",\"a\"",
        "true,true",
    ];
    let distinct = |builder: &mut GrammarBuilder| {
        let value = any_value(builder);
        builder.expr(Expr::Array(Box::new(ArrayShape {
            rest: Some(Slot::of(value)),
            unique: true,
            ..ArrayShape::default()
        })))
    };
    let texts = [
        "",
        "[",
        "{",
        "{\"",
        "{\"a",
        "{\"b\":1,",
        "{\"b\":1,\"",
        "{\"a\":1,",
        "{\"a\":1,\"",
        "[{",
        "[1,",
        "[\"",
        "[\"a",
        "[\"b\",\"",
        "[\"a\",",
        "[true,",
        "[[1],",
    ];
    let tables = vocabulary_with(&longer);
    for form in forms() {
        for grammar in [json(any_value, form.clone()), json(distinct, form)] {
            let constraint = compile_with(grammar, &tables);
            for text in texts {
                let mut matcher = constraint.matcher();
                let mut bytes = text.bytes();
                if bytes.any(|byte| matcher.accept_token(TokenId(u32::from(byte))).is_err()) {
                    continue;
                }
                let mask = matcher.mask().unwrap();
                assert_eq!(mask.bits(), &oracle::mask(&matcher).unwrap(), "{text}");
            }
        }
    }
}

/// At most this many words and one more.
fn few_words(count: u32) -> Regular {
    let spaces = [(' ', ' '), ('\u{3000}', '\u{3000}')];
    let others = [('\0', '\u{1F}'), ('"', '"'), ('\\', '\\')];
    let word = CharSet::new(spaces.into_iter().chain(others)).complement();
    let space = CharSet::new(spaces);
    let word = || Regular::repeat(Regular::Chars(word.clone()), 1, None);
    let spaces = Regular::repeat(Regular::Chars(space), 1, None);
    Regular::concat([
        Regular::repeat(Regular::concat([word(), spaces]), 0, Some(count)),
        word(),
    ])
}

/// Letters, digits, spaces and dots, and ranges of them in order, as in the classes of patterns.
fn ranges() -> Regular {
    let groups = [('0', '9'), ('A', 'Z'), ('a', 'z')];
    let single = groups.into_iter().chain([(' ', ' '), ('.', '.')]);
    let ranges = groups.into_iter().flat_map(|(first, last)| {
        (first..=last).flat_map(move |low| {
            (low..=last).map(move |high| Regular::literal(&format!("{low}-{high}")))
        })
    });
    let single = Regular::Chars(CharSet::new(single));
    Regular::repeat(Regular::union(ranges.chain([single])), 0, None)
}

/// Texts continue beyond the known span of a state: after other characters than it begins with, or after more.
#[test]
fn texts_longer_than_a_known_stretch_are_taken() {
    let chars = |ranges: &[(char, char)]| Regular::Chars(CharSet::new(ranges.iter().copied()));
    let letters = || chars(&[('a', 'z')]);
    // Here a dot may be one of the first characters, but ends the letters after them.
    let wide = chars(&[('a', 'z'), ('.', '.'), ('@', '@')]);
    let tail = Regular::repeat(Regular::concat([Regular::literal("."), letters()]), 0, None);
    let sets = [
        Regular::concat([wide, Regular::repeat(letters(), 0, None), tail]),
        Regular::repeat(letters(), 3, Some(40)),
        Regular::concat([
            Regular::repeat(letters(), 18, Some(18)),
            Regular::repeat(chars(&[('0', '9')]), 0, Some(3)),
        ]),
        // Several states that continue under the same characters.
        Regular::concat([
            Regular::repeat(
                Regular::concat([
                    Regular::repeat(letters(), 1, None),
                    Regular::repeat(chars(&[(' ', ' ')]), 1, None),
                ]),
                0,
                Some(99),
            ),
            Regular::repeat(chars(&[('a', 'z'), ('é', '日')]), 1, None),
        ]),
        Regular::concat([
            Regular::repeat(chars(&[('a', 'z'), ('.', '.')]), 1, None),
            Regular::literal("."),
            Regular::repeat(chars(&[('a', 'z'), ('.', '.')]), 2, Some(6)),
        ]),
        Regular::concat([
            letters(),
            Regular::repeat(chars(&[('a', 'j'), (' ', ' ')]), 0, Some(19)),
        ]),
        // All text continues for some words, and the letters of one word without a limit; a wide space is one of the
        // non-ASCII characters.
        few_words(2),
        few_words(6),
        // Two such sets, each with a state for every letter; a `!` leads from the start of one to the other.
        Regular::concat([
            Regular::literal("["),
            Regular::union([
                Regular::concat([Regular::literal("!"), ranges(), Regular::literal("}")]),
                Regular::concat([ranges(), Regular::literal("]")]),
            ]),
            Regular::repeat(letters(), 0, None),
        ]),
    ];
    let many = |bounds: &[(u32, u32)]| -> Vec<Regular> {
        let counted = bounds
            .iter()
            .map(|&(min, max)| Regular::repeat(letters(), min, Some(max)));
        counted.collect()
    };
    for set in sets
        .into_iter()
        .chain(many(&[(0, 35), (0, 60), (20, 60), (50, 90)]))
    {
        let bare = Expr::Regular(set.clone());
        let string = Expr::String(StringShape {
            content: StringContent::Regular(set),
            ..StringShape::default()
        });
        for (expr, form) in [&bare, &string].into_iter().zip(forms()) {
            let constraint =
                compile_with_long_tokens(json(|builder| builder.expr(expr.clone()), form));
            for seed in 0..2 {
                walk_and_compare(&constraint, seed, 40);
            }
        }
    }
}

/// The characters left in a string matter to no short token, but to some longer ones.
#[test]
fn strings_far_from_their_bounds_take_what_fits() {
    for (min, max) in [
        (0, Some(18)),
        (0, Some(45)),
        (22, None),
        (30, Some(70)),
        (5, Some(25)),
    ] {
        for form in forms() {
            let build = |builder: &mut GrammarBuilder| {
                let text = builder.expr(Expr::String(StringShape {
                    min_length: min,
                    max_length: max,
                    ..StringShape::default()
                }));
                builder.expr(Expr::Array(Box::new(ArrayShape {
                    rest: Some(Slot::of(text)),
                    min_items: 1,
                    max_items: Some(3),
                    ..ArrayShape::default()
                })))
            };
            let constraint = compile_with_long_tokens(json(build, form));
            for seed in 0..2 {
                walk_and_compare(&constraint, seed, 30);
            }
        }
    }
}

#[test]
fn many_listed_numbers_are_one_terminal() {
    let numbers = ["-7", "0", "0.5", "120", "1200", "99999999999999999999"];
    let numbers = numbers.map(|text| text.parse::<Decimal>().unwrap());
    for form in forms() {
        let build = |builder: &mut GrammarBuilder| {
            let many = (100..160).map(|i| Decimal::from(i * 7));
            let points = many.chain(numbers.clone()).map(NumberSet::point);
            let mut arms: Vec<_> = points.map(|set| builder.expr(Expr::Number(set))).collect();
            arms.push(builder.bytes("null"));
            let item = builder.choice(arms);
            builder.expr(Expr::Array(Box::new(ArrayShape {
                rest: Some(Slot::of(item)),
                unique: true,
                ..ArrayShape::default()
            })))
        };
        let constraint = compile(json(build, form));
        assert!(constraint.statistics().nodes < 20);
        for seed in 0..5 {
            walk_and_compare(&constraint, seed, 30);
        }
    }
}

/// A regular set may have several equivalent last states; each of them is its end.
#[test]
fn an_output_that_cannot_go_on_is_finished() {
    let word = |text: &str| Regular::literal(text);
    let short = Regular::repeat(Regular::Chars(CharSet::all()), 0, Some(2));
    let sets = [
        Regular::union([word("ab"), word("b")]),
        Regular::Intersection([Regular::union([word("ab"), word("abc")]), short].into()),
    ];
    for set in sets {
        let constraint = compile(json(
            |builder| builder.expr(Expr::Regular(set.clone())),
            JsonForm::generate(),
        ));
        let mut matcher = constraint.matcher();
        for (byte, is_finished) in [(b'a', false), (b'b', true)] {
            matcher.accept_token(TokenId(u32::from(byte))).unwrap();
            assert_eq!(matcher.is_finished(), is_finished);
        }
        assert_eq!(matcher.mask().unwrap().list(), Some(constraint.eos()));
    }
}

#[test]
fn a_token_beyond_the_vocabulary_is_refused() {
    let tables = vocabulary();
    let len = tables.vocabulary().len() as u32;
    for (id, is_there) in [(len - 1, true), (len, false), (u32::MAX, false)] {
        let token = TokenTerminal::Id(id);
        let grammar = json(
            |builder| builder.expr(Expr::Token(token.clone())),
            JsonForm::generate(),
        );
        let compiled = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default());
        assert_eq!(compiled.is_ok(), is_there, "{id} of {len}");
    }
}

#[test]
fn nesting_is_only_memory() {
    let constraint = compile(json(any_value, JsonForm::exact()));
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let limit = JsonForm::exact().max_depth as usize;
    let mut matcher = constraint.matcher();
    assert_eq!(matcher.check_text(deep(limit).as_bytes()).unwrap(), None);
    let refusal = matcher.check_text(deep(limit + 1).as_bytes()).unwrap();
    assert_eq!(refusal.unwrap().offset, limit);
    for byte in "[{\"a\":".repeat(20_000).bytes() {
        matcher.accept_token(TokenId(u32::from(byte))).unwrap();
    }
    assert_eq!(matcher.completion_cost().unwrap(), 40_000 + 1);
    assert!(matcher.mask().unwrap().count() > 0);
}

/// `e ::= e "+" t | t`, `t ::= "(" e ")" | "1"`: left recursion.
fn sums() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let (e, t) = (builder.declare("e"), builder.declare("t"));
    let (e_ref, t_ref) = (builder.rule(e), builder.rule(t));
    let [plus, open, close, one] = ["+", "(", ")", "1"].map(|text| builder.bytes(text));
    let sum = builder.sequence([e_ref, plus, t_ref]);
    let body = builder.choice([sum, t_ref]);
    builder.define(e, body);
    let group = builder.sequence([open, e_ref, close]);
    let body = builder.choice([group, one]);
    builder.define(t, body);
    builder.finish(e, JsonForm::generate())
}

#[test]
fn left_recursion_runs() {
    let constraint = compile(sums());
    let matcher = constraint.matcher();
    for text in ["1", "1+1", "(1)", "((1+1)+1)+1", "1+1+1+1+1+1"] {
        assert_eq!(
            matcher.clone().check_text(text.as_bytes()).unwrap(),
            None,
            "{text}"
        );
    }
    for text in ["", "+", "1+", "(1", "1)", "11"] {
        assert!(
            matcher
                .clone()
                .check_text(text.as_bytes())
                .unwrap()
                .is_some(),
            "{text}"
        );
    }
    for seed in 0..8 {
        walk_and_compare(&constraint, seed, 20);
    }
}

/// What follows a loop of digits begins with a quote, as the end of a JSON string does.
#[test]
fn a_quote_may_follow_a_number() {
    let grammar = r#"
        root ::= value "\""
        value ::= "[" value "]" | "1" ("e" [0-9]+)?
    "#;
    let grammar = gbnf::parse(grammar, &GbnfOptions::default()).unwrap();
    let constraint = compile(grammar);
    let mut matcher = constraint.matcher();
    for byte in *b"1e57\"" {
        let mask = matcher.mask().unwrap();
        assert_eq!(mask.bits(), &oracle::mask(&matcher).unwrap(), "{byte}");
        matcher.accept_token(TokenId(byte.into())).unwrap();
    }
    assert!(matcher.is_accepting());
    for seed in 0..8 {
        walk_and_compare(&constraint, seed, 20);
    }
}

/// `s ::= n s "b" | s s | "a" | ""`, `n ::= "" | "x"`: hidden left recursion, ambiguity and the empty text.
#[test]
fn hidden_left_recursion_and_ambiguity_run() {
    let mut builder = GrammarBuilder::new();
    let (s, n) = (builder.declare("s"), builder.declare("n"));
    let (s_ref, n_ref) = (builder.rule(s), builder.rule(n));
    let [a, b, x, empty] = ["a", "b", "x", ""].map(|text| builder.bytes(text));
    let body = builder.choice([empty, x]);
    builder.define(n, body);
    let one = builder.sequence([n_ref, s_ref, b]);
    let two = builder.sequence([s_ref, s_ref]);
    let body = builder.choice([one, two, a, empty]);
    builder.define(s, body);
    let constraint = compile(builder.finish(s, JsonForm::generate()));
    let matcher = constraint.matcher();
    for text in [
        "", "a", "b", "ab", "xb", "xab", "aab", "aaaa", "xxabb", "xbxbab", "abab",
    ] {
        assert_eq!(
            matcher.clone().check_text(text.as_bytes()).unwrap(),
            None,
            "{text}"
        );
    }
    for text in ["x", "xa", "xxb", "c"] {
        assert!(
            matcher
                .clone()
                .check_text(text.as_bytes())
                .unwrap()
                .is_some(),
            "{text}"
        );
    }
    for seed in 0..5 {
        walk_and_compare(&constraint, seed, 12);
    }
}

/// `((("a"*)*)+){2,3}` and a counted repetition of a rule.
#[test]
fn nullable_loops_and_counters_run() {
    let mut builder = GrammarBuilder::new();
    let (root, pair) = (builder.declare("root"), builder.declare("pair"));
    let [a, open, close] = ["a", "(", ")"].map(|text| builder.bytes(text));
    let stars = builder.repeat(a, 0, None);
    let stars = builder.repeat(stars, 0, None);
    let stars = builder.repeat(stars, 1, None);
    let stars = builder.repeat(stars, 2, Some(3));
    let pair_ref = builder.rule(pair);
    let inner = builder.repeat(pair_ref, 0, Some(2));
    let body = builder.sequence([open, inner, close]);
    builder.define(pair, body);
    let pairs = builder.repeat(pair_ref, 2, Some(300));
    let body = builder.sequence([stars, pairs]);
    builder.define(root, body);
    let constraint = compile(builder.finish(root, JsonForm::generate()));
    let matcher = constraint.matcher();
    for text in ["()()", "aaaa()()", "a(()())()()"] {
        assert_eq!(
            matcher.clone().check_text(text.as_bytes()).unwrap(),
            None,
            "{text}"
        );
    }
    for text in ["", "a", "()", "(()()())()", "aa"] {
        assert!(
            matcher
                .clone()
                .check_text(text.as_bytes())
                .unwrap()
                .is_some(),
            "{text}"
        );
    }
    for seed in 0..5 {
        walk_and_compare(&constraint, seed, 24);
    }
}

/// Stacks that differ in one frame per level: 2^n of them after n letters, in n frames.
#[test]
fn exponentially_many_stacks_share_their_frames() {
    let mut builder = GrammarBuilder::new();
    let x = builder.declare("x");
    let x_ref = builder.rule(x);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|text| builder.bytes(text));
    let one = builder.sequence([a, x_ref, b]);
    let two = builder.sequence([a, x_ref, c]);
    let body = builder.choice([one, two, d]);
    builder.define(x, body);
    let constraint = compile(builder.finish(x, JsonForm::generate()));
    let mut matcher = constraint.matcher();
    let text = "a".repeat(200) + "d" + &"bc".repeat(100);
    assert_eq!(matcher.check_text(text.as_bytes()).unwrap(), None);
    assert!(
        matcher
            .check_text(&text.as_bytes()[..300])
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_small_store_forgets_and_matchers_go_on() {
    let tables = vocabulary();
    let options = ConstraintOptions {
        state_bytes: 1,
        mask_bytes: 1,
        ..ConstraintOptions::default()
    };
    let grammar = json(|builder| person(builder, true, 0), JsonForm::exact());
    let small = CompiledConstraint::new(grammar.clone(), &tables, &options).unwrap();
    let large = CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default()).unwrap();
    let mut matchers = (small.matcher(), large.matcher());
    let text: String = (0..400)
        .map(|i| format!("\"key{i}\":[{i},{{}}],"))
        .collect();
    for byte in format!("{{{text}").bytes() {
        let token = TokenId(u32::from(byte));
        matchers.0.accept_token(token).unwrap();
        matchers.1.accept_token(token).unwrap();
    }
    assert_eq!(
        matchers.0.mask().unwrap().bits(),
        matchers.1.mask().unwrap().bits()
    );
    let repeated = b"\"key7\"".map(|byte| TokenId(u32::from(byte)));
    for (i, token) in repeated.into_iter().enumerate() {
        let expected = if i + 1 == repeated.len() {
            Err(())
        } else {
            Ok(())
        };
        assert_eq!(
            matchers.0.accept_token(token).map_err(|_| ()),
            expected,
            "no key comes twice"
        );
    }
}
