//! Typed extraction as a user sees it.

use std::io::Write;

use structgen::{Extractor, GenerateOptions, Model, ModelOptions, SamplingParams};
use structgen_outside::{Item, Order};

fn model() -> Model {
    structgen::runtime::ensure(|line| drop(writeln!(std::io::stderr(), "{line}"))).unwrap();
    Model::embedded(&ModelOptions::new()).unwrap()
}

const TEXT: &str =
    "Please send 3 lamps and 2 chairs to Foundry Lane in Sheffield, zone B. The total is 231.50.";

#[test]
fn a_text_becomes_a_value_of_the_type() {
    let extractor = Extractor::<Order>::with_model(model(), GenerateOptions::default()).unwrap();
    let found = extractor.extract(TEXT).unwrap();
    let again: Order = serde_json::from_str(&found.json).unwrap();
    assert_eq!(found.value, again);
    assert!(found.value.total.is_finite());
}

#[test]
fn keys_come_in_the_order_of_the_fields() {
    // This crate asks for no feature of serde_json: the order must not depend on it.
    let extractor = Extractor::<Order>::with_model(model(), GenerateOptions::default()).unwrap();
    let json = extractor.extract(TEXT).unwrap().json;
    let places: Vec<usize> = [
        "\"zone\":",
        "\"amount\":",
        "\"items\":",
        "\"state\":",
        "\"total\":",
    ]
    .map(|key| {
        json.find(key)
            .unwrap_or_else(|| panic!("{key} is missing: {json}"))
    })
    .into();
    assert!(places.is_sorted(), "{json}");
}

#[test]
fn whatever_is_drawn_deserialises() {
    let model = model();
    for seed in 0..25 {
        let sampling = SamplingParams {
            temperature: 3.0,
            seed,
            ..SamplingParams::default()
        };
        let options = GenerateOptions {
            sampling,
            max_new_tokens: Some(400),
            ..GenerateOptions::default()
        };
        let extractor = Extractor::<Order>::with_model(model.clone(), options).unwrap();
        extractor.extract(TEXT).unwrap();
    }
}

#[test]
fn lists_numbers_and_maps_are_types_too() {
    let options = || GenerateOptions {
        max_new_tokens: Some(200),
        ..GenerateOptions::default()
    };
    let model = model();
    let items = Extractor::<Vec<Item>>::with_model(model.clone(), options()).unwrap();
    items.extract(TEXT).unwrap();
    let numbers = Extractor::<[i8; 3]>::with_model(model.clone(), options()).unwrap();
    numbers.extract("one, two, three: 1 2 3").unwrap();
    let words = Extractor::<(bool, String)>::with_model(model, options()).unwrap();
    words.extract("yes, words").unwrap();
}

#[test]
fn one_call_is_enough() {
    model();
    let item: Item = structgen::extract("3 lamps").unwrap();
    let again: Item = structgen::extract("3 lamps").unwrap();
    assert_eq!(item, again);
}
