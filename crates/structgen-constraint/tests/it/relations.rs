//! Related values: exactly what a checker without automata allows.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use structgen_constraint::{BoundConstraint, CompiledConstraint, Input};
use structgen_frontend::json_schema::{SchemaOptions, Source, compile};
use structgen_grammar::Whitespace;

use crate::support::{self, SplitMix, TASTES, generate, texts, vocabulary_with, walk_and_compare};

/// Tokens that end one value and begin another.
const CROSSING: [&str; 14] = [
    "\",\"b\":\"",
    ",\"b\":",
    ",\"b\":1",
    "\",\"b\":",
    "\"}],\"pick\":\"",
    "a\"}],\"pick\":\"a\"}",
    "1,\"b\":2",
    "\"},{\"name\":\"a",
    "],\"pick\":",
    ",\"end\":",
    "0,\"end\":1",
    "9}",
    "\",\"boss\":\"",
    "-01-0",
];

fn compiled(schema: &Value, options: &SchemaOptions) -> CompiledConstraint {
    let grammar = compile(schema, options).unwrap().grammar;
    support::compile_with(grammar, &vocabulary_with(&CROSSING))
}

fn constraint(schema: &Value) -> CompiledConstraint {
    let options = SchemaOptions::new().with_whitespace(Whitespace::Compact);
    compiled(schema, &options)
}

fn bind(schema: &Value, text: &str) -> BoundConstraint {
    let options = SchemaOptions::new().with_whitespace(Whitespace::Compact);
    let constraint = compiled(schema, &options.with_source(Source::Input));
    let input = Arc::new(Input::new(text).unwrap());
    constraint.bind(&input).unwrap()
}

/// An object with these properties, all of them required except those named.
fn object(properties: Value, optional: &[&str]) -> Value {
    let keys = properties.as_object().unwrap().keys();
    let required: Vec<&String> = keys
        .filter(|key| !optional.contains(&key.as_str()))
        .collect();
    json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A value with a relation to others.
fn related(mut schema: Value, relation: &str, to: &str) -> Value {
    schema["x-structgen"] = json!({relation: to});
    schema
}

/// Returns whether a document satisfies a relation between the values at two places, by definition.
fn is_kept(document: &Value, at: &str, relation: &str, to: &str) -> bool {
    // In the order in which they are written, each with its place.
    let mut all = Vec::new();
    walk(document, String::new(), &mut all);
    let is_at = |pattern: &str, pointer: &str| {
        let (pattern, pointer) = (pattern.split('/'), pointer.split('/'));
        pattern.clone().count() == pointer.clone().count()
            && pattern.zip(pointer).all(|(a, b)| a == "*" || a == b)
    };
    all.iter()
        .enumerate()
        .filter(|(_, (pointer, _))| is_at(at, pointer))
        .all(|(i, (_, own))| {
            let mut before = all[..i]
                .iter()
                .filter(|(pointer, it)| is_at(to, pointer) && !it.is_null());
            let number = |value: &Value| value.as_f64();
            let order = |other: &Value| match (own, other) {
                (Value::String(own), Value::String(other)) => Some(own.cmp(other)),
                _ => number(own)?.partial_cmp(&number(other)?),
            };
            own.is_null()
                || match relation {
                    "in" => before.any(|(_, other)| {
                        other == own || order(other).is_some_and(|it| it.is_eq())
                    }),
                    "not-equal" => before.all(|(_, other)| {
                        other != own && !order(other).is_some_and(|it| it.is_eq())
                    }),
                    "at-least" => before.all(|(_, other)| order(other).is_none_or(|it| it.is_ge())),
                    _ => before.all(|(_, other)| order(other).is_none_or(|it| it.is_le())),
                }
        })
}

fn walk(value: &Value, pointer: String, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) => {
            let each = items.iter().enumerate();
            each.for_each(|(i, item)| walk(item, format!("{pointer}/{i}"), found));
        }
        Value::Object(members) => {
            let each = members.iter();
            each.for_each(|(key, member)| walk(member, format!("{pointer}/{key}"), found));
        }
        leaf => found.push((pointer, leaf.clone())),
    }
}

/// All objects with one of these values for each key; `None` leaves the key out.
fn objects(choices: &[(&str, Vec<Option<Value>>)]) -> Vec<Value> {
    let mut all = vec![json!({})];
    for (key, values) in choices {
        let longer = all.iter().flat_map(|object| {
            values.iter().map(move |value| {
                let mut object = object.clone();
                if let Some(value) = value {
                    object[*key] = value.clone();
                }
                object
            })
        });
        all = longer.collect();
    }
    all
}

fn some(values: impl IntoIterator<Item = Value>) -> Vec<Option<Value>> {
    values.into_iter().map(Some).collect()
}

/// Compares what a constraint allows with the documents that satisfy the relations.
fn check(schema: &Value, documents: Vec<Value>, relations: &[(&str, &str, &str)]) {
    let constraint = constraint(schema);
    let expected: BTreeSet<String> = { documents.iter() }
        .filter(|it| {
            relations
                .iter()
                .all(|(at, relation, to)| is_kept(it, at, relation, to))
        })
        .map(Value::to_string)
        .collect();
    assert_eq!(texts(&constraint), expected, "{schema}");
    for seed in 0..20 {
        walk_and_compare(&constraint, seed, 60);
    }
}

#[test]
fn numbers_keep_their_order() {
    let digit = json!({"type": "integer", "minimum": 0, "maximum": 9});
    let digits = || some((0..10).map(Value::from));
    for relation in ["at-least", "at-most", "not-equal"] {
        let schema = object(
            json!({"a": digit, "b": related(digit.clone(), relation, "/a")}),
            &[],
        );
        check(
            &schema,
            objects(&[("a", digits()), ("b", digits())]),
            &[("/b", relation, "/a")],
        );
        // With nothing to compare with, any number is allowed.
        let schema = object(
            json!({"a": digit, "b": related(digit.clone(), relation, "/a")}),
            &["a"],
        );
        let mut optional = digits();
        optional.push(None);
        check(
            &schema,
            objects(&[("a", optional), ("b", digits())]),
            &[("/b", relation, "/a")],
        );
    }
}

#[test]
fn a_chain_of_relations_is_kept() {
    let small = json!({"type": "integer", "minimum": 7, "maximum": 9});
    let schema = object(
        json!({
            "a": small,
            "b": related(small.clone(), "at-least", "/a"),
            "c": related(small.clone(), "at-least", "/b"),
            "d": related(json!({"type": ["integer", "null"], "minimum": 8, "maximum": 8}), "not-equal", "/c"),
        }),
        &[],
    );
    let three = || some([7, 8, 9].map(Value::from));
    let documents = objects(&[
        ("a", three()),
        ("b", three()),
        ("c", three()),
        ("d", some([json!(8), Value::Null])),
    ]);
    let relations = [
        ("/b", "at-least", "/a"),
        ("/c", "at-least", "/b"),
        ("/d", "not-equal", "/c"),
    ];
    check(&schema, documents, &relations);
}

#[test]
fn what_leaves_nothing_is_null_or_absent() {
    let digit = json!({"type": "integer", "minimum": 0, "maximum": 5});
    let low = json!({"type": ["integer", "null"], "minimum": 0, "maximum": 2});
    let nullable = object(
        json!({"a": digit, "b": related(low.clone(), "at-least", "/a")}),
        &[],
    );
    let digits = || some((0..6).map(Value::from));
    let lows = [json!(0), json!(1), json!(2), Value::Null];
    let relation = [("/b", "at-least", "/a")];
    check(
        &nullable,
        objects(&[("a", digits()), ("b", some(lows))]),
        &relation,
    );
    let low = json!({"type": "integer", "minimum": 0, "maximum": 2});
    let optional = object(
        json!({"a": digit, "b": related(low, "at-least", "/a")}),
        &["b"],
    );
    let mut lows = some([0, 1, 2].map(Value::from));
    lows.push(None);
    check(
        &optional,
        objects(&[("a", digits()), ("b", lows)]),
        &relation,
    );
}

#[test]
fn dates_keep_their_order() {
    let date = json!({"type": "string", "format": "date"});
    let schema = object(
        json!({"start": date, "end": related(date.clone(), "at-least", "/start")}),
        &[],
    );
    let constraint = constraint(&schema);
    let mut random = SplitMix::new(3);
    for seed in 0..30 {
        let text = walk_and_compare(&constraint, seed, 60);
        assert!(is_kept(
            &serde_json::from_slice(&text).unwrap(),
            "/end",
            "at-least",
            "/start"
        ));
        for taste in TASTES {
            let text = generate(&constraint, taste, &mut random);
            let document = serde_json::from_str(&text).unwrap();
            assert!(is_kept(&document, "/end", "at-least", "/start"), "{text}");
        }
    }
    let fits = |text: &str| {
        constraint
            .matcher()
            .check_text(text.as_bytes())
            .unwrap()
            .is_none()
    };
    assert!(fits(r#"{"start":"2024-02-29","end":"2024-02-29"}"#));
    assert!(fits(r#"{"start":"9999-12-31","end":"9999-12-31"}"#));
    assert!(fits(r#"{"start":"2024-02-29","end":"2025-01-01"}"#));
    assert!(!fits(r#"{"start":"2024-02-29","end":"2024-02-28"}"#));
    assert!(!fits(r#"{"start":"2024-02-29","end":"2025-02-29"}"#));
}

#[test]
fn a_value_is_one_of_those_written_before() {
    let letter = json!({"type": "string", "pattern": "^[ab]$"});
    let items = json!({
        "type": "array",
        "minItems": 1,
        "maxItems": 2,
        "items": object(json!({"name": letter, "note": {"type": "null"}}), &["note"]),
    });
    let name = json!({"type": "string"});
    let schema = object(
        json!({"items": items, "pick": related(name.clone(), "in", "/items/*/name")}),
        &[],
    );
    let item = || {
        objects(&[
            ("name", some([json!("a"), json!("b")])),
            ("note", vec![None, Some(Value::Null)]),
        ])
    };
    let mut lists: Vec<Value> = item().into_iter().map(|it| json!([it])).collect();
    lists.extend(
        item()
            .into_iter()
            .flat_map(|a| item().into_iter().map(move |b| json!([a, b]))),
    );
    let picks = ["a", "b", "c"].map(Value::from);
    let relation = [("/pick", "in", "/items/*/name")];
    check(
        &schema,
        objects(&[
            ("items", some(lists.clone())),
            ("pick", some(picks.clone())),
        ]),
        &relation,
    );

    // If nothing was written, it is null or absent.
    let mut empty = schema.clone();
    empty["properties"]["items"]["minItems"] = json!(0);
    empty["properties"]["pick"]["type"] = json!(["string", "null"]);
    lists.push(json!([]));
    let mut or_null = some(picks.clone());
    or_null.push(Some(Value::Null));
    check(
        &empty,
        objects(&[("items", some(lists.clone())), ("pick", or_null)]),
        &relation,
    );
    empty["properties"]["pick"]["type"] = json!("string");
    empty["required"] = json!(["items"]);
    let mut or_absent = some(picks);
    or_absent.push(None);
    check(
        &empty,
        objects(&[("items", some(lists)), ("pick", or_absent)]),
        &relation,
    );
}

#[test]
fn an_item_refers_to_those_before_it() {
    let letter = json!({"type": "integer", "minimum": 1, "maximum": 2});
    let boss = related(json!({"type": ["integer", "null"]}), "in", "/people/*/name");
    let person = object(json!({"boss": boss, "name": letter}), &[]);
    let schema = object(
        json!({"people": {"type": "array", "items": person, "maxItems": 2}}),
        &[],
    );
    let person = || {
        objects(&[
            ("boss", some([json!(1), json!(2), Value::Null])),
            ("name", some([json!(1), json!(2)])),
        ])
    };
    let mut lists = vec![json!([])];
    lists.extend(person().into_iter().map(|it| json!([it])));
    lists.extend(
        person()
            .into_iter()
            .flat_map(|a| person().into_iter().map(move |b| json!([a, b]))),
    );
    let documents = objects(&[("people", some(lists))]);
    check(
        &schema,
        documents,
        &[("/people/*/boss", "in", "/people/*/name")],
    );
}

#[test]
fn listed_values_are_compared_too() {
    let sizes = json!({"enum": ["s", "m", "l"]});
    let values = || some(["s", "m", "l"].map(Value::from));
    let related_to = |own: Value| {
        object(
            json!({"a": sizes, "b": related(own, "not-equal", "/a")}),
            &[],
        )
    };
    let relation = [("/b", "not-equal", "/a")];
    let documents = objects(&[("a", values()), ("b", values())]);
    check(&related_to(sizes.clone()), documents, &relation);
    // Two suffice; one does not.
    let two = some(["s", "m"].map(Value::from));
    let documents = objects(&[("a", values()), ("b", two)]);
    check(
        &related_to(json!({"enum": ["s", "m"]})),
        documents,
        &relation,
    );
    let numbers = related_to(json!({"enum": [1, 2]}));
    for seed in 0..20 {
        walk_and_compare(&constraint(&numbers), seed, 60);
    }
    let error = refused(&object(
        json!({"a": sizes, "b": related(json!({"const": "s"}), "not-equal", "/a")}),
        &[],
    ));
    assert_eq!(
        error,
        "#/properties/b/x-structgen: `not-equal` cannot be kept: for some value that it refers to, nothing would be left to write"
    );
}

fn refused(schema: &Value) -> String {
    let grammar = compile(schema, &SchemaOptions::new()).unwrap().grammar;
    let tables = support::vocabulary();
    let options = structgen_constraint::ConstraintOptions::default();
    let error = CompiledConstraint::new(grammar, &tables, &options).unwrap_err();
    error.to_string()
}

#[test]
fn an_order_that_some_value_leaves_nothing_for_is_refused() {
    let number = |min: i64, max: i64| json!({"type": "integer", "minimum": min, "maximum": max});
    let of = |a: Value, b: Value, relation: &str| {
        object(json!({"a": a, "b": related(b, relation, "/a")}), &[])
    };
    assert!(
        refused(&of(number(0, 10), number(0, 9), "at-least")).contains("`at-least` cannot be kept")
    );
    assert!(
        refused(&of(number(0, 9), number(1, 9), "at-most")).contains("`at-most` cannot be kept")
    );
    let integer = json!({"type": "integer"});
    assert!(
        refused(&of(json!({"type": "number"}), integer.clone(), "at-least"))
            .contains("#/properties/b")
    );
    // Above each of these there is a multiple of five.
    let fives = json!({"type": "integer", "multipleOf": 5});
    assert!(refused(&of(integer.clone(), fives, "at-least")).contains("cannot be kept"));
    for (a, b) in [
        (number(0, 9), number(5, 9)),
        (number(0, 9), integer.clone()),
        (integer.clone(), integer),
    ] {
        let constraint = constraint(&of(a, b, "at-least"));
        for seed in 0..10 {
            walk_and_compare(&constraint, seed, 60);
        }
    }
}

/// The place of a value, its relation, and the place of the values it relates to.
type Stated = (&'static str, &'static str, &'static str);

/// Schemas with relations, and the relations.
fn schemas() -> Vec<(Value, Vec<Stated>)> {
    let string = json!({"type": "string"});
    let number = json!({"type": "number"});
    let named =
        json!({"type": "array", "minItems": 1, "items": object(json!({"name": string}), &[])});
    let loose = json!({"type": "array", "items": object(json!({"name": string, "boss": related(json!({"type": ["string", "null"]}), "in", "/items/*/name")}), &["boss"])});
    vec![
        (
            object(
                json!({"items": named, "pick": related(string.clone(), "in", "/items/*/name")}),
                &[],
            ),
            vec![("/pick", "in", "/items/*/name")],
        ),
        (
            object(
                json!({"items": loose, "pick": related(string.clone(), "in", "/items/*/name")}),
                &["pick"],
            ),
            vec![
                ("/pick", "in", "/items/*/name"),
                ("/items/*/boss", "in", "/items/*/name"),
            ],
        ),
        (
            object(
                json!({"a": string, "b": related(string.clone(), "not-equal", "/a")}),
                &["a"],
            ),
            vec![("/b", "not-equal", "/a")],
        ),
        (
            object(
                json!({"a": number, "b": related(number.clone(), "at-most", "/a"), "end": related(number.clone(), "not-equal", "/b")}),
                &[],
            ),
            vec![("/b", "at-most", "/a"), ("/end", "not-equal", "/b")],
        ),
        (
            object(
                json!({
                    "in": object(json!({"a": number}), &[]),
                    "out": {"type": "array", "maxItems": 3, "items": object(json!({"b": related(number.clone(), "at-least", "/in/a")}), &[])},
                }),
                &["in"],
            ),
            vec![("/out/*/b", "at-least", "/in/a")],
        ),
    ]
}

#[test]
fn masks_equal_the_oracle_and_budgets_are_kept() {
    for (schema, relations) in schemas() {
        for whitespace in [
            Whitespace::Compact,
            Whitespace::Spaced,
            Whitespace::Bounded { max: 3 },
        ] {
            let constraint = compiled(&schema, &SchemaOptions::new().with_whitespace(whitespace));
            for seed in 0..24 {
                let text = walk_and_compare(&constraint, seed, 30 + seed * 5);
                let document: Value = serde_json::from_slice(&text).unwrap();
                for (at, relation, to) in &relations {
                    assert!(is_kept(&document, at, relation, to), "{document}");
                }
            }
        }
    }
}

#[test]
fn outputs_keep_relations_whatever_the_model_prefers() {
    let mut random = SplitMix::new(11);
    for (schema, relations) in schemas() {
        let constraint = constraint(&schema);
        for taste in TASTES.repeat(4) {
            let text = generate(&constraint, taste, &mut random);
            let document: Value = serde_json::from_str(&text).unwrap();
            for (at, relation, to) in &relations {
                assert!(
                    is_kept(&document, at, relation, to),
                    "{taste:?}: {document}"
                );
            }
        }
    }
}

#[test]
fn relations_and_grounding_hold_together() {
    let texts = [
        "from 3 to 12 or 4.50",
        "ada and bob, ada",
        "7 7 7",
        "one word",
        "",
    ];
    let mut random = SplitMix::new(5);
    for text in texts {
        for (schema, relations) in schemas() {
            let bound = bind(&schema, text);
            for seed in 0..6 {
                walk_and_compare(&bound.constraint, seed, 60);
            }
            for taste in TASTES {
                let output = generate(&bound.constraint, taste, &mut random);
                let document: Value = serde_json::from_str(&output).unwrap();
                for (at, relation, to) in &relations {
                    assert!(is_kept(&document, at, relation, to), "{text}: {document}");
                }
            }
        }
    }
}

#[test]
fn a_grounded_value_that_leaves_nothing_is_written_freely() {
    let integer = json!({"type": "integer"});
    let schema = object(
        json!({"a": integer, "b": related(integer.clone(), "not-equal", "/a")}),
        &[],
    );
    let bound = bind(&schema, "36 and 36");
    assert_eq!(bound.ungrounded, ["#/properties/b".into()]);
    let bound = bind(&schema, "36 or 37");
    assert!(bound.ungrounded.is_empty());
    let expected = ["{\"a\":36,\"b\":37}", "{\"a\":37,\"b\":36}"].map(str::to_owned);
    assert_eq!(texts(&bound.constraint), expected.into());
}

#[test]
fn documents_in_a_row_do_not_mix() {
    let text = r##"
        root ::= doc doc
        doc ::= %json {"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
            "a": {"type": "integer", "minimum": 0, "maximum": 2},
            "b": {"type": "integer", "minimum": 0, "maximum": 2, "x-structgen": {"at-least": "/a"}}}}
    "##;
    let options = structgen_frontend::gbnf::GbnfOptions::default();
    let grammar = structgen_frontend::gbnf::parse(text, &options).unwrap();
    let constraint = support::compile(grammar);
    let fits = |text: &str| {
        constraint
            .matcher()
            .check_text(text.as_bytes())
            .unwrap()
            .is_none()
    };
    assert!(fits(r#"{"a":2,"b":2}{"a":0,"b":0}"#));
    assert!(!fits(r#"{"a":2,"b":2}{"a":1,"b":0}"#));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_bounds_keep_their_relations(
        (a, b) in ((0..6_i64, 0..4_i64), (0..6_i64, 0..4_i64)),
        relation in 0..3_usize,
        nullable in any::<bool>(),
        optional in any::<bool>(),
    ) {
        let relation = ["at-least", "at-most", "not-equal"][relation];
        let of = |(min, more): (i64, i64)| json!({"type": "integer", "minimum": min, "maximum": min + more});
        let mut own = of(b);
        if nullable {
            own["type"] = json!(["integer", "null"]);
        }
        let optional: &[&str] = if optional { &["b"] } else { &[] };
        let schema = object(json!({"a": of(a), "b": related(own, relation, "/a")}), optional);
        let first = some((a.0..=a.0 + a.1).map(Value::from));
        let mut second = some((b.0..=b.0 + b.1).map(Value::from));
        if nullable {
            second.push(Some(Value::Null));
        }
        if !optional.is_empty() {
            second.push(None);
        }
        let documents = objects(&[("a", first.clone()), ("b", second)]);
        let kept = |it: &Value| is_kept(it, "/b", relation, "/a");
        let is_live = first.iter().flatten().all(|a| documents.iter().any(|it| it["a"] == *a && kept(it)));
        let grammar = compile(&schema, &SchemaOptions::new().with_whitespace(Whitespace::Compact)).unwrap().grammar;
        let options = structgen_constraint::ConstraintOptions::default();
        let result = CompiledConstraint::new(grammar, &support::vocabulary(), &options);
        match result {
            Ok(_) => check(&schema, documents, &[("/b", relation, "/a")]),
            // A schema is refused only if some value leaves nothing.
            Err(error) => prop_assert!(!is_live, "{} {}", schema, error),
        }
    }
}
