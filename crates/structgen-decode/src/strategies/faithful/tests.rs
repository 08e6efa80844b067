use std::collections::BTreeSet;

use super::*;
use crate::SamplingParams;

#[test]
fn every_sampling_parameter_but_temperature_and_seed_is_refused() {
    let params = serde_json::to_value(SamplingParams::default()).unwrap();
    let names = params.as_object().unwrap().keys();
    let expected: BTreeSet<String> = names
        .filter(|name| !["temperature", "seed"].contains(&name.as_str()))
        .map(|name| format!("sampling.{name}"))
        .collect();
    let refused = refused().into_iter().map(str::to_owned);
    let refused: BTreeSet<String> = refused
        .filter(|name| name.starts_with("sampling."))
        .collect();
    assert_eq!(refused, expected);
}

#[test]
fn every_other_refused_option_exists() {
    let options = serde_json::to_value(GenerateOptions::default()).unwrap();
    for name in refused() {
        let pointer = format!("/{}", name.replace('.', "/"));
        assert!(options.pointer(&pointer).is_some(), "{name}");
    }
}
