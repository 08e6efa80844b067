//! No output has a value that is not in the text, whatever the model prefers: outputs under random and adversarial
//! preferences are checked by a slow checker that shares nothing with the engine.
//!
//! Two schemas for each text by default; `STRUCTGEN_FULL=1` takes ten, more than 1,000 pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::{SplitMix, compile_with, vocabulary_with};
use serde_json::{Map, Value, json};
use structgen_constraint::{Candidate, CandidateValue, CompiledConstraint, Input};
use structgen_frontend::json_schema::{SchemaOptions, Source, compile};
use structgen_grammar::Whitespace;
use structgen_recognize::{Leaf, Options, allowed, recognize};
use structgen_vocab::TokenId;

const TEXTS: &str = include_str!("../../../../training/handwritten.json");

fn texts() -> Vec<String> {
    let all: Vec<Value> = serde_json::from_str(TEXTS).unwrap();
    let text = |case: &Value| case["text"].as_str().unwrap().to_owned();
    all.iter().map(text).collect()
}

/// Recognises the numbers of a text, and its strings by format.
fn candidates(text: &str) -> Vec<Candidate> {
    let found = recognize(text, &Options::default());
    let mut candidates = Vec::new();
    for number in allowed(&found, Leaf::Number) {
        candidates.extend(
            number
                .spans
                .into_iter()
                .zip(number.readings)
                .map(|(span, reading)| Candidate {
                    span,
                    reading,
                    value: CandidateValue::Number(number.text.parse().unwrap()),
                }),
        );
    }
    for leaf in Leaf::STRINGS {
        for string in allowed(&found, leaf) {
            candidates.extend(string.spans.into_iter().zip(string.readings).map(
                |(span, reading)| Candidate {
                    span,
                    reading,
                    value: CandidateValue::String {
                        format: leaf.name().into(),
                        text: (&*string.text).into(),
                    },
                },
            ));
        }
    }
    candidates
}

/// A random schema with most kinds of leaves, in any nesting.
fn schema(random: &mut SplitMix, depth: u32) -> Value {
    const PATTERNS: [&str; 7] = [
        "^[0-9]{2}:[0-9]{2}$",
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        "^[A-Z]{3}$",
        "^[A-Z]",
        "[0-9]",
        "^[a-z ]+$",
        "^\\+?[0-9]+$",
    ];
    const FORMATS: [&str; 6] = ["date", "time", "date-time", "email", "uri", "duration"];
    let string = |more: Value| {
        let mut schema = json!({"type": "string"});
        let more = more.as_object().cloned().unwrap_or_default();
        schema.as_object_mut().unwrap().extend(more);
        schema
    };
    let kinds = if depth == 0 { 11 } else { 14 };
    match random.below(kinds) {
        0 | 1 => string(json!({})),
        2 => string(json!({"minLength": random.below(9), "maxLength": 9 + random.below(40)})),
        3 => string(json!({"pattern": PATTERNS[random.below(PATTERNS.len())]})),
        4 => string(
            json!({"pattern": PATTERNS[random.below(PATTERNS.len())], "maxLength": 3 + random.below(20)}),
        ),
        5 => string(json!({"format": FORMATS[random.below(FORMATS.len())]})),
        6 => json!({"type": ["string", "null"]}),
        7 => json!({"type": "integer", "minimum": 0}),
        8 => json!({"type": ["number", "null"]}),
        9 => json!({"enum": ["low", "normal", 7, null]}),
        10 => json!({"anyOf": [{"const": "none of these"}, string(json!({"maxLength": 30}))]}),
        11 | 12 => json!({
            "type": "array",
            "items": schema(random, depth - 1),
            "minItems": random.below(3),
            "maxItems": 4,
            "uniqueItems": random.below(2) == 0,
        }),
        _ => {
            let names = ["a", "b", "c", "d"];
            let names = &names[..1 + random.below(4)];
            let properties: Map<String, Value> = names
                .iter()
                .map(|name| ((*name).to_owned(), schema(random, depth - 1)))
                .collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": names[..random.below(names.len() + 1)],
                "additionalProperties": false,
            })
        }
    }
}

/// Decides what a text contains, as slowly and plainly as possible.
struct Checker {
    /// The text, and the text with single spaces.
    forms: [Vec<char>; 2],
    numbers: Vec<f64>,
    strings: BTreeSet<String>,
}

impl Checker {
    fn new(text: &str, candidates: &[Candidate]) -> Self {
        let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut numbers = Vec::new();
        let mut strings = BTreeSet::new();
        for candidate in candidates {
            match &candidate.value {
                CandidateValue::Number(number) => numbers.push(number.to_string().parse().unwrap()),
                CandidateValue::String { text, .. } | CandidateValue::OtherNotation(text) => {
                    strings.insert(text.to_string());
                }
            }
        }
        Self {
            forms: [text, &spaced].map(|form| form.chars().collect()),
            numbers,
            strings,
        }
    }

    /// Returns whether a string occurs in either form of the text between word boundaries.
    fn is_span(&self, value: &str) -> bool {
        let value: Vec<char> = value.chars().collect();
        let is_word = |c: Option<&char>| c.is_some_and(|c| *c == '_' || c.is_alphanumeric());
        !value.is_empty()
            && self.forms.iter().any(|form| {
                let is_border = |at: usize| {
                    let before = at.checked_sub(1).and_then(|before| form.get(before));
                    !(is_word(before) && is_word(form.get(at)))
                };
                let mut starts = (0..form.len()).filter(|&at| form[at..].starts_with(&value));
                starts.any(|at| is_border(at) && is_border(at + value.len()))
            })
    }

    /// Returns whether a schema allows a value in an output: it is listed, in the text or recognised, or its place was
    /// reported as ungrounded.
    fn allows(&self, value: &Value, schema: &Value, pointer: &str, lifted: &[Box<str>]) -> bool {
        if lifted.iter().any(|it| **it == *pointer) {
            return true;
        }
        if let Some(listed) = schema["enum"].as_array() {
            let is_it = |it: &Value| it == value || it.is_number() && it.as_f64() == value.as_f64();
            return listed.iter().any(is_it);
        }
        if let Some(constant) = schema.get("const") {
            return constant == value;
        }
        if let Some(arms) = schema["anyOf"].as_array() {
            let mut arms = arms.iter().zip(0..);
            return arms.any(|(arm, index)| {
                self.allows(value, arm, &format!("{pointer}/anyOf/{index}"), lifted)
            });
        }
        match value {
            Value::String(text) => {
                let is_typed = schema.get("pattern").or(schema.get("format")).is_some();
                self.is_span(text) || is_typed && self.strings.contains(text)
            }
            Value::Number(number) => {
                let number = number.as_f64();
                self.numbers.iter().any(|&it| Some(it) == number)
            }
            Value::Array(items) => items.iter().all(|item| {
                self.allows(item, &schema["items"], &format!("{pointer}/items"), lifted)
            }),
            Value::Object(members) => members.iter().all(|(name, member)| {
                let below = format!("{pointer}/properties/{name}");
                self.allows(member, &schema["properties"][name], &below, lifted)
            }),
            Value::Null | Value::Bool(_) => true,
        }
    }
}

/// What the logits prefer.
#[derive(Clone, Copy, Debug)]
enum Logits {
    Random,
    /// The longest token.
    Longest,
    /// Tokens that contain this byte.
    Byte(u8),
    /// The token that continues longest in another text.
    Elsewhere,
}

const LOGITS: [Logits; 7] = [
    Logits::Random,
    Logits::Longest,
    Logits::Byte(b'"'),
    Logits::Byte(b'9'),
    Logits::Byte(b'e'),
    Logits::Byte(b' '),
    Logits::Elsewhere,
];

/// Decodes to the end, which a budget enforces.
fn decode(constraint: &CompiledConstraint, logits: Logits, random: &mut SplitMix) -> String {
    const ELSEWHERE: &str = "Ada Lovelace, born on 10 December 1815 in London, paid 99 dollars";
    let vocabulary = constraint.vocabulary();
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    let mut budget = matcher.completion_cost().unwrap() + 120;
    while !matcher.is_finished() {
        let mask = matcher.mask().unwrap();
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        assert!(!tokens.is_empty(), "a dead end");
        let bytes = |token: TokenId| vocabulary.token_bytes(token).unwrap_or_default();
        let score = |token: TokenId| match logits {
            Logits::Random => 0,
            Logits::Longest => bytes(token).len(),
            Logits::Byte(byte) => usize::from(bytes(token).contains(&byte)),
            Logits::Elsewhere => {
                let text = std::str::from_utf8(bytes(token)).unwrap_or("\0");
                if ELSEWHERE.contains(text) {
                    text.len()
                } else {
                    0
                }
            }
        };
        let mut scored: Vec<(usize, usize, TokenId)> = tokens
            .iter()
            .map(|&token| (score(token), random.below(1 << 20), token))
            .collect();
        scored.sort_unstable_by(|a, b| b.cmp(a));
        let mut affordable =
            |token: TokenId| matcher.completion_cost_after(token).unwrap() < budget;
        let drawn = { scored.iter() }.find(|&&(.., token)| affordable(token));
        let &(.., token) = drawn.expect("some token keeps to the budget");
        matcher.accept_token(token).unwrap();
        if !constraint.eos().contains(&token) {
            text.extend_from_slice(bytes(token));
        }
        budget -= 1;
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn no_value_is_made_up_under_any_logits() {
    let is_full = std::env::var_os("STRUCTGEN_FULL").is_some_and(|value| value == "1");
    let schemas = if is_full { 10 } else { 2 };
    let texts = texts();
    // The words of some texts, as a tokenizer would have them, and some that occur in none.
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(' ')).collect();
    let words = words
        .into_iter()
        .filter(|word| (2..12).contains(&word.len()));
    let words: Vec<String> = words
        .step_by(3)
        .flat_map(|word| {
            [
                word.to_owned(),
                format!(" {word}"),
                format!("\"{word}"),
                format!("{word}\""),
            ]
        })
        .chain(["Lovelace", " Lovelace", " dollars", "\",\"Ada"].map(str::to_owned))
        .collect();
    let words: BTreeSet<&str> = words.iter().map(String::as_str).collect();
    let tables = vocabulary_with(&words.into_iter().collect::<Vec<_>>());
    let mut random = SplitMix::new(16);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in &texts {
        let candidates = candidates(text);
        let checker = Checker::new(text, &candidates);
        let input = Arc::new(Input::with_candidates(text, candidates).unwrap());
        for _ in 0..schemas {
            let schema = schema(&mut random, 3);
            let options = SchemaOptions::new().with_source(Source::Input);
            let options = options.with_whitespace(Whitespace::Compact);
            let Ok(compiled) = compile(&schema, &options) else {
                continue;
            };
            let bound = compile_with(compiled.grammar, &tables)
                .bind(&input)
                .unwrap();
            *counts.entry("pairs").or_default() += 1;
            *counts.entry("pairs with ungrounded values").or_default() +=
                usize::from(!bound.ungrounded.is_empty());
            let logits = [Logits::Random, LOGITS[random.below(LOGITS.len())]];
            for logits in if is_full { &LOGITS[..] } else { &logits } {
                let output = decode(&bound.constraint, *logits, &mut random);
                let value: Value = serde_json::from_str(&output).unwrap();
                assert!(
                    checker.allows(&value, &schema, "#", &bound.ungrounded),
                    "{logits:?}: {output} of {text:?} under {schema}, ungrounded {:?}",
                    bound.ungrounded
                );
                *counts.entry("outputs").or_default() += 1;
            }
        }
    }
    assert!(
        counts["pairs"] >= texts.len() * schemas * 9 / 10,
        "{counts:?}"
    );
    assert!(
        counts["pairs with ungrounded values"] < counts["pairs"] / 2,
        "{counts:?}"
    );
}
