//! Random schemas of every keyword: documents are judged as an independent validator judges them, and what masks lead
//! to is valid.
//!
//! A slice by default; `STRUCTGEN_FULL=1` judges 100,000 pairs and walks 100,000 times.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use structgen::grammar::Whitespace;
use structgen::{Checker, Constraint, FormatMode, KeyOrder, Profile, SchemaOptions};
use structgen_tests::generator::{SchemaGenerator, mutated, value};
use structgen_tests::vocabularies;
use structgen_tests::{SplitMix, is_full_run, report, walk};

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .ok()
}

fn options() -> SchemaOptions {
    SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any)
        .with_formats(FormatMode::Assert)
}

/// What became of a schema.
enum Compiled {
    Checker(Box<Checker>),
    /// Nothing fits it.
    Empty,
    Refused(String),
}

fn compile(schema: &Value) -> Compiled {
    let constraint = Constraint::json_schema(schema, &options());
    match constraint.and_then(|constraint| Checker::new(&constraint)) {
        Ok(checker) => Compiled::Checker(Box::new(checker)),
        Err(error) => {
            let error = error.to_string();
            if error.contains("no value is valid") || error.contains("no text matches") {
                return Compiled::Empty;
            }
            Compiled::Refused(error)
        }
    }
}

/// Whether both judge the document alike; `None` where the checker runs into a limit.
fn agrees(
    compiled: &Compiled,
    validator: &jsonschema::Validator,
    document: &Value,
) -> Option<bool> {
    let expected = validator.is_valid(document);
    match compiled {
        Compiled::Empty => Some(!expected),
        Compiled::Refused(_) => None,
        Compiled::Checker(checker) => match checker.check(document.to_string().as_bytes()) {
            Ok(mismatch) => Some(mismatch.is_none() == expected),
            Err(_) => None,
        },
    }
}

/// The smallest schema out of the one with less in it about which the two still disagree.
fn smallest(schema: &Value, document: &Value) -> Value {
    let disagrees = |schema: &Value| {
        validator(schema)
            .is_some_and(|validator| agrees(&compile(schema), &validator, document) == Some(false))
    };
    let mut schema = schema.clone();
    'again: loop {
        for pointer in pointers(&schema) {
            let mut less = schema.clone();
            remove(&mut less, &pointer);
            if less != schema && disagrees(&less) {
                schema = less;
                continue 'again;
            }
        }
        return schema;
    }
}

fn pointers(value: &Value) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut add = |key: String, child: &Value| {
        all.push(vec![key.clone()]);
        for mut path in pointers(child) {
            path.insert(0, key.clone());
            all.push(path);
        }
    };
    match value {
        Value::Object(entries) => entries
            .iter()
            .for_each(|(key, child)| add(key.clone(), child)),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, child)| add(i.to_string(), child));
        }
        _ => {}
    }
    all
}

fn remove(value: &mut Value, path: &[String]) {
    match (value, path) {
        (Value::Object(entries), [key]) => {
            entries.remove(key);
        }
        (Value::Array(items), [key]) => {
            items.remove(key.parse().expect("an index"));
        }
        (Value::Object(entries), [key, rest @ ..]) => remove(&mut entries[key], rest),
        (Value::Array(items), [key, rest @ ..]) => {
            remove(&mut items[key.parse::<usize>().expect("an index")], rest);
        }
        _ => {}
    }
}

/// Why a schema may be refused: what is known not to be compiled, and limits.
const REASONS: &[&str] = &[
    "its negation asks for two equal items",
    "applies itself to the same value without end",
    "exceed the limit",
    "exceeds the limit",
    "too many",
];

#[test]
fn documents_are_judged_as_an_independent_validator_judges_them() {
    const PER_SCHEMA: usize = 20;
    let pairs = if is_full_run() { 100_000 } else { 4_000 };
    let mut random = SplitMix::new(2);
    let (mut judged, mut undecided, mut valid, mut schemas) = (0, 0, 0, 0);
    let mut refused: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    let mut wrong = Vec::new();
    while judged + undecided < pairs {
        let schema = SchemaGenerator::document(&mut random);
        let Some(validator) = validator(&schema) else {
            continue;
        };
        let compiled = compile(&schema);
        schemas += 1;
        if let Compiled::Refused(reason) = &compiled {
            let known = REASONS.iter().find(|known| reason.contains(**known));
            let kind = known.map_or_else(|| reason.clone(), |known| (*known).to_owned());
            refused.entry(kind).or_insert((0, schema.clone())).0 += 1;
            continue;
        }
        let mut document = value(&mut random, 3);
        for i in 0..PER_SCHEMA {
            // What is near something that fits is where they might differ.
            let next = match i % 3 {
                0 => value(&mut random, 3),
                _ => mutated(&mut random, &document),
            };
            if !validator.is_valid(&document) || validator.is_valid(&next) {
                document = next.clone();
            }
            let Some(is_right) = agrees(&compiled, &validator, &next) else {
                undecided += 1;
                continue;
            };
            judged += 1;
            valid += usize::from(validator.is_valid(&next));
            if !is_right && wrong.len() < 20 {
                wrong.push((smallest(&schema, &next), next));
                break;
            }
        }
    }
    report(&format!(
        "{judged} pairs over {schemas} schemas, {valid} of them valid; {undecided} undecided, {} schemas refused",
        refused.values().map(|(count, _)| count).sum::<usize>()
    ));
    for (reason, (count, schema)) in &refused {
        report(&format!("  {count}: {reason} ({schema})"));
    }
    let shown: Vec<String> = wrong
        .iter()
        .map(|(schema, document)| format!("{schema}\n    {document}"))
        .collect();
    assert!(wrong.is_empty(), "judged otherwise:\n{}", shown.join("\n"));
    assert!(valid * 20 > judged, "hardly anything is valid");
    assert!(
        undecided * 20 < judged,
        "too many documents, {undecided}, are not decided"
    );
    let unknown: Vec<_> = refused
        .iter()
        .filter(|(reason, _)| !REASONS.contains(&reason.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "refused for no reason that is known: {unknown:?}"
    );
}

/// Whether every number in the text has so few digits that a double has its value.
fn are_doubles(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let numbers = text.split(|c| !is_part(c));
    let mut numbers = numbers.filter(|part| part.contains(|c: char| c.is_ascii_digit()));
    // Nor is a zero with a sign an integer to a reader of doubles, in draft 4.
    numbers.all(|number| number.len() <= 15 && !number.contains(['e', 'E']) && number != "-0")
}

#[test]
fn what_masks_lead_to_is_valid() {
    const PER_SCHEMA: usize = 10;
    let walks = if is_full_run() { 100_000 } else { 1_500 };
    let vocabulary = vocabularies::small();
    let mut random = SplitMix::new(3);
    let (mut walked, mut limited, mut schemas, mut unjudged) = (0, 0, 0, 0);
    while walked < walks {
        let schema = SchemaGenerator::document(&mut random);
        let Some(validator) = validator(&schema) else {
            continue;
        };
        let generate = random.below(2) == 0;
        let mut options = options().with_whitespace(Whitespace::Bounded { max: 2 });
        if generate {
            options = options
                .with_profile(Profile::Generate)
                .with_whitespace(Whitespace::Spaced);
        }
        if random.below(2) == 0 {
            options = options.with_order(KeyOrder::Declared);
        }
        let Ok(constraint) = Constraint::json_schema(&schema, &options) else {
            continue;
        };
        let Ok(constraint) = constraint.compile(&vocabulary.tables, &[vocabulary.eos]) else {
            continue;
        };
        schemas += 1;
        for _ in 0..PER_SCHEMA {
            walked += 1;
            let text = match walk(&constraint, &vocabulary, &mut random) {
                Ok(Some(text)) => text,
                Ok(None) => {
                    limited += 1;
                    continue;
                }
                Err(stuck) => panic!("{stuck} with {schema}"),
            };
            let shown = String::from_utf8_lossy(&text).into_owned();
            // The validator reads numbers as doubles: what is no double is not its to judge. And a word boundary is one
            // of ASCII words (ECMA-262, IsWordChar), where the validator takes all letters for those of words.
            let boundaries = schema.to_string().contains(r"\\b");
            if !are_doubles(&shown) || (boundaries && !shown.is_ascii()) {
                unjudged += 1;
                continue;
            }
            let document: Value = serde_json::from_slice(&text)
                .unwrap_or_else(|error| panic!("{error}: {shown} for {schema}"));
            assert!(
                validator.is_valid(&document),
                "{shown} does not fit {schema}"
            );
        }
    }
    report(&format!(
        "{walked} walks over {schemas} schemas, all valid; {limited} met a limit, {unjudged} are not the validator's to judge"
    ));
    assert!(limited * 20 < walked, "too many walks meet limits");
    assert!(
        unjudged * 2 < walked,
        "the validator judges only a few texts"
    );
}

/// Returns a chain of conditions on `kind`, each with properties of its own types: members of `allOf`, or each the
/// `else` of the one before.
fn chain(conditions: usize, properties: usize, is_nested: bool) -> Value {
    let arm = |i: usize| {
        let property = |j: usize| {
            let name = ["string", "integer", "boolean"][(i + j) % 3];
            (format!("p{j}"), json!({"type": name}))
        };
        let properties: Map<String, Value> = (0..properties).map(property).collect();
        json!({
            "if": {"properties": {"kind": {"const": format!("k{i}")}}, "required": ["kind"]},
            "then": {"properties": properties, "required": [format!("p{i}")]},
        })
    };
    let arms = (0..conditions).map(arm);
    let chain = match is_nested {
        false => json!({"allOf": arms.collect::<Vec<_>>()}),
        true => arms.rev().fold(json!(true), |others, mut arm| {
            arm["else"] = others;
            arm
        }),
    };
    json!({"type": "object", "allOf": [chain], "properties": {"kind": {"type": "string"}}})
}

#[test]
fn long_chains_of_conditions_are_judged_as_by_another_validator() {
    const CONDITIONS: usize = 24;
    const PROPERTIES: usize = 40;
    let values = |i: usize| {
        let value = |j: usize| {
            let values = [json!("a"), json!(1), json!(true)];
            (format!("p{j}"), values[(i + j) % 3].clone())
        };
        (0..PROPERTIES).map(value).collect::<Map<_, _>>()
    };
    for is_nested in [false, true] {
        let schema = chain(CONDITIONS, PROPERTIES, is_nested);
        let validator = validator(&schema).expect("a schema");
        let compiled = compile(&schema);
        if let Compiled::Refused(reason) = &compiled {
            panic!("{reason}");
        }
        // The last kind is that of no condition.
        for i in 0..=CONDITIONS {
            let mut document = values(i);
            document.insert("kind".into(), format!("k{i}").into());
            let mut documents = vec![Value::Object(values(i)), Value::Object(document.clone())];
            for key in ["kind".to_owned(), format!("p{i}"), "p39".to_owned()] {
                for other in [None, Some(json!(null)), Some(json!("k3"))] {
                    let mut changed = document.clone();
                    match other {
                        Some(other) => changed.insert(key.clone(), other),
                        None => changed.remove(&key),
                    };
                    documents.push(changed.into());
                }
            }
            for document in documents {
                let is_right = agrees(&compiled, &validator, &document);
                assert_eq!(is_right, Some(true), "{document}");
            }
        }
    }
}
