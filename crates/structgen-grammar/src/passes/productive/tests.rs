use expect_test::{Expect, expect};

use super::*;
use crate::{Alternative, ArrayShape, CharSet, Decimal, JsonForm, NumberBound, RuleId, Tally};

fn check(build: impl FnOnce(&mut GrammarBuilder, RuleId) -> ExprId, expected: Expect) {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = build(&mut builder, root);
    builder.define(root, body);
    let (grammar, report) = run(builder.finish(root, JsonForm::generate()));
    expected.assert_eq(&format!("{grammar}{report:?}"));
}

/// A rule that never ends.
fn endless(builder: &mut GrammarBuilder) -> ExprId {
    let rule = builder.declare("endless");
    let (a, again) = (builder.bytes("a"), builder.rule(rule));
    let body = builder.sequence([a, again]);
    builder.define(rule, body);
    again
}

#[test]
fn arms_and_optional_parts_that_never_end_are_gone() {
    check(
        |builder, root| {
            let endless = endless(builder);
            let (a, again) = (builder.bytes("a"), builder.rule(root));
            let optional = builder.repeat(endless, 0, None);
            let first = builder.sequence([a, optional, again]);
            let second = builder.sequence([endless, a]);
            builder.choice([first, second, a])
        },
        expect![[r#"
            root ::= "a" root | "a"
            endless ::= never()
            ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
}

#[test]
fn a_root_that_derives_nothing_is_reported_with_the_rules_at_fault() {
    check(
        |builder, root| {
            let endless = endless(builder);
            let good = builder.declare("good");
            let text = builder.bytes("good");
            builder.define(good, text);
            let (good, again) = (builder.rule(good), builder.rule(root));
            let empty_class = builder.expr(Expr::Regular(Regular::Chars(CharSet::default())));
            let part = builder.choice([empty_class, endless, again]);
            builder.sequence([good, part])
        },
        expect![[r#"
            root ::= never()
            endless ::= never()
            good ::= "good"
            ProductiveReport { never: ["root", "endless"], root_is_never: true }"#]],
    );
}

#[test]
fn objects_need_their_required_values_and_forbid_what_has_none() {
    let object = |required, additional: bool| {
        move |builder: &mut GrammarBuilder, _| {
            let never = endless(builder);
            let value = builder.bytes("1");
            let property = |key: &str, value, required| Property {
                key: key.into(),
                value: Slot::of(value),
                required,
                ..Property::default()
            };
            let shape = ObjectShape {
                properties: vec![
                    property("good", value, true),
                    property("bad", never, required),
                ],
                additional: additional.then_some(Slot::of(value)),
                ..ObjectShape::default()
            };
            builder.expr(Expr::Object(Box::new(shape)))
        }
    };
    check(
        object(true, true),
        expect![[r#"
        root ::= never()
        endless ::= never()
        ProductiveReport { never: ["root", "endless"], root_is_never: true }"#]],
    );
    check(
        object(false, true),
        expect![[r#"
            root ::= json-object({ | "good"!: "1", "bad": never(), *: "1" })
            endless ::= never()
            ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
    check(
        object(false, false),
        expect![[r#"
            root ::= json-object({ | "good"!: "1" })
            endless ::= never()
            ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
    check(
        |builder, _| {
            let never = endless(builder);
            builder.expr(Expr::Object(Box::new(ObjectShape {
                additional: Some(Slot::of(never)),
                ..ObjectShape::default()
            })))
        },
        expect![[r#"
            root ::= json-object({})
            endless ::= never()
            ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
}

#[test]
fn the_absence_of_a_removed_key_counts() {
    check(
        |builder, _| {
            let never = endless(builder);
            let value = builder.bytes("1");
            let property = |key: &str, value| Property {
                key: key.into(),
                value: Slot::of(value),
                absent: 0b101,
                ..Property::default()
            };
            let at_least = |min| Tally { min, max: None };
            builder.expr(Expr::Object(Box::new(ObjectShape {
                properties: vec![property("a", never), property("b", value)],
                ordered: 2,
                tallies: vec![at_least(1), at_least(1), at_least(3)],
                ..ObjectShape::default()
            })))
        },
        expect![[r#"
            root ::= json-object({ "b": "1" or none #0 or none #2 }, 0.. of #0, 1.. of #1, 2.. of #2)
            endless ::= never()
            ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
}

#[test]
fn arrays_end_before_an_item_that_has_no_value() {
    let array = |min_items, max_items, rest_lives: bool| {
        move |builder: &mut GrammarBuilder, _| {
            let never = endless(builder);
            let value = builder.bytes("1");
            let shape = ArrayShape {
                prefix: if rest_lives {
                    vec![Slot::of(value), Slot::of(never)]
                } else {
                    vec![Slot::of(value)]
                },
                rest: Some(Slot::of(if rest_lives { value } else { never })),
                min_items,
                max_items,
                ..ArrayShape::default()
            };
            builder.expr(Expr::Array(Box::new(shape)))
        }
    };
    check(
        array(0, None, true),
        expect![[r#"
        root ::= json-array(["1"], 0..=1 items)
        endless ::= never()
        ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
    check(
        array(2, None, true),
        expect![[r#"
        root ::= never()
        endless ::= never()
        ProductiveReport { never: ["root", "endless"], root_is_never: true }"#]],
    );
    check(
        array(1, Some(7), false),
        expect![[r#"
        root ::= json-array(["1"], 1 items)
        endless ::= never()
        ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
    check(
        array(2, Some(7), false),
        expect![[r#"
        root ::= never()
        endless ::= never()
        ProductiveReport { never: ["root", "endless"], root_is_never: true }"#]],
    );
}

/// Whether an expression alone derives something.
fn lives(expr: Expr) -> bool {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(expr);
    builder.define(root, body);
    !run(builder.finish(root, JsonForm::generate()))
        .1
        .root_is_never
}

#[test]
fn bounds_are_met_by_a_number_that_both_include() {
    let bound = |value: i64, exclusive| NumberBound {
        value: Decimal::from(value),
        exclusive,
    };
    let set = |lower, upper| {
        Expr::Number(NumberSet {
            lower,
            upper,
            ..NumberSet::default()
        })
    };
    let between = |lower, upper| lives(set(Some(lower), Some(upper)));
    assert!(between(bound(3, false), bound(3, false)));
    assert!(!between(bound(3, true), bound(3, false)));
    assert!(!between(bound(3, false), bound(3, true)));
    assert!(between(bound(3, true), bound(4, true)));
    assert!(between(bound(3, false), bound(4, false)));
    assert!(!between(bound(4, false), bound(3, false)));
    assert!(lives(set(Some(bound(3, true)), None)));
    assert!(lives(set(None, Some(bound(3, true)))));
    assert!(lives(set(None, None)));
}

#[test]
fn counts_are_met_if_the_maximum_is_not_below_the_minimum() {
    let string = |content, min_length, max_length| {
        lives(Expr::String(StringShape {
            content,
            min_length,
            max_length,
        }))
    };
    let object = |min_members, max_members| {
        let shape = ObjectShape {
            min_members,
            max_members,
            ..ObjectShape::default()
        };
        lives(Expr::Object(Box::new(shape)))
    };
    let array = |min_items, max_items| {
        let shape = ArrayShape {
            min_items,
            max_items,
            ..ArrayShape::default()
        };
        lives(Expr::Array(Box::new(shape)))
    };
    assert!(string(StringContent::Any, 2, Some(2)));
    assert!(!string(StringContent::Any, 2, Some(1)));
    assert!(string(StringContent::Any, 2, None));
    assert!(object(2, Some(2)) && object(2, Some(3)) && object(2, None));
    assert!(!object(2, Some(1)));
    assert!(array(0, Some(0)) && array(0, None));
    // There are no items at all.
    assert!(!array(1, Some(1)) && !array(1, Some(0)));
    let letters = Regular::Chars(CharSet::new([('a', 'z')]));
    assert!(string(StringContent::Regular(letters.clone()), 0, None));
    assert!(!string(StringContent::Regular(Regular::Never), 0, None));
    assert!(lives(Expr::Regular(letters)) && !lives(Expr::Regular(Regular::Never)));
    let texts = crate::LiteralSet::new(["a", "b"]).expect("two texts are few");
    assert!(lives(Expr::Literals(texts)));
}

#[test]
fn repetitions_need_their_body_unless_they_may_be_empty() {
    let repeat = |text: &str, min, max| {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = match text {
            "" => builder.never(),
            text => builder.bytes(text),
        };
        let body = builder.expr(Expr::Repeat { body, min, max });
        builder.define(root, body);
        !run(builder.finish(root, JsonForm::generate()))
            .1
            .root_is_never
    };
    assert!(repeat("a", 2, Some(2)) && repeat("a", 2, None) && repeat("a", 0, Some(1)));
    assert!(!repeat("a", 2, Some(1)));
    assert!(repeat("", 0, Some(1)) && !repeat("", 1, None));
}

#[test]
fn what_waits_for_a_later_rule_may_be_impossible_all_the_same() {
    // The first array needs a second item, which it cannot have; of the others, what they need comes later.
    let array = |builder: &mut GrammarBuilder, item, rest, min_items| {
        builder.expr(Expr::Array(Box::new(ArrayShape {
            prefix: vec![Slot::of(item)],
            rest,
            min_items,
            ..ArrayShape::default()
        })))
    };
    check(
        |builder, _| {
            let later = builder.declare("later");
            let item = builder.rule(later);
            let impossible = array(builder, item, None, 2);
            let one = array(builder, item, None, 1);
            let two = array(builder, item, Some(Slot::of(one)), 2);
            let text = builder.bytes("1");
            builder.define(later, text);
            builder.choice([impossible, one, two])
        },
        expect![[r#"
            root ::= json-array([later], 1.. items) | json-array([later, *: json-array([later], 1.. items)], 2.. items)
            later ::= "1"
            ProductiveReport { never: [], root_is_never: false }"#]],
    );
}

#[test]
fn further_items_keep_the_alternatives_that_have_values() {
    check(
        |builder, _| {
            let never = endless(builder);
            let value = builder.bytes("1");
            let one = |value| Alternative { value, tallies: 0 };
            let rest = Slot {
                alternatives: [one(never), one(value)].into(),
            };
            builder.expr(Expr::Array(Box::new(ArrayShape {
                prefix: vec![Slot::of(value)],
                rest: Some(rest),
                ..ArrayShape::default()
            })))
        },
        expect![[r#"
            root ::= json-array(["1", *: "1"])
            endless ::= never()
            ProductiveReport { never: ["endless"], root_is_never: false }"#]],
    );
}

#[test]
fn contradictory_lengths_and_bounds_are_never() {
    check(
        |builder, _| {
            let bound = |n: i64| {
                Some(NumberBound {
                    value: Decimal::from(n),
                    exclusive: true,
                })
            };
            let number = builder.expr(Expr::Number(NumberSet {
                lower: bound(3),
                upper: bound(3),
                ..NumberSet::default()
            }));
            let string = builder.expr(Expr::String(StringShape {
                min_length: 2,
                max_length: Some(1),
                ..StringShape::default()
            }));
            let literals = builder.expr(Expr::String(StringShape {
                content: StringContent::Literals(Box::default()),
                ..StringShape::default()
            }));
            let good = builder.expr(Expr::String(StringShape::default()));
            builder.choice([number, string, literals, good])
        },
        expect![[r#"
            root ::= json-string()
            ProductiveReport { never: [], root_is_never: false }"#]],
    );
}

#[test]
fn a_hundred_thousand_rules_in_a_row_are_no_burden() {
    let mut builder = GrammarBuilder::new();
    let rules: Vec<RuleId> = (0..100_000)
        .map(|n| builder.declare(format!("rule-{n}")))
        .collect();
    let a = builder.bytes("a");
    for pair in rules.windows(2) {
        let next = builder.rule(pair[1]);
        let body = builder.sequence([a, next]);
        builder.define(pair[0], body);
    }
    // The last rule has no body, so nothing derives a text.
    let (_, report) = run(builder.finish(rules[0], JsonForm::generate()));
    assert_eq!(report.never.len(), 100_000);
}
