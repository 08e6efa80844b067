//! Which inputs of a graph are fed with outputs of the run before, and with which.

use std::collections::HashMap;

use ort::value::Outlet;

use super::outlets::all_names;
use super::{Input, Output};
use crate::LoadError;
use crate::names::{Names, PastNames, StateNames};

/// The most tensors of a cache. Those of real models are some hundreds.
const MOST: usize = 4096;

/// The names of inputs that outputs of an earlier run are fed to, each with that output.
#[derive(Debug)]
pub(super) struct Caches {
    /// Keys and values, layer by layer.
    pub(super) own: Vec<(String, String)>,
    /// Keys and values of an encoder's states, layer by layer; none where there is no encoder.
    pub(super) cross: Vec<(String, String)>,
    /// States of fixed size, in the order of the inputs.
    pub(super) states: Vec<(String, String)>,
}

impl Caches {
    pub(super) fn of(inputs: &[&Outlet], names: &Names) -> Result<Self, LoadError> {
        let joint = PastNames::key_value();
        let own = match (own_names(inputs, &names.past), &names.past) {
            (own, PastNames::Separate(_)) if own.is_empty() => own_names(inputs, &joint),
            (own, _) => own,
        };
        let caches = Self {
            own,
            cross: cross_names(inputs, names),
            states: state_names(inputs, &names.states),
        };
        if caches.own.is_empty() && caches.states.is_empty() {
            // The name of a state that is not known helps more than that of one that is not there.
            if let Some(unknown) = inputs
                .iter()
                .find(|outlet| outlet.name().starts_with("past"))
            {
                return Err(LoadError::UnknownInput {
                    name: unknown.name().into(),
                    dtype: unknown.dtype().to_string(),
                });
            }
            return Err(LoadError::NoCache {
                example: of_layer(&names.past, 0).swap_remove(0).0,
                present: all_names(inputs.iter().copied()),
            });
        }
        if let Some((past, ..)) = caches.uses().nth(MOST) {
            return Err(LoadError::TooManyCacheTensors {
                most: MOST,
                name: past.into(),
            });
        }
        Ok(caches)
    }

    /// Each input with the output that is fed to it, and what they are for.
    pub(super) fn uses(&self) -> impl Iterator<Item = (&str, &str, Input, Output)> {
        let own = { self.own.iter().enumerate() }
            .map(|(i, pair)| (pair, Input::Past(i), Output::Present(i)));
        let states = { self.states.iter().enumerate() }
            .map(|(i, pair)| (pair, Input::State(i), Output::State(i)));
        let cross = { self.cross.iter().enumerate() }
            .map(|(i, pair)| (pair, Input::Cross(i), Output::Cross(i)));
        { own.chain(states).chain(cross) }
            .map(|((past, present), input, output)| (&**past, &**present, input, output))
    }

    /// The uses by the names of inputs, and by those of outputs.
    pub(super) fn by_name(&self) -> Result<(ByName<'_, Input>, ByName<'_, Output>), LoadError> {
        let (mut inputs, mut outputs) = (ByName::new(), ByName::new());
        for (past, present, input, output) in self.uses() {
            if let Some((_, other)) = outputs.insert(present, (output, past)) {
                let problem = format!("is fed to {other} and to {past}");
                return Err(ambiguous(present, problem));
            }
            if let Some((_, other)) = inputs.insert(past, (input, present)) {
                let problem = format!("is fed with {other} and with {present}");
                return Err(ambiguous(past, problem));
            }
        }
        Ok((inputs, outputs))
    }
}

pub(super) fn ambiguous(name: &str, problem: String) -> LoadError {
    let name = name.to_owned();
    LoadError::AmbiguousCache { name, problem }
}

/// What inputs or outputs of a cache are, by name, each with the output or input that is its other side.
pub(super) type ByName<'c, T> = HashMap<&'c str, (T, &'c str)>;

/// The inputs and outputs of a layer.
fn of_layer(past: &PastNames, layer: usize) -> Vec<(String, String)> {
    match past {
        PastNames::Separate([past_key, past_value, key, value]) => vec![
            (past_key.name(layer), key.name(layer)),
            (past_value.name(layer), value.name(layer)),
        ],
        PastNames::Joint([past, present]) => vec![(past.name(layer), present.name(layer))],
    }
}

/// The keys and values of all layers that have any: hybrid models number them with gaps.
fn own_names(inputs: &[&Outlet], past: &PastNames) -> Vec<(String, String)> {
    let pasts = match past {
        PastNames::Separate([past_key, past_value, ..]) => vec![past_key, past_value],
        PastNames::Joint([past, _]) => vec![past],
    };
    let of_name = |outlet: &&Outlet| pasts.iter().find_map(|past| past.layer(outlet.name()));
    let mut layers: Vec<usize> = inputs.iter().filter_map(of_name).collect();
    layers.sort_unstable();
    layers.dedup();
    layers
        .into_iter()
        .flat_map(|layer| of_layer(past, layer))
        .collect()
}

fn cross_names(inputs: &[&Outlet], names: &Names) -> Vec<(String, String)> {
    match &names.cross {
        Some(cross) => own_names(inputs, &PastNames::Separate(cross.clone())),
        None => Vec::new(),
    }
}

fn state_names(inputs: &[&Outlet], names: &[StateNames]) -> Vec<(String, String)> {
    let of_name = |outlet: &&Outlet| {
        let name = outlet.name();
        { names.iter() }.find_map(|StateNames { past, present }| {
            let layer = past.layer(name)?;
            Some((name.to_owned(), present.name(layer)))
        })
    };
    inputs.iter().filter_map(of_name).collect()
}

#[cfg(test)]
mod tests {
    use ort::value::{Shape, SymbolicDimensions, TensorElementType, ValueType};

    use super::*;

    fn found(names: &[&str]) -> Result<Vec<String>, String> {
        // The runtime is asked to describe each input.
        crate::ensure_runtime(|_| {}).unwrap();
        let outlet = |name: &&str| {
            let ty = ValueType::Tensor {
                ty: TensorElementType::Float32,
                shape: Shape::new([1, 2]),
                dimension_symbols: SymbolicDimensions::empty(2),
            };
            Outlet::new(*name, ty)
        };
        let inputs: Vec<Outlet> = names.iter().map(outlet).collect();
        let inputs: Vec<&Outlet> = inputs.iter().collect();
        let caches = Caches::of(&inputs, &Names::default()).map_err(|error| error.to_string())?;
        let pairs = caches.own.iter().chain(&caches.states);
        Ok(pairs
            .map(|(past, present)| format!("{past} <- {present}"))
            .collect())
    }

    #[test]
    fn caches_and_states_of_any_layers_are_found() {
        let hybrids: [&[&str]; 5] = [
            &[
                "past_key_values.10.value",
                "past_key_values.10.key",
                "past_key_values.2.key",
                "past_key_values.2.value",
                "past_conv.0",
                "past_conv.11",
            ],
            &["past.0.conv", "past.0.recurrent"],
            &["past_states.7.conv_state", "past_states.7.ssm_state"],
            &["past_conv.3.query", "past_recurrent.3"],
            &["past_key_values.1.key_value"],
        ];
        let found: Vec<String> = { hybrids.iter() }
            .map(|names| found(names).unwrap().join("\n"))
            .collect();
        expect_test::expect![[r#"
            past_key_values.2.key <- present.2.key
            past_key_values.2.value <- present.2.value
            past_key_values.10.key <- present.10.key
            past_key_values.10.value <- present.10.value
            past_conv.0 <- present_conv.0
            past_conv.11 <- present_conv.11

            past.0.conv <- present.0.conv
            past.0.recurrent <- present.0.recurrent

            past_states.7.conv_state <- present.7.conv_state
            past_states.7.ssm_state <- present.7.ssm_state

            past_conv.3.query <- present_conv.3.query
            past_recurrent.3 <- present_recurrent.3

            past_key_values.1.key_value <- present.1.key_value"#]]
        .assert_eq(&found.join("\n\n"));
    }

    #[test]
    fn a_cache_of_more_tensors_than_any_model_has_is_refused_by_name() {
        let names: Vec<String> = { 0..2_100 }
            .flat_map(|layer| {
                ["key", "value"].map(|part| format!("past_key_values.{layer}.{part}"))
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(found(&names[..4096]).unwrap().len(), 4096);
        expect_test::expect!["the model's cache has more than 4096 tensors; past_key_values.2048.key is the first beyond these"].assert_eq(&found(&names).unwrap_err());
    }

    #[test]
    fn states_of_other_names_are_refused_by_name() {
        let errors = ["past_states.0.wkv_state", "past_conv.x", "state"];
        let errors = errors.map(|name| found(&[name]).unwrap_err());
        expect_test::expect![[r#"
            the model has an input that structgen cannot fill: past_states.0.wkv_state (Tensor<f32>(1, 2))
            the model has an input that structgen cannot fill: past_conv.x (Tensor<f32>(1, 2))
            the model has no inputs for a key-value cache (such as "past_key_values.0.key"), and without one every token would cost a run over the whole text; export it with its cache (optimum: task text-generation-with-past). It has state"#]].assert_eq(&errors.join("\n"));
    }
}
