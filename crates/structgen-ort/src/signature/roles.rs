//! What the inputs and outputs of each graph are for, by their names.

use std::collections::HashMap;

use ort::value::{Outlet, TensorElementType};

use super::caches::{ByName, Caches, ambiguous};
use super::outlets::Outlets;
use super::{
    Described, Features, Input, Integer, Output, Roles, float, hidden, integer_matrix, tensor,
    unsupported,
};
use crate::LoadError;
use crate::graph_file::When;
use crate::names::Names;

/// What names mean in the graphs of a decoder.
#[derive(Debug)]
pub(super) struct Meanings<'g> {
    graphs: &'g [Described],
    /// The inputs and the outputs of each graph.
    outlets: Vec<[Outlets<'g>; 2]>,
    names: &'g Names,
    caches: &'g Caches,
    /// The inputs and the outputs of the cache.
    cached: (ByName<'g, Input>, ByName<'g, Output>),
    /// The names of what graphs hand on to later ones, with their numbers.
    handed_on: HashMap<&'g str, usize>,
}

impl<'g> Meanings<'g> {
    pub(super) fn new(
        graphs: &'g [Described],
        names: &'g Names,
        caches: &'g Caches,
    ) -> Result<Self, LoadError> {
        let outlets = graphs.iter().map(|graph| {
            [
                Outlets::inputs(graph.inputs.iter()),
                Outlets::outputs(graph.outputs.iter()),
            ]
        });
        let mut meanings = Self {
            graphs,
            outlets: outlets.collect(),
            names,
            caches,
            cached: caches.by_name()?,
            handed_on: HashMap::new(),
        };
        for (place, graph) in graphs.iter().enumerate() {
            for output in &graph.outputs {
                for input in meanings.takers(place, output.name()) {
                    if tensor(input)?.0 != tensor(output)?.0 {
                        return Err(unsupported(input, "of the type of the output of this name"));
                    }
                }
                if meanings.takers(place, output.name()).next().is_some() {
                    let number = meanings.handed_on.len();
                    meanings.handed_on.entry(output.name()).or_insert(number);
                }
            }
        }
        Ok(meanings)
    }

    /// The inputs of this name of later graphs that run together with a graph.
    fn takers(&self, place: usize, name: &str) -> impl Iterator<Item = &'g Outlet> {
        let graphs = self.graphs.iter().zip(&self.outlets).skip(place + 1);
        let later = graphs.filter(move |(graph, _)| graph.runs.meets(self.graphs[place].runs));
        later.filter_map(move |(_, [inputs, _])| inputs.get(name))
    }

    /// Checks that every run returns every tensor of the cache once. One that is not written to would keep what was in
    /// its memory before.
    pub(super) fn check_returned(&self, roles: &[Roles]) -> Result<(), LoadError> {
        for has_past in [false, true] {
            let graphs = self.graphs.iter().zip(roles);
            let graphs = graphs.filter(|(graph, _)| graph.runs.is_for(has_past));
            let mut counts: HashMap<Output, usize> = HashMap::new();
            for output in graphs.flat_map(|(_, roles)| &roles.outputs) {
                *counts.entry(*output).or_default() += 1;
            }
            // What an encoder's states become is returned where a text begins.
            let uses = self.caches.uses();
            let uses = uses.filter(|(.., output)| !matches!(output, Output::Cross(_)));
            for (past, present, _, output) in uses {
                let problem = match counts.get(&output) {
                    Some(1) => continue,
                    Some(_) => "is an output of several graphs".to_owned(),
                    None => {
                        format!("is fed to {past} of the next run, and is something else as well")
                    }
                };
                return Err(ambiguous(present, problem));
            }
        }
        Ok(())
    }

    /// The number of values that are handed on.
    pub(super) fn handed_on(&self) -> usize {
        self.handed_on.len()
    }

    pub(super) fn of_graph(&self, place: usize) -> Result<Roles, LoadError> {
        let graph = &self.graphs[place];
        let number = |name: &str| self.handed_on.get(name).copied();
        // In every run that the graph is for.
        let is_made = |name: &str| {
            let mut runs = [false, true].into_iter();
            runs.all(|has_past| {
                let earlier = self.graphs.iter().zip(&self.outlets).take(place);
                let mut earlier = earlier.filter(|(graph, _)| graph.runs.is_for(has_past));
                !graph.runs.is_for(has_past)
                    || earlier.any(|(_, [_, outputs])| outputs.get(name).is_some())
            })
        };
        let fed = |outlet: &Outlet| {
            let name = outlet.name();
            let role = match number(name).filter(|_| is_made(name)) {
                Some(i) => Input::HandedOn(i),
                None => self.input(outlet, graph.runs)?,
            };
            Ok((name.to_owned(), role))
        };
        let understood = { graph.optional.iter().map(fed) }.filter(Result::is_ok);
        let outputs = graph.outputs.iter().map(|outlet| {
            let name = outlet.name();
            let is_taken = self.takers(place, name).next().is_some();
            match number(name).filter(|_| is_taken) {
                Some(i) => Ok(Output::HandedOn(i)),
                None => self.output(outlet),
            }
        });
        Ok(Roles {
            inputs: { graph.inputs.iter().map(fed) }
                .chain(understood)
                .collect::<Result<_, LoadError>>()?,
            outputs: outputs.collect::<Result<_, _>>()?,
        })
    }

    fn input(&self, outlet: &Outlet, runs: When) -> Result<Input, LoadError> {
        let (names, caches) = (self.names, self.caches);
        let matrix = || match tensor(outlet)? {
            // Encoder-decoders once had a graph for one token after another.
            (TensorElementType::Int64, [_, 1]) if runs == When::WithPast => Ok(Integer::I64),
            (TensorElementType::Int32, [_, 1]) if runs == When::WithPast => Ok(Integer::I32),
            _ => integer_matrix(outlet),
        };
        let name = outlet.name();
        if let Some(&(role, _)) = self.cached.0.get(name) {
            return Ok(role);
        }
        if !caches.cross.is_empty() {
            match name {
                "encoder_attention_mask" => return Ok(Input::EncoderMask(integer_matrix(outlet)?)),
                "encoder_hidden_states" => return Ok(Input::EncoderStates),
                _ => {}
            }
        }
        if name == names.input_ids {
            return Ok(Input::Ids(matrix()?));
        }
        if name == names.attention_mask {
            return Ok(Input::AttentionMask(integer_matrix(outlet)?));
        }
        if name == names.position_ids {
            return match tensor(outlet)? {
                (TensorElementType::Int64, [3, _, length]) if *length < 0 => {
                    Ok(Input::ThreePositionIds(Integer::I64))
                }
                (TensorElementType::Int32, [3, _, length]) if *length < 0 => {
                    Ok(Input::ThreePositionIds(Integer::I32))
                }
                _ => Ok(Input::PositionIds(matrix()?)),
            };
        }
        match (name, tensor(outlet)?) {
            ("use_cache_branch", (TensorElementType::Bool, [1])) => Ok(Input::UseCacheBranch),
            ("num_logits_to_keep" | "logits_to_keep", (TensorElementType::Int64, [])) => {
                Ok(Input::LogitsToKeep)
            }
            (name, (ty, dims)) if names.features.iter().any(|other| other == name) => {
                Ok(Input::NoFeatures(features(outlet, ty, dims)?))
            }
            _ => Err(LoadError::UnknownInput {
                name: name.into(),
                dtype: outlet.dtype().to_string(),
            }),
        }
    }

    fn output(&self, outlet: &Outlet) -> Result<Output, LoadError> {
        // An optional output may be absent after a run, which the binding does not expect.
        tensor(outlet)?;
        let name = outlet.name();
        if name == self.names.logits {
            return Ok(Output::Logits);
        }
        if hidden(outlet).is_some() {
            return Ok(Output::Hidden);
        }
        let cached = self.cached.1.get(name);
        Ok(cached.map_or(Output::Unused, |&(role, _)| role))
    }
}

/// The features of images or sounds of which there are none.
fn features(outlet: &Outlet, ty: TensorElementType, dims: &[i64]) -> Result<Features, LoadError> {
    let float = float(outlet, ty)?;
    let mut features = Features {
        float,
        dims: [0; 3],
        rank: dims.len(),
    };
    let can_be_none = dims.iter().any(|&dim| dim < 0);
    if !can_be_none || dims.len() > features.dims.len() {
        return Err(unsupported(
            outlet,
            "[open, width], so that a text can have none",
        ));
    }
    for (to, &dim) in features.dims.iter_mut().zip(dims) {
        *to = usize::try_from(dim).unwrap_or(0);
    }
    Ok(features)
}
