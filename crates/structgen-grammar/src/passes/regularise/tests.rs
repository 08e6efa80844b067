use expect_test::{Expect, expect};

use super::*;
use crate::{CharSet, JsonForm, StringShape, TokenTerminal};

fn letters(builder: &mut GrammarBuilder) -> ExprId {
    let class = Regular::Chars(CharSet::new([('a', 'z')]));
    builder.expr(Expr::Regular(class))
}

fn check(build: impl FnOnce(&mut GrammarBuilder, RuleId) -> ExprId, expected: Expect) {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = build(&mut builder, root);
    builder.define(root, body);
    let (grammar, report) = run(builder.finish(root, JsonForm::generate()));
    expected.assert_eq(&format!("{grammar}{:?}", report.regular));
}

#[test]
fn what_needs_no_stack_is_one_terminal() {
    check(
        |builder, _| {
            let letter = letters(builder);
            let word = builder.repeat(letter, 1, None);
            let comma = builder.bytes(",");
            let more = builder.sequence([comma, word]);
            let more = builder.repeat(more, 0, None);
            builder.sequence([word, more])
        },
        expect![[r#"
            root ::= regular([a-z]+ ("," [a-z]+)*)
            ["root"]"#]],
    );
}

#[test]
fn look_arounds_do_not_see_what_is_joined_beside_them() {
    check(
        |builder, _| {
            let not_b = Regular::look(false, true, Regular::literal("b"));
            let word = Regular::concat([Regular::anchor(true), Regular::literal("a"), not_b]);
            let word = builder.expr(Expr::Regular(word));
            let beside = builder.bytes("b");
            builder.sequence([word, beside])
        },
        expect![[r#"
            root ::= regular(intersection(not-behind(.) "a" not-ahead("b")) "b")
            ["root"]"#]],
    );
}

#[test]
fn rules_that_do_not_recur_are_put_in_place() {
    check(
        |builder, _| {
            let [word, space] = ["word", "space"].map(|name| builder.declare(name));
            let letter = letters(builder);
            let body = builder.repeat(letter, 1, None);
            builder.define(word, body);
            let blank = builder.bytes(" ");
            let body = builder.repeat(blank, 0, Some(1));
            builder.define(space, body);
            let (word, space) = (builder.rule(word), builder.rule(space));
            builder.sequence([word, space, word])
        },
        expect![[r#"
            root ::= regular([a-z]+ " "? [a-z]+)
            ["root", "word", "space"]"#]],
    );
}

#[test]
fn neighbours_and_arms_are_joined_around_what_recurs() {
    check(
        |builder, root| {
            let again = builder.rule(root);
            let [open, close, yes, no, dash] =
                ["(", ")", "yes", "no", "-"].map(|text| builder.bytes(text));
            let signs = builder.repeat(dash, 0, None);
            let nested = builder.sequence([signs, open, again, close, signs]);
            builder.choice([yes, nested, no])
        },
        expect![[r#"
            root ::= regular("yes" | "no") | regular("-"* "(") root regular(")" "-"*)
            []"#]],
    );
}

#[test]
fn json_and_tokens_are_borders() {
    check(
        |builder, _| {
            let string = builder.expr(Expr::String(StringShape::default()));
            let token = builder.expr(Expr::Token(TokenTerminal::Id(1)));
            let [a, b] = ["a", "b"].map(|text| builder.bytes(text));
            let either = builder.choice([a, b]);
            builder.sequence([a, either, token, b, a, string, either])
        },
        expect![[r#"
            root ::= regular("a" ("a" | "b")) <[1]> "ba" json-string() regular("a" | "b")
            []"#]],
    );
}

#[test]
fn large_rules_keep_their_name_where_they_are_used_twice() {
    check(
        |builder, _| {
            let words = builder.declare("words");
            let arms: Vec<ExprId> = (0..300).map(|n| builder.bytes(format!("{n}"))).collect();
            let body = builder.choice(arms);
            builder.define(words, body);
            let words = builder.rule(words);
            let dash = builder.bytes("-");
            let first = builder.sequence([words, dash]);
            builder.sequence([first, words, dash, dash])
        },
        expect![[r#"
            root ::= words "-" words "--"
            words ::= regular("0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10" | "11" | "12" | "13" | "14" | "15" | "16" | "17" | "18" | "19" | "20" | "21" | "22" | "23" | … 276 more)
            ["words"]"#]],
    );
}

#[test]
fn rules_that_are_defined_later_are_put_in_place_too() {
    check(
        |builder, root| {
            let [last, middle, endless] =
                ["last", "middle", "endless"].map(|name| builder.declare(name));
            let [to_last, to_middle, to_endless, again] =
                [last, middle, endless, root].map(|rule| builder.rule(rule));
            let x = builder.bytes("x");
            let body = builder.sequence([to_middle, x, to_middle]);
            let twice = builder.sequence([to_last, to_last]);
            builder.define(middle, twice);
            let letter = letters(builder);
            builder.define(last, letter);
            let nested = builder.sequence([x, to_endless, x]);
            builder.define(endless, nested);
            builder.choice([body, again, to_endless])
        },
        expect![[r#"
            root ::= regular([a-z] [a-z] "x" [a-z] [a-z]) | root | endless
            endless ::= "x" endless "x"
            ["last", "middle"]"#]],
    );
}

/// Everything else in these grammars stays as it is.
#[test]
fn regular_neighbours_of_what_is_not_regular_are_joined() {
    let string = |builder: &mut GrammarBuilder| builder.expr(Expr::String(StringShape::default()));
    check(
        |builder, _| {
            let (string, letter) = (string(builder), letters(builder));
            let colon = builder.bytes(":");
            builder.sequence([string, colon, letter])
        },
        expect![[r#"
            root ::= json-string() regular(":" [a-z])
            []"#]],
    );
    check(
        |builder, _| {
            let (string, letter) = (string(builder), letters(builder));
            let colon = builder.bytes(":");
            builder.choice([string, colon, letter])
        },
        expect![[r#"
            root ::= regular(":" | [a-z]) | json-string()
            []"#]],
    );
    check(
        |builder, _| {
            let (string, letter) = (string(builder), letters(builder));
            let number = builder.expr(Expr::Number(crate::NumberSet::default()));
            let pair = builder.sequence([letter, number]);
            builder.choice([string, letter, pair])
        },
        expect![[r#"
            root ::= json-string() | [a-z] | [a-z] json-number()
            []"#]],
    );
}

#[test]
fn a_large_rule_that_others_stand_for_is_not_copied() {
    let mut builder = GrammarBuilder::new();
    let [root, one, other, large] =
        ["root", "one", "other", "large"].map(|name| builder.declare(name));
    let digit = builder.expr(Expr::Regular(Regular::Chars(CharSet::new([('0', '9')]))));
    let arms: Vec<ExprId> = (0..200)
        .map(|i| {
            let text = builder.bytes(format!("{i},"));
            builder.sequence([text, digit])
        })
        .collect();
    let body = builder.choice(arms);
    builder.define(large, body);
    let to_large = builder.rule(large);
    builder.define(one, to_large);
    builder.define(other, to_large);
    let [one, other, again] = [one, other, root].map(|rule| builder.rule(rule));
    let [open, close] = ["(", ")"].map(|text| builder.bytes(text));
    let nested = builder.sequence([open, again, close]);
    let (first, second) = (
        builder.sequence([open, one]),
        builder.sequence([other, close]),
    );
    let body = builder.choice([first, second, nested]);
    builder.define(root, body);
    let (grammar, report) = run(builder.finish(root, JsonForm::generate()));
    assert_eq!(report.regular, ["large"]);
    assert_eq!(report.dropped.len(), 0, "{grammar}");
}

#[test]
fn deep_grammars_stay_within_the_limits() {
    // Every rule is a repetition of the one before: 100,000 levels.
    let mut builder = GrammarBuilder::new();
    let rules: Vec<RuleId> = (0..100_000)
        .map(|n| builder.declare(format!("rule-{n}")))
        .collect();
    let mut body = builder.bytes("a");
    builder.define(rules[0], body);
    for pair in rules.windows(2) {
        let (below, b) = (builder.rule(pair[0]), builder.bytes("b"));
        let part = builder.sequence([below, b]);
        body = builder.repeat(part, 1, Some(2));
        builder.define(pair[1], body);
    }
    let (grammar, report) = run(builder.finish(rules[99_999], JsonForm::generate()));
    assert!(
        (50..200).contains(&report.regular.len()),
        "{}",
        report.regular.len()
    );
    // Nothing refers to rules that became regular.
    assert_eq!(report.dropped, report.regular);
    assert_eq!(grammar.rules().len(), 100_000 - report.dropped.len());
    // With repeated doubling, a small grammar would become an exponentially large terminal.
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let mut body = letters(&mut builder);
    for _ in 0..60 {
        let optional = builder.repeat(body, 0, Some(1));
        body = builder.sequence([optional, body]);
    }
    builder.define(root, body);
    let (_, report) = run(builder.finish(root, JsonForm::generate()));
    assert!(report.regular.is_empty());
}

/// What becomes of a regular terminal with another one beside it: the joined one, if they are joined.
fn beside_another(regular: Regular) -> Option<Regular> {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let terminal = builder.expr(Expr::Regular(regular));
    let other = letters(&mut builder);
    let body = builder.sequence([terminal, other]);
    builder.define(root, body);
    let (grammar, _) = run(builder.finish(root, JsonForm::generate()));
    match grammar.expr(grammar.rule(root).body) {
        Expr::Regular(joined) => Some(joined.clone()),
        _ => None,
    }
}

#[test]
fn terminals_are_joined_up_to_a_depth_and_a_size() {
    let letter = || Regular::Chars(CharSet::new([('a', 'z')]));
    // The joined terminal is one level deeper.
    let wraps: [fn(Regular) -> Regular; 3] = [
        |body| Regular::Complement(body.into()),
        |body| Regular::repeat(body, 2, Some(3)),
        |body| Regular::union([body, Regular::Empty]),
    ];
    for wrap in wraps {
        let nested = |levels: u32| (1..levels).fold(letter(), |body, _| wrap(body));
        assert!(beside_another(nested(MAX_DEPTH - 1)).is_some());
        assert!(beside_another(nested(MAX_DEPTH)).is_none());
    }
    // The joined terminal has the arms, the union, the letter, and itself.
    let arms = |count: usize| Regular::union((0..count).map(|_| letter()));
    assert!(beside_another(arms(MAX_SIZE - 3)).is_some());
    assert!(beside_another(arms(MAX_SIZE - 2)).is_none());
}

#[test]
fn short_parts_are_copied_into_what_they_are_part_of() {
    let letter = || Regular::Chars(CharSet::new([('a', 'z')]));
    let parts = |count: usize| Regular::concat((0..count).map(|_| letter()));
    let joined = |count: usize| match beside_another(parts(count)) {
        Some(Regular::Concat(parts)) => parts.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(joined(FLATTENED), FLATTENED + 1);
    assert_eq!(joined(FLATTENED + 1), 2);
    let arms = |count: u32| {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let one = |i| Regular::Chars(CharSet::new([(i, i)]));
        let letters = ('\u{100}'..).take(count as usize).map(one);
        let union = builder.expr(Expr::Regular(Regular::union(letters)));
        let a = builder.bytes("a");
        let body = builder.choice([union, a]);
        builder.define(root, body);
        let (grammar, _) = run(builder.finish(root, JsonForm::generate()));
        match grammar.expr(grammar.rule(root).body) {
            Expr::Regular(Regular::Union(arms)) => arms.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(arms(FLATTENED as u32), FLATTENED + 1);
    assert_eq!(arms(FLATTENED as u32 + 1), 2);
}
