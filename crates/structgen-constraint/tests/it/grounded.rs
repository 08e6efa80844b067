//! Grounded values: all of those of the input, no others, and no dead ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::support::{self, SplitMix, TASTES, Taste, generate, texts, walk_and_compare};
use proptest::prelude::*;
use serde_json::{Value, json};
use structgen_constraint::{BoundConstraint, Candidate, CandidateValue, CompiledConstraint, Input};
use structgen_frontend::gbnf::GbnfOptions;
use structgen_frontend::json_schema::{SchemaOptions, Source, compile};
use structgen_grammar::Whitespace;
use structgen_vocab::TokenId;

fn constraint(schema: &Value) -> CompiledConstraint {
    constraint_in(Whitespace::Compact, schema)
}

fn constraint_in(whitespace: Whitespace, schema: &Value) -> CompiledConstraint {
    let options = SchemaOptions::new().with_source(Source::Input);
    let options = options.with_whitespace(whitespace);
    support::compile(compile(schema, &options).unwrap().grammar)
}

fn bind(schema: &Value, text: &str) -> BoundConstraint {
    let input = Arc::new(Input::new(text).unwrap());
    constraint(schema).bind(&input).unwrap()
}

/// Returns whether the character is punctuation in the texts here; a span of only these is left out.
fn is_punctuation(c: char) -> bool {
    c.is_whitespace() || (c.is_ascii_punctuation() && !"$%+<=>^_`|~".contains(c))
}

/// Returns all spans of a text by definition, each as it stands and with single spaces.
fn spans(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let ends: Vec<usize> = (0..=text.len())
        .filter(|&at| text.is_char_boundary(at))
        .filter(|&at| {
            let before = text[..at].chars().next_back().is_some_and(is_word);
            let after = text[at..].chars().next().is_some_and(is_word);
            !(before && after)
        })
        .collect();
    let mut spans = BTreeSet::new();
    for &from in &ends {
        for &to in ends.iter().filter(|&&to| to > from) {
            let span = &text[from..to];
            if span.trim() == span && !span.chars().all(is_punctuation) {
                spans.insert(span.to_owned());
                spans.insert(span.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    spans
}

fn written<'v>(values: impl IntoIterator<Item = &'v String>) -> BTreeSet<String> {
    values.into_iter().map(|it| json!(it).to_string()).collect()
}

const TEXTS: [&str; 7] = [
    "Ada Lovelace was 36.",
    "a a a a",
    "one\ntwo   three \t\n four",
    "\"quoted\" \\ and\u{1}control",
    "naïve 東京に行く, cafe",
    "x_1-y_2, z",
    "3 of 12, 4.50 (-7) or 1e3",
];

#[test]
fn strings_are_the_spans_of_the_text() {
    let schema = json!({"type": "string"});
    for text in TEXTS.iter().filter(|text| !text.contains('東')) {
        let bound = bind(&schema, text);
        assert!(bound.ungrounded.is_empty());
        assert_eq!(texts(&bound.constraint), written(&spans(text)), "{text:?}");
    }
}

#[test]
fn characters_of_scripts_without_spaces_are_words() {
    let bound = bind(&json!({"type": "string", "maxLength": 2}), "東京に 行く");
    let found = texts(&bound.constraint);
    for span in ["東", "東京", "京に", "行く", "く"] {
        assert!(found.contains(&json!(span).to_string()), "{span}");
    }
    assert!(!found.contains("\"に行\""));
}

#[test]
fn a_set_leaves_out_the_spans_that_are_not_in_it() {
    type Holds = fn(&str) -> bool;
    let cases: [(Value, Holds); 7] = [
        (json!({"minLength": 4, "maxLength": 9}), |it| {
            (4..=9).contains(&it.chars().count())
        }),
        (json!({"maxLength": 1}), |it| it.chars().count() == 1),
        (json!({"minLength": 3, "maxLength": 3}), |it| {
            it.chars().count() == 3
        }),
        (json!({"minLength": 6}), |it| it.chars().count() >= 6),
        (json!({"pattern": "^[a-z ]+$"}), |it| {
            it.chars().all(|c| c == ' ' || c.is_ascii_lowercase())
        }),
        (json!({"pattern": "[0-9]"}), |it| {
            it.contains(|c: char| c.is_ascii_digit())
        }),
        (json!({"pattern": "e$", "maxLength": 12}), |it| {
            it.ends_with('e') && it.chars().count() <= 12
        }),
    ];
    for (mut schema, holds) in cases {
        schema["type"] = json!("string");
        for text in TEXTS.iter().filter(|text| !text.contains('東')) {
            let spans = spans(text);
            let expected = written(spans.iter().filter(|it| holds(it)));
            let bound = bind(&schema, text);
            assert_eq!(
                bound.ungrounded.is_empty(),
                !expected.is_empty(),
                "{text:?} {schema}"
            );
            if !expected.is_empty() {
                assert_eq!(texts(&bound.constraint), expected, "{text:?} {schema}");
            }
        }
    }
}

#[test]
fn numbers_are_candidates_in_the_set() {
    let found = |schema: Value, text: &str| texts(&bind(&schema, text).constraint);
    let set = |all: &[&str]| {
        all.iter()
            .map(|it| (*it).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let text = "3 of 12, 4.50 (-7)";
    assert_eq!(
        found(json!({"type": "number"}), text),
        set(&["3", "12", "4.5", "-7"])
    );
    assert_eq!(
        found(json!({"type": "integer", "minimum": 0}), text),
        set(&["3", "12"])
    );
    assert_eq!(
        found(json!({"type": ["integer", "null"], "multipleOf": 4}), text),
        set(&["12", "null"])
    );
    assert_eq!(
        found(json!({"type": ["integer", "null"], "minimum": 100}), text),
        set(&["null"])
    );
}

#[test]
fn candidates_of_a_format_are_its_strings() {
    let text = "on 12 May 2024, or 2024-05-13";
    let date = |text: &str| Candidate {
        span: 3..14,
        reading: 0,
        value: CandidateValue::String {
            format: "date".into(),
            text: text.into(),
        },
    };
    let schema = json!({"type": "string", "format": "date"});
    let with = Input::with_candidates(text, [date("2024-05-12"), date("today")]).unwrap();
    let bound = constraint(&schema).bind(&Arc::new(with)).unwrap();
    assert_eq!(
        texts(&bound.constraint),
        ["\"2024-05-12\"".to_owned()].into()
    );
    // Without candidates, only what the text has in the format's own notation is allowed.
    assert_eq!(
        texts(&bind(&schema, text).constraint),
        ["\"2024-05-13\"".to_owned()].into()
    );
}

#[test]
fn a_pattern_that_nothing_matches_has_the_candidates_in_other_notations() {
    let text = "due 12 May 2024, paid 03/05/2024";
    let candidate = |value| Candidate {
        span: 4..15,
        reading: 0,
        value,
    };
    let other = |text: &str| candidate(CandidateValue::OtherNotation(text.into()));
    let date = candidate(CandidateValue::String {
        format: "date".into(),
        text: "2024-05-12".into(),
    });
    let candidates = [date, other("12.05.2024"), other("12/05/2024")];
    let input = Arc::new(Input::with_candidates(text, candidates).unwrap());
    let found = |pattern: &str| {
        let schema = json!({"type": "string", "pattern": pattern});
        let bound = constraint(&schema).bind(&input).unwrap();
        assert_eq!(bound.ungrounded, [""; 0].map(Box::from), "{pattern}");
        for seed in 0..8 {
            walk_and_compare(&bound.constraint, seed, 40);
        }
        texts(&bound.constraint)
    };
    let of = |all: &[&str]| written(&all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
    assert_eq!(
        found(r"^[0-9]{2}\.[0-9]{2}\.[0-9]{4}$"),
        of(&["12.05.2024"])
    );
    // A span of the text, and a candidate in its usual notation, come first.
    assert_eq!(found("^[0-9]{2}/[0-9]{2}/[0-9]{4}$"), of(&["03/05/2024"]));
    assert_eq!(found("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), of(&["2024-05-12"]));
    assert_eq!(input.sources_of_string("12.05.2024")[0], 4..15);
}

#[test]
fn a_pattern_has_the_spans_and_the_candidates_that_match() {
    let text = "at half past nine, 14:05 or x9, on 12 May";
    let candidate = |span, format: &str, text: &str| Candidate {
        span,
        reading: 0,
        value: CandidateValue::String {
            format: format.into(),
            text: text.into(),
        },
    };
    let candidates = [
        candidate(3..17, "hour-minute", "09:30"),
        candidate(3..17, "partial-time", "09:30:00"),
        candidate(19..24, "hour-minute", "14:05"),
        candidate(35..41, "date", "2024-05-12"),
        candidate(0..0, "currency", ""),
    ];
    let input = Arc::new(Input::with_candidates(text, candidates).unwrap());
    let found = |schema: Value| {
        let bound = constraint(&schema).bind(&input).unwrap();
        assert_eq!(bound.ungrounded, [""; 0].map(Box::from), "{schema}");
        for seed in 0..8 {
            walk_and_compare(&bound.constraint, seed, 40);
        }
        texts(&bound.constraint)
    };
    let of = |all: &[&str]| written(&all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
    let pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
    assert_eq!(
        found(pattern("^[0-9]{2}:[0-9]{2}$")),
        of(&["09:30", "14:05"])
    );
    assert_eq!(
        found(pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$")),
        of(&["2024-05-12"])
    );
    // Bounds on the length apply to both, and a candidate is whole or absent.
    assert_eq!(
        found(json!({"type": "string", "pattern": "^[0-9x]", "maxLength": 5})),
        of(&[
            "05", "05 or", "09:30", "12", "14", "14:", "14:05", "x9", "x9,"
        ])
    );
    // A string without a pattern is a span of the text, letter by letter.
    let plain = found(json!({"type": "string", "maxLength": 5}));
    assert!(plain.contains("\"14:05\"") && !plain.contains("\"09:30\""));
    // Distinct items count a candidate once, wherever it was recognised.
    let times =
        json!({"type": "array", "items": pattern("^[0-9]{2}:[0-9]{2}$"), "uniqueItems": true});
    assert_eq!(found(times).len(), 1 + 2 + 2);
}

#[test]
fn what_may_be_absent_is_absent_and_what_may_not_is_reported() {
    let schema = json!({
        "type": "object",
        "properties": {
            "age": {"type": "integer"},
            "size": {"type": "integer"},
            "weight": {"type": ["integer", "null"]},
            "place": {"type": "object", "properties": {"zip": {"type": "integer"}}, "required": ["zip"]},
        },
        "required": ["age", "weight"],
        "additionalProperties": false,
    });
    let bound = bind(&schema, "no number");
    assert_eq!(bound.ungrounded, ["#/properties/age".into()]);
    let mut matcher = bound.constraint.matcher();
    assert_eq!(
        matcher.check_text(br#"{"age":5,"weight":null}"#).unwrap(),
        None
    );
    for refused in [
        &br#"{"age":5,"size":5,"weight":null}"#[..],
        br#"{"age":5,"weight":5}"#,
        br#"{"age":5,"weight":null,"place":{"zip":5}}"#,
    ] {
        assert!(matcher.check_text(refused).unwrap().is_some());
    }
    let bound = bind(&schema, "36");
    assert_eq!(bound.ungrounded, [""; 0].map(Box::from));
    assert_eq!(texts(&bound.constraint).len(), 2 * 2 * 2);
}

#[test]
fn listed_values_and_formats_stand_beside_grounded_ones() {
    let schema = json!({"anyOf": [{"enum": ["unknown", "Ada was"]}, {"type": ["string", "null"]}]});
    let mut expected = written(&spans("Ada was 3"));
    expected.extend(["\"unknown\"".to_owned(), "null".to_owned()]);
    assert_eq!(texts(&bind(&schema, "Ada was 3").constraint), expected);
}

#[test]
fn distinct_items_run_out() {
    let schema =
        json!({"type": "array", "items": {"type": "string", "maxLength": 1}, "uniqueItems": true});
    let found = texts(&bind(&schema, "a b, c a").constraint);
    // Of three values: 1 + 3 + 6 + 6.
    assert_eq!(found.len(), 16, "{found:?}");
    let schema =
        json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "minItems": 3});
    let found = texts(&bind(&schema, "1 2 3 2 1").constraint);
    assert_eq!(found.len(), 6, "{found:?}");
    // There are too few distinct values to fill the required array.
    let bound = bind(&schema, "1 1 2");
    assert_eq!(bound.ungrounded, ["#/items".into()]);
}

#[test]
fn a_grammar_has_grounded_values_through_a_schema() {
    let text = r##"
        root ::= "name: " name ", age: " %json {"type": "integer", "x-structgen": {"source": "input"}}
        name ::= @name(%json {"type": "string", "maxLength": 3, "x-structgen": {"source": "input"}})
    "##;
    let options = GbnfOptions::default();
    let grammar = structgen_frontend::gbnf::parse(text, &options).unwrap();
    let input = Arc::new(Input::new("Ada, 36").unwrap());
    let bound = support::compile(grammar).bind(&input).unwrap();
    assert_eq!(bound.ungrounded, [""; 0].map(Box::from));
    let names = ["Ada", "36"];
    let expected = names.map(|name| format!("name: \"{name}\", age: 36"));
    assert_eq!(texts(&bound.constraint), expected.into());
}

#[test]
fn an_empty_text_has_nothing() {
    for text in ["", " \n\t "] {
        let bound = bind(&json!({"type": "string"}), text);
        assert_eq!(bound.ungrounded, ["#".into()]);
        let bound = bind(&json!({"type": "array", "items": {"type": "string"}}), text);
        assert_eq!(texts(&bound.constraint), ["[]".to_owned()].into());
    }
}

#[test]
fn a_long_text_of_few_words_is_bound() {
    let texts = ["a ".repeat(5_000), "ab\ncd, ".repeat(2_000)];
    let schema = json!({
        "type": "object",
        "properties": {
            "exact": {"type": ["string", "null"], "minLength": 4_999, "maxLength": 4_999},
            "found": {"type": ["string", "null"], "pattern": "zz"},
            "any": {"type": "string"},
        },
        "required": ["exact", "found", "any"],
        "additionalProperties": false,
    });
    for text in texts {
        let bound = bind(&schema, &text);
        assert_eq!(bound.ungrounded, [""; 0].map(Box::from));
        let mut random = SplitMix::new(1);
        generate(&bound.constraint, Taste::Letters, &mut random);
    }
}

fn schemas() -> Vec<Value> {
    let string = json!({"type": "string"});
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        object(
            json!({"name": string, "age": {"type": "integer"}, "note": {"type": ["string", "null"]}}),
            json!(["name"]),
        ),
        object(
            json!({
                "tags": {"type": "array", "items": string, "uniqueItems": true, "minItems": 1, "maxItems": 4},
                "code": {"type": "string", "pattern": "^[a-z]"},
                "codes": {"type": "array", "items": {"type": "string", "pattern": "[a-z0-9]$"}, "uniqueItems": true},
                "people": {"type": "array", "items": object(json!({"a": string}), json!(["a"])), "uniqueItems": true},
                "kind": {"anyOf": [{"enum": ["x", "ab"]}, {"type": "string", "maxLength": 5}]},
            }),
            json!(["tags", "kind"]),
        ),
        json!({"type": "array", "items": {"anyOf": [object(json!({"a": string, "b": {"type": "number"}}), json!(["a"])), string]}}),
    ]
}

/// Collects every string and number of a document, except those that a schema lists.
fn values(document: &Value, found: &mut Vec<Value>) {
    match document {
        Value::String(text) if !["x", "ab"].contains(&&**text) => found.push(document.clone()),
        Value::Number(_) => found.push(document.clone()),
        Value::Array(items) => items.iter().for_each(|item| values(item, found)),
        Value::Object(members) => members.values().for_each(|value| values(value, found)),
        _ => {}
    }
}

fn check_outputs(text: &str, seed: u64) {
    let mut random = SplitMix::new(seed);
    let spans = spans(text);
    let input = Arc::new(Input::new(text).unwrap());
    for schema in schemas() {
        let bound = constraint(&schema).bind(&input).unwrap();
        for taste in TASTES {
            let output = generate(&bound.constraint, taste, &mut random);
            let document: Value = serde_json::from_str(&output).unwrap();
            let mut found = Vec::new();
            values(&document, &mut found);
            if bound.ungrounded.is_empty() {
                for value in found {
                    let is_there = match &value {
                        Value::String(string) => spans.contains(string),
                        number => {
                            let absolute = number.as_f64().map(f64::abs);
                            spans.iter().any(|span| span.parse().ok() == absolute)
                        }
                    };
                    assert!(is_there, "{value} is not in {text:?} ({taste:?}): {output}");
                }
            }
        }
    }
}

#[test]
fn no_value_is_made_up_whatever_the_model_prefers() {
    for (text, seed) in TEXTS
        .iter()
        .zip(0..)
        .filter(|(text, _)| !text.contains('東'))
    {
        check_outputs(text, seed);
    }
}

#[test]
fn masks_equal_the_oracle() {
    for (text, whitespace) in TEXTS
        .iter()
        .zip([Whitespace::Compact, Whitespace::Spaced].iter().cycle())
    {
        let input = Arc::new(Input::new(text).unwrap());
        for schema in schemas() {
            let bound = constraint_in(*whitespace, &schema).bind(&input).unwrap();
            for seed in 0..6 {
                walk_and_compare(&bound.constraint, seed, 40);
            }
        }
    }
}

#[test]
fn masks_are_those_of_all_texts_that_may_follow() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 6}, "n": {"type": "integer"}},
        "required": ["a", "n"],
        "additionalProperties": false,
    });
    let text = "foo bar, 10 123 a";
    let constraint = bind(&schema, text).constraint;
    let all = texts(&constraint);
    let spans = spans(text);
    let strings: Vec<&String> = spans.iter().filter(|it| it.len() <= 6).collect();
    assert_eq!(all.len(), 2 * strings.len());
    let vocabulary = constraint.vocabulary();
    for seed in 0..40 {
        let mut random = SplitMix::new(seed);
        let mut matcher = constraint.matcher();
        let mut text = Vec::new();
        while !matcher.is_finished() {
            let mask = matcher.mask().unwrap();
            let tokens: Vec<TokenId> = mask.bits().iter().collect();
            for id in (0..vocabulary.len() as u32).map(TokenId) {
                let bytes = vocabulary.token_bytes(id).unwrap_or_default();
                if bytes.is_empty() {
                    continue;
                }
                let longer = [&text[..], bytes].concat();
                let may_follow = all.iter().any(|it| it.as_bytes().starts_with(&longer));
                assert_eq!(mask.contains(id), may_follow, "{longer:?}");
            }
            let token = tokens[random.below(tokens.len())];
            matcher.accept_token(token).unwrap();
            text.extend_from_slice(vocabulary.token_bytes(token).unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spans_of_any_text_are_its_strings(text in "[ab1 ,\n\"\\\\]{0,14}") {
        let bound = bind(&json!({"type": "string"}), &text);
        let spans = spans(&text);
        prop_assert_eq!(bound.ungrounded.is_empty(), !spans.is_empty());
        if !spans.is_empty() {
            prop_assert_eq!(texts(&bound.constraint), written(&spans));
        }
    }

    #[test]
    fn no_output_has_a_value_of_its_own(text in "[abx12 ,.\n-]{0,40}", seed in any::<u64>()) {
        check_outputs(&text, seed);
    }
}
