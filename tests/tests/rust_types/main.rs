//! Profile `rust` keeps its word: what is written from the schema of a type deserialises into it, whatever the model
//! wishes; or the type is refused when its constraint is made.
//!
//! 400 texts per type by default; `STRUCTGEN_FULL=1` draws 4,000.

mod crates;
mod derived;
mod standard;

use std::any::type_name;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use structgen::constraint::CompiledConstraint;
use structgen::decode::{GenerateOptions, MockModel};
use structgen::{Constraint, Error, SchemaOptions};
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, is_full_run, report};

/// A type, and what is expected of it.
struct Case {
    name: &'static str,
    constraint: fn() -> Result<Constraint, Error>,
    deserialise: fn(&str) -> serde_json::Result<()>,
    /// Where the type is refused, by the pointer of the schema node.
    refused_at: Option<&'static str>,
}

/// A type whose texts all deserialise.
fn kept<T: JsonSchema + DeserializeOwned>() -> Case {
    Case {
        name: type_name::<T>(),
        constraint: || Constraint::for_type::<T>(&SchemaOptions::new()),
        deserialise: |text| serde_json::from_str::<T>(text).map(drop),
        refused_at: None,
    }
}

/// A type that takes less than its schema says, in the node at the pointer.
fn refused<T: JsonSchema + DeserializeOwned>(pointer: &'static str) -> Case {
    Case {
        refused_at: Some(pointer),
        ..kept::<T>()
    }
}

/// What a model wants to write, whenever it can.
const WISHES: [&str; 7] = [
    "random", "random", "longest", "digits", "quotes", "openers", "escapes",
];

fn models(vocabulary: &TestVocabulary) -> Vec<MockModel> {
    let model = |wish: &str| {
        let wanted = |bytes: &[u8]| -> f32 {
            let all = |test: fn(&u8) -> bool| !bytes.is_empty() && bytes.iter().all(test);
            let starts = |with: &[u8]| bytes.first().is_some_and(|byte| with.contains(byte));
            let is_wanted = match wish {
                "longest" => return bytes.len() as f32 * 20.0,
                "digits" => all(u8::is_ascii_digit),
                "quotes" => starts(b"\""),
                "openers" => starts(b"[{"),
                "escapes" => starts(b"\\"),
                _ => false,
            };
            if is_wanted { 100.0 } else { 0.0 }
        };
        let mut model = MockModel::new(vocabulary.width(), 100_000, [vocabulary.eos]);
        for (id, bytes) in vocabulary.vocabulary().tokens() {
            let bias = wanted(bytes);
            if bias > 0.0 {
                model = model.preferring(id, bias);
            }
        }
        model
    };
    WISHES.map(model).into()
}

/// Draws texts of a constraint; the first that does not deserialise is an error.
fn draw(
    case: &Case,
    constraint: &CompiledConstraint,
    models: &[MockModel],
    vocabulary: &TestVocabulary,
    count: usize,
) -> Result<(), String> {
    let mut random = SplitMix::new(7);
    for round in 0..count {
        let wish = round % models.len();
        let model = models[wish].clone().with_seed(random.next_u64());
        let matcher = constraint.matcher();
        let needed = matcher.clone().completion_cost().unwrap() as usize;
        let options = GenerateOptions {
            max_new_tokens: Some(needed + [0, 6, 25, 90][random.below(4)]),
            ..GenerateOptions::default()
        };
        let output = vocabulary
            .generate(model, matcher, options)
            .map_err(|error| error.to_string())?;
        (case.deserialise)(&output.text).map_err(|error| {
            format!("round {round}, {}: {error}: {}", WISHES[wish], output.text)
        })?;
    }
    Ok(())
}

/// What is wrong with a case, if anything is.
fn judge(case: &Case, models: &[MockModel], vocabulary: &TestVocabulary) -> Result<(), String> {
    let count = if is_full_run() { 4_000 } else { 400 };
    match ((case.constraint)(), case.refused_at) {
        (Ok(constraint), None) => {
            let constraint = constraint
                .compile(&vocabulary.tables, &[vocabulary.eos])
                .map_err(|error| error.to_string())?;
            draw(case, &constraint, models, vocabulary, count)
        }
        (Err(Error::TypeRefuses { pointer, .. }), Some(expected)) if pointer == expected => Ok(()),
        (Err(error), _) => Err(error.to_string()),
        (Ok(_), Some(pointer)) => Err(format!("it is not refused at {pointer}")),
    }
}

fn check(cases: Vec<Case>) {
    let vocabulary = vocabularies::small();
    let models = models(&vocabulary);
    let mut failures = Vec::new();
    for case in &cases {
        if let Err(error) = judge(case, &models, &vocabulary) {
            failures.push(format!("{}: {error}", case.name));
        }
    }
    let refused = cases.iter().filter(|case| case.refused_at.is_some());
    report(&format!(
        "{} types, {} of them refused, {} failures",
        cases.len(),
        refused.count(),
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn texts_of_standard_types_deserialise() {
    check(standard::cases());
}

#[test]
fn texts_of_the_types_of_other_crates_deserialise() {
    check(crates::cases());
}

#[test]
fn texts_of_derived_types_deserialise() {
    check(derived::cases());
}

#[test]
fn a_refusal_says_what_to_do() {
    let refused = Constraint::for_type::<std::net::SocketAddr>(&SchemaOptions::new());
    let message = refused.expect_err("it is refused").to_string();
    assert!(message.starts_with("#: the type core::net::socket_addr::SocketAddr refuses \""));
    assert!(message.contains("#[schemars(with = "));
}
