use std::collections::BTreeSet;

use super::*;
use crate::SamplingParams;
use crate::request::params::{PARAMETERS, Place};

#[test]
fn faithful_samplers_refuse_every_sampling_parameter_but_temperature_and_seed() {
    let params = serde_json::to_value(SamplingParams::default()).unwrap();
    let names = params.as_object().unwrap().keys();
    let expected: BTreeSet<String> = names
        .filter(|name| !["temperature", "seed"].contains(&name.as_str()))
        .map(|name| format!("sampling.{name}"))
        .collect();
    let refused = faithful::refused().into_iter().map(str::to_owned);
    let refused: BTreeSet<String> = refused
        .filter(|name| name.starts_with("sampling."))
        .collect();
    assert_eq!(refused, expected);
}

#[test]
fn every_refused_option_is_a_row_of_the_table() {
    let options: BTreeSet<String> = { PARAMETERS.iter() }
        .filter(|row| matches!(row.place, Place::Sampling | Place::Options))
        .filter_map(|row| row.path().strip_prefix("options.").map(str::to_owned))
        .collect();
    let drawn = BeamOptions {
        sample: true,
        ..BeamOptions::default()
    };
    let strategies = Strategy::NAMES.map(|name| Strategy::named(name).unwrap());
    for strategy in strategies.into_iter().chain([drawn.into()]) {
        for option in strategy.refuses() {
            assert!(options.contains(option), "{}: {option}", strategy.name());
        }
    }
}
