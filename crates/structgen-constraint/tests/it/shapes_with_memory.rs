//! Objects and arrays that count, compare or have classes of keys: masks equal the oracle's, there are no dead ends,
//! and costs hold.

use crate::support::{any_value, compile, compile_with, json, vocabulary_with, walk_and_compare};
use serde_json::Value;
use structgen_constraint::{CompiledConstraint, ConstraintOptions, oracle};
use structgen_frontend::json_schema::{SchemaOptions, compile_str};
use structgen_grammar::{
    Alternative, ArrayShape, CharSet, Decimal, Expr, ExprId, GrammarBuilder, JsonForm, KeyPattern,
    NumberBound, NumberSet, ObjectShape, Property, Regular, Slot, StringContent, StringShape,
    Tally, Whitespace,
};
use structgen_vocab::TokenId;

fn forms() -> [JsonForm; 2] {
    let mut exact = JsonForm::exact();
    exact.numbers.exponent_digits = 1;
    [exact, JsonForm::generate()]
}

/// Walks the constraint in every form; `holds` checks each result.
fn check(
    build: impl Fn(&mut GrammarBuilder) -> ExprId,
    budget: u64,
    holds: impl Fn(&Value) -> bool,
) {
    for form in forms() {
        let constraint = compile(json(&build, form));
        for seed in 0..12 {
            let text = walk_and_compare(&constraint, seed, budget);
            let shown = String::from_utf8_lossy(&text).into_owned();
            let value: Value =
                serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{error}: {shown}"));
            assert!(holds(&value), "{shown}");
        }
    }
}

fn number(builder: &mut GrammarBuilder) -> ExprId {
    builder.expr(Expr::Number(NumberSet::integers()))
}

fn string(builder: &mut GrammarBuilder) -> ExprId {
    builder.expr(Expr::String(StringShape::default()))
}

fn words(builder: &mut GrammarBuilder, words: &[&str]) -> ExprId {
    builder.expr(Expr::String(StringShape {
        content: StringContent::Literals(words.iter().map(|word| Box::from(*word)).collect()),
        ..StringShape::default()
    }))
}

/// `a` or `b`, then digits.
fn pattern() -> Regular {
    Regular::concat([
        Regular::Chars(CharSet::new([('a', 'b')])),
        Regular::repeat(Regular::Chars(CharSet::new([('0', '9')])), 0, None),
    ])
}

#[test]
fn keys_of_a_class_have_its_values() {
    for additional in [false, true] {
        check(
            |builder| {
                let (number, string) = (number(builder), string(builder));
                let shape = ObjectShape {
                    properties: vec![Property {
                        key: "a1".into(),
                        value: Slot::of(string),
                        required: true,
                        ..Property::default()
                    }],
                    patterns: vec![KeyPattern {
                        keys: pattern(),
                        value: Slot::of(number),
                    }],
                    additional: additional.then(|| Slot::of(string)),
                    ..ObjectShape::default()
                };
                builder.expr(Expr::Object(Box::new(shape)))
            },
            30,
            |value| {
                let object = value.as_object().unwrap();
                object["a1"].is_string()
                    && object.iter().all(|(key, value)| {
                        let digits = key.strip_prefix(['a', 'b']);
                        let listed =
                            digits.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
                        key == "a1"
                            || (if listed {
                                value.is_number()
                            } else {
                                additional && value.is_string()
                            })
                    })
            },
        );
    }
}

#[test]
fn a_finite_class_runs_out_of_keys() {
    check(
        |builder| {
            let number = number(builder);
            let keys = Regular::union(["ab", "ac", "b"].map(Regular::literal));
            let shape = ObjectShape {
                patterns: vec![KeyPattern {
                    keys,
                    value: Slot::of(number),
                }],
                min_members: 2,
                ..ObjectShape::default()
            };
            builder.expr(Expr::Object(Box::new(shape)))
        },
        30,
        |value| (2..=3).contains(&value.as_object().unwrap().len()),
    );
}

#[test]
fn members_are_counted() {
    for (min, max, open, ordered) in [
        (2, Some(3), false, 4),
        (2, None, true, 4),
        (3, Some(3), true, 0),
        (0, Some(1), true, 2),
    ] {
        check(
            |builder| {
                let number = number(builder);
                let property = |key: &str| Property {
                    key: key.into(),
                    value: Slot::of(number),
                    required: key == "foo",
                    ..Property::default()
                };
                let shape = ObjectShape {
                    properties: ["a", "foo", "b", "longer key"].map(property).into(),
                    ordered,
                    additional: open.then(|| Slot::of(number)),
                    min_members: min,
                    max_members: max,
                    ..ObjectShape::default()
                };
                builder.expr(Expr::Object(Box::new(shape)))
            },
            40,
            |value| {
                let object = value.as_object().unwrap();
                let count = object.len() as u32;
                object.contains_key("foo") && count >= min && max.is_none_or(|max| count <= max)
            },
        );
    }
}

#[test]
fn counts_that_cannot_be_met_leave_nothing() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let number = number(&mut builder);
    let shape = ObjectShape {
        properties: vec![Property {
            key: "a".into(),
            value: Slot::of(number),
            required: false,
            ..Property::default()
        }],
        min_members: 2,
        ..ObjectShape::default()
    };
    let object = builder.expr(Expr::Object(Box::new(shape)));
    let word = words(&mut builder, &["x", "y"]);
    let pair = builder.expr(Expr::Array(Box::new(ArrayShape {
        rest: Some(Slot::of(word)),
        min_items: 3,
        unique: true,
        ..ArrayShape::default()
    })));
    let nothing = builder.expr(Expr::Array(Box::new(ArrayShape {
        rest: Some(Slot::of(object)),
        max_items: Some(1),
        ..ArrayShape::default()
    })));
    let body = builder.choice([object, pair, nothing]);
    builder.define(root, body);
    let constraint = compile(builder.finish(root, JsonForm::generate()));
    let matcher = constraint.matcher();
    assert_eq!(matcher.clone().check_text(b"[]").unwrap(), None);
    for text in ["{", "[{", "[\"x\",\"y\"]"] {
        assert!(
            matcher
                .clone()
                .check_text(text.as_bytes())
                .unwrap()
                .is_some(),
            "{text}"
        );
    }
}

fn alternative(value: ExprId, tallies: u32) -> Alternative {
    Alternative { value, tallies }
}

#[test]
fn some_member_has_to_be_of_a_kind() {
    check(
        |builder| {
            let (number, string) = (number(builder), string(builder));
            let either = Slot {
                alternatives: [alternative(number, 0b01), alternative(string, 0b10)].into(),
            };
            let shape = ObjectShape {
                properties: vec![Property {
                    key: "a".into(),
                    value: Slot::of(string),
                    required: false,
                    ..Property::default()
                }],
                ordered: 1,
                additional: Some(either),
                tallies: vec![Tally { min: 1, max: None }; 2],
                ..ObjectShape::default()
            };
            builder.expr(Expr::Object(Box::new(shape)))
        },
        40,
        |value| {
            let object = value.as_object().unwrap();
            let others = object.iter().filter(|(key, _)| *key != "a");
            let others: Vec<&Value> = others.map(|(_, value)| value).collect();
            others.iter().any(|value| value.is_number())
                && others.iter().any(|value| value.is_string())
        },
    );
}

#[test]
fn items_are_counted_by_kind() {
    for (min, max, max_items) in [(1, None, None), (2, Some(2), Some(4)), (0, Some(1), None)] {
        check(
            |builder| {
                let (number, string) = (number(builder), string(builder));
                let either = Slot {
                    alternatives: [alternative(number, 1), alternative(string, 0)].into(),
                };
                let shape = ArrayShape {
                    prefix: vec![Slot::of(string)],
                    rest: Some(either),
                    min_items: 1,
                    max_items,
                    tallies: vec![Tally { min, max }],
                    ..ArrayShape::default()
                };
                builder.expr(Expr::Array(Box::new(shape)))
            },
            30,
            |value| {
                let items = value.as_array().unwrap();
                let count = items.iter().filter(|item| item.is_number()).count() as u32;
                items[0].is_string()
                    && count >= min
                    && max.is_none_or(|max| count <= max)
                    && max_items.is_none_or(|max| items.len() as u32 <= max)
            },
        );
    }
}

fn are_distinct(value: &Value) -> bool {
    let items = value.as_array().unwrap();
    let plain: Vec<String> = items
        .iter()
        .map(|item| match item {
            // The notation of numbers differs; their values do not.
            Value::Number(number) => number.as_f64().unwrap().to_string(),
            other => other.to_string(),
        })
        .collect();
    (0..plain.len()).all(|i| !plain[..i].contains(&plain[i]))
}

fn distinct(rest: ExprId, min_items: u32, max_items: Option<u32>) -> Expr {
    Expr::Array(Box::new(ArrayShape {
        rest: Some(Slot::of(rest)),
        min_items,
        max_items,
        unique: true,
        ..ArrayShape::default()
    }))
}

#[test]
fn items_out_of_few_are_distinct() {
    for min in [0, 2, 3] {
        check(
            |builder| {
                let word = words(builder, &["a", "ab", "foo"]);
                builder.expr(distinct(word, min, None))
            },
            40,
            |value| are_distinct(value) && value.as_array().unwrap().len() >= min as usize,
        );
    }
}

#[test]
fn numbers_are_distinct_by_value() {
    check(
        |builder| {
            let bound = |value| {
                Some(NumberBound {
                    value: Decimal::from(value),
                    exclusive: false,
                })
            };
            let digit = builder.expr(Expr::Number(NumberSet {
                lower: bound(0),
                upper: bound(3),
                ..NumberSet::integers()
            }));
            builder.expr(distinct(digit, 3, None))
        },
        60,
        |value| are_distinct(value) && value.as_array().unwrap().len() >= 3,
    );
}

#[test]
fn strings_and_anything_are_distinct() {
    check(
        |builder| {
            let string = string(builder);
            builder.expr(distinct(string, 2, Some(4)))
        },
        40,
        are_distinct,
    );
    check(
        |builder| {
            let any = any_value(builder);
            builder.expr(distinct(any, 1, None))
        },
        40,
        are_distinct,
    );
}

#[test]
fn objects_are_distinct_whatever_their_order() {
    check(
        |builder| {
            let word = words(builder, &["a", "b"]);
            let property = |key: &str| Property {
                key: key.into(),
                value: Slot::of(word),
                required: true,
                ..Property::default()
            };
            let shape = ObjectShape {
                properties: ["a", "ab"].map(property).into(),
                ..ObjectShape::default()
            };
            let object = builder.expr(Expr::Object(Box::new(shape)));
            builder.expr(distinct(object, 3, None))
        },
        120,
        |value| are_distinct(value) && value.as_array().unwrap().len() >= 3,
    );
}

/// The first item must not take the only value of the second.
#[test]
fn distinct_items_leave_each_place_a_value() {
    check(
        |builder| {
            let many = words(builder, &["a", "b"]);
            let one = words(builder, &["a"]);
            let shape = ArrayShape {
                prefix: vec![Slot::of(many), Slot::of(one)],
                min_items: 2,
                max_items: Some(2),
                unique: true,
                ..ArrayShape::default()
            };
            builder.expr(Expr::Array(Box::new(shape)))
        },
        40,
        |value| *value == serde_json::json!(["b", "a"]),
    );
}

#[test]
fn distinct_arrays_within_distinct_arrays() {
    check(
        |builder| {
            let word = words(builder, &["a", "b"]);
            let inner = builder.expr(distinct(word, 1, None));
            builder.expr(distinct(inner, 2, Some(3)))
        },
        60,
        |value| are_distinct(value) && value.as_array().unwrap().iter().all(are_distinct),
    );
}

#[test]
fn distinct_items_are_counted_by_kind() {
    check(
        |builder| {
            let any = any_value(builder);
            let object = builder.expr(Expr::Object(Box::new(ObjectShape {
                additional: Some(Slot::of(any)),
                ..ObjectShape::default()
            })));
            let number = builder.expr(Expr::Number(NumberSet::point("1.5".parse().unwrap())));
            let one = builder.expr(Expr::Array(Box::new(ArrayShape {
                prefix: vec![Slot::of(number)],
                min_items: 1,
                max_items: Some(1),
                ..ArrayShape::default()
            })));
            let shape = ArrayShape {
                rest: Some(Slot {
                    alternatives: [alternative(one, 1), alternative(object, 0)].into(),
                }),
                tallies: vec![Tally { min: 1, max: None }],
                unique: true,
                ..ArrayShape::default()
            };
            builder.expr(Expr::Array(Box::new(shape)))
        },
        40,
        |value| {
            let items = value.as_array().unwrap();
            are_distinct(value) && items.iter().any(Value::is_array)
        },
    );
}

#[test]
fn more_members_than_can_be_weighed_are_refused() {
    let tables = crate::support::vocabulary();
    let compiled = |min_members| {
        let object = |builder: &mut GrammarBuilder| {
            let value = builder.expr(Expr::Number(NumberSet::integers()));
            builder.expr(Expr::Object(Box::new(ObjectShape {
                additional: Some(Slot::of(value)),
                min_members,
                ..ObjectShape::default()
            })))
        };
        let grammar = crate::support::json(object, JsonForm::generate());
        CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())
    };
    assert!(compiled(1 << 16).is_ok());
    for members in [(1 << 16) + 1, u32::MAX] {
        let error = compiled(members).unwrap_err().to_string();
        assert_eq!(
            error,
            "root: members that an object still needs exceed the limit of 65536"
        );
    }
}

#[test]
fn whitespace_in_distinct_items_is_counted_where_a_token_may_reach_its_end() {
    let tables = vocabulary_with(&[
        "  ", "\n ", "[ ", " [", ",  ", " ,", "1  ", "  1", "{ \"", "\"  ", " }", "} ]",
    ]);
    let distinct = |builder: &mut GrammarBuilder, item| {
        builder.expr(Expr::Array(Box::new(ArrayShape {
            rest: Some(Slot::of(item)),
            unique: true,
            ..ArrayShape::default()
        })))
    };
    let nested = |builder: &mut GrammarBuilder| {
        let value = any_value(builder);
        let item = distinct(builder, value);
        distinct(builder, item)
    };
    let flat = |builder: &mut GrammarBuilder| {
        let value = any_value(builder);
        distinct(builder, value)
    };
    let items = [
        "[1]",
        "[1,[]]",
        "[[ 1],[1 ]",
        "[[1 , 2]",
        "[{\"a\":1}",
        "[ 1 ,[1",
        "[\"a\",{\"a\" :[",
        "[[],{",
    ];
    let mut compared = 0;
    for max in [1, 2, 3, 7] {
        let form = JsonForm {
            whitespace: Whitespace::Bounded { max },
            ..JsonForm::exact()
        };
        for grammar in [json(nested, form.clone()), json(flat, form)] {
            let constraint = compile_with(grammar, &tables);
            for item in items {
                for gap in 0..=usize::from(max) {
                    let text = format!("[{item},{}", " ".repeat(gap));
                    for text in [
                        text.clone(),
                        format!("{text}["),
                        format!("{text}[1,{}", "\n".repeat(gap)),
                    ] {
                        let mut matcher = constraint.matcher();
                        let mut bytes = text.bytes();
                        if bytes.any(|byte| matcher.accept_token(TokenId(u32::from(byte))).is_err())
                        {
                            continue;
                        }
                        let mask = matcher.mask().unwrap();
                        assert_eq!(
                            mask.bits(),
                            &oracle::mask(&matcher).unwrap(),
                            "{text:?} {max}"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_bound_on_whitespace_may_be_as_large_as_it_gets() {
    let whitespace = Whitespace::Bounded { max: u16::MAX };
    let options = SchemaOptions::new().with_whitespace(whitespace);
    let compiled = compile_str(r#"{"type": "object"}"#, &options).expect("a schema");
    let tables = vocabulary_with(&[" \"", " {", "\n  \"", " [", ": \"", ", \""]);
    let constraint = compile_with(compiled.grammar, &tables);
    for seed in 0..12 {
        walk_and_compare(&constraint, seed, 60);
    }
}
