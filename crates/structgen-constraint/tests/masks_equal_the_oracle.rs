//! The fast path against the naive oracle, on every state that random walks meet.

use std::sync::Arc;

use structgen_constraint::{
    CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables, oracle,
};
use structgen_grammar::{
    ArrayShape, CharSet, Decimal, Expr, Grammar, GrammarBuilder, JsonForm, KeyOrder, NumberBound,
    NumberSet, ObjectShape, Property, Regular, StringContent, StringShape, TokenTerminal,
};
use structgen_vocab::{TokenId, Vocabulary};

/// All bytes, and tokens that cross the borders of everything JSON has.
fn vocabulary() -> Arc<VocabularyTables> {
    let longer = [
        "\":",
        "\": ",
        "\",",
        "\", \"",
        "{\"",
        "\"}",
        "}}",
        "]}",
        "[[",
        "],[",
        ",\"",
        "a\":",
        "a\":1,\"a\":",
        "\":1,\"",
        "b\":\"",
        "\":{\"a",
        "tr",
        "true",
        "false",
        "null",
        "10",
        "123",
        "0.",
        "1e",
        "e5",
        "-1",
        "\\u",
        "\\u00",
        "\\\"",
        "u0061",
        "\\n",
        "é",
        "日本",
        "日",
        "aa",
        "ab",
        "aaaa",
        " ",
        "  ",
        "\n",
        ": ",
        ", ",
        "\"a\":\"b\"",
        "\"a",
        "a\"",
        "foo",
        "bar",
        "\"foo\"",
        "x,y",
        "()",
        "((",
        "))",
        "+",
        "+1",
        "1+1",
    ];
    let partial: [&[u8]; 3] = [&[0xE6, 0x97], &[0x97, 0xA5], &[0xC3]];
    let tokens = (0..=255_u8)
        .map(|byte| vec![byte])
        .chain(longer.iter().map(|text| text.as_bytes().to_vec()))
        .chain(partial.iter().map(|bytes| bytes.to_vec()))
        .chain([b"<eos>".to_vec()]);
    let count = 256 + longer.len() + partial.len();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(TokenId(count as u32), "<eos>")]).unwrap();
    Arc::new(VocabularyTables::new(Arc::new(vocabulary)))
}

fn compile(grammar: Grammar) -> CompiledConstraint {
    let tables = vocabulary();
    let eos = tables.vocabulary().special_token("<eos>").unwrap();
    let options = ConstraintOptions {
        eos: vec![eos],
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar, &tables, &options).unwrap()
}

/// A generator good enough to pick a path (Steele, Lea and Flood, 2014).
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Walks at random and compares at every state: masks, acceptance token by token, and the promise of the completion cost.
fn walk_and_compare(constraint: &CompiledConstraint, seed: u64, budget: u64) -> Vec<u8> {
    let mut random = SplitMix(seed);
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    let budget = budget.max(matcher.completion_cost());
    for taken in 0..=budget {
        let mask = matcher.mask().unwrap();
        let naive = oracle::mask(&matcher).unwrap();
        let excess: Vec<TokenId> = mask
            .bits()
            .iter()
            .filter(|&token| !naive.contains(token))
            .collect();
        let missing: Vec<TokenId> = naive
            .iter()
            .filter(|&token| !mask.bits().contains(token))
            .collect();
        let shown = String::from_utf8_lossy(&text).into_owned();
        assert!(
            excess.is_empty() && missing.is_empty(),
            "after {shown:?}: excess {excess:?}, missing {missing:?}"
        );
        assert!(mask.count() > 0, "a dead end after {shown:?}");
        let left = budget - taken;
        assert!(matcher.completion_cost() <= left, "after {shown:?}");
        // Some token keeps within the budget, or the text may end.
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        let mut is_affordable =
            |token: TokenId| left > 0 && matcher.completion_cost_after(token).unwrap() < left;
        let drawn: Vec<TokenId> = (0..8).map(|_| tokens[random.below(tokens.len())]).collect();
        let token = drawn.into_iter().find(|&token| is_affordable(token));
        let Some(token) =
            token.or_else(|| tokens.iter().copied().find(|&token| is_affordable(token)))
        else {
            assert!(
                matcher.is_accepting(),
                "nothing affordable after {shown:?} with {left} left, cost {}",
                matcher.completion_cost()
            );
            return text;
        };
        let fork: Matcher = matcher.clone();
        matcher.accept_token(token).unwrap();
        if matcher.is_finished() && constraint.eos().contains(&token) {
            return text;
        }
        text.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap());
        // Taking a step back gives the same mask.
        let mut back = matcher.clone();
        back.rollback(1).unwrap();
        assert_eq!(
            back.mask().unwrap().bits(),
            fork.clone().mask().unwrap().bits()
        );
    }
    assert!(
        matcher.is_accepting(),
        "unfinished: {}",
        String::from_utf8_lossy(&text)
    );
    text
}

fn json(
    build: impl Fn(&mut GrammarBuilder) -> structgen_grammar::ExprId,
    form: JsonForm,
) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = build(&mut builder);
    builder.define(root, body);
    builder.finish(root, form)
}

/// Any JSON value.
fn any_value(builder: &mut GrammarBuilder) -> structgen_grammar::ExprId {
    let rule = builder.declare("json-value");
    let value = builder.rule(rule);
    let arms = [
        Expr::String(StringShape::default()),
        Expr::Number(NumberSet::default()),
        Expr::Object(Box::new(ObjectShape {
            properties: vec![],
            additional: Some(value),
        })),
        Expr::Array(Box::new(ArrayShape {
            rest: Some(value),
            ..ArrayShape::default()
        })),
        Expr::Bytes(b"true"[..].into()),
        Expr::Bytes(b"false"[..].into()),
        Expr::Bytes(b"null"[..].into()),
    ];
    let arms: Vec<_> = arms.into_iter().map(|arm| builder.expr(arm)).collect();
    let body = builder.choice(arms);
    builder.define(rule, body);
    value
}

fn person(builder: &mut GrammarBuilder, open: bool) -> structgen_grammar::ExprId {
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
        rest: Some(kind),
        min_items: 1,
        max_items: Some(3),
        prefix: vec![age],
    })));
    let code = builder.expr(Expr::String(StringShape {
        content: StringContent::Regular(Regular::repeat(
            Regular::Chars(CharSet::new([('a', 'c'), ('日', '日'), ('\0', '\u{2}')])),
            1,
            None,
        )),
        ..StringShape::default()
    }));
    let additional = open.then(|| any_value(builder));
    let property = |key: &str, value, required| Property {
        key: key.into(),
        value,
        required,
    };
    let properties = vec![
        property("name", name, true),
        property("a", age, false),
        property("ab", tags, true),
        property("q\"x", code, false),
    ];
    builder.expr(Expr::Object(Box::new(ObjectShape {
        properties,
        additional,
    })))
}

fn forms() -> [JsonForm; 3] {
    // Small enough for the f64 of the parser that looks at the result.
    let mut exact = JsonForm::exact();
    exact.numbers.exponent_digits = 2;
    let declared = JsonForm {
        order: KeyOrder::Declared,
        ..exact.clone()
    };
    [exact, JsonForm::generate(), declared]
}

#[test]
fn objects_closed_and_open_in_every_form() {
    for open in [false, true] {
        for form in forms() {
            let constraint = compile(json(|builder| person(builder, open), form));
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

/// A regular set's last state may be written in more than one way; all of them are its end.
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
    assert_eq!(matcher.completion_cost(), 40_000 + 1);
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

/// Stacks that differ in one frame a level: 2^n of them after n letters, in n frames.
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
    let grammar = json(|builder| person(builder, true), JsonForm::exact());
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
