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
    let rejection = Strategy::named("rejection").unwrap();
    let refused = PARAMETERS.iter().filter(|row| !rejection.honours(row));
    let refused: BTreeSet<String> = refused
        .filter(|row| row.place == Place::Sampling && !row.name.contains('.'))
        .map(|row| format!("sampling.{}", row.name))
        .collect();
    assert_eq!(refused, expected);
}

#[test]
fn parameters_of_a_group_are_honoured_with_it() {
    for row in PARAMETERS.iter().filter(|row| row.place != Place::Strategy) {
        let group = row.name.split('.').next().unwrap();
        let group = PARAMETERS.iter().find(|row| row.name == group).unwrap();
        assert_eq!(row.effect, group.effect, "{}", row.name);
    }
}
