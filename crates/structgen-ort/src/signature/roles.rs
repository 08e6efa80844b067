//! What the inputs and outputs of each graph are for, by their names.

use ort::value::{Outlet, TensorElementType};

use super::caches::Caches;
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
    names: &'g Names,
    caches: &'g Caches,
    /// The names of what graphs hand on to later ones.
    handed_on: Vec<&'g str>,
}

impl<'g> Meanings<'g> {
    pub(super) fn new(
        graphs: &'g [Described],
        names: &'g Names,
        caches: &'g Caches,
    ) -> Result<Self, LoadError> {
        let mut handed_on = Vec::new();
        for (place, graph) in graphs.iter().enumerate() {
            let inputs = graphs[place + 1..].iter().flat_map(|later| &later.inputs);
            for output in &graph.outputs {
                for input in inputs.clone().filter(|input| input.name() == output.name()) {
                    if tensor(input)?.0 != tensor(output)?.0 {
                        return Err(unsupported(input, "of the type of the output of this name"));
                    }
                    if !handed_on.contains(&output.name()) {
                        handed_on.push(output.name());
                    }
                }
            }
        }
        Ok(Self {
            graphs,
            names,
            caches,
            handed_on,
        })
    }

    /// The number of values that are handed on.
    pub(super) fn handed_on(&self) -> usize {
        self.handed_on.len()
    }

    pub(super) fn of_graph(&self, place: usize) -> Result<Roles, LoadError> {
        let graph = &self.graphs[place];
        let (earlier, later) = (&self.graphs[..place], &self.graphs[place + 1..]);
        let is_in = |outlets: &[Outlet], name: &str| outlets.iter().any(|o| o.name() == name);
        let number = |name: &str| self.handed_on.iter().position(|&other| other == name);
        // In every run that the graph is for.
        let is_made = |name: &str| {
            let mut runs = [false, true].into_iter();
            runs.all(|has_past| {
                let mut earlier = { earlier.iter() }.filter(|graph| graph.runs.is_for(has_past));
                !graph.runs.is_for(has_past) || earlier.any(|graph| is_in(&graph.outputs, name))
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
            let is_taken = later.iter().any(|graph| is_in(&graph.inputs, name));
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
        let position = |pairs: &[(String, String)]| pairs.iter().position(|(past, _)| past == name);
        if let Some(i) = position(&caches.own) {
            return Ok(Input::Past(i));
        }
        if let Some(i) = position(&caches.states) {
            return Ok(Input::State(i));
        }
        if let Some(i) = position(&caches.cross) {
            return Ok(Input::Cross(i));
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
        let (names, caches) = (self.names, self.caches);
        // An optional output may be absent after a run, which the binding does not expect.
        tensor(outlet)?;
        let name = outlet.name();
        if name == names.logits {
            return Ok(Output::Logits);
        }
        if hidden(outlet).is_some() {
            return Ok(Output::Hidden);
        }
        let position =
            |pairs: &[(String, String)]| pairs.iter().position(|(_, present)| present == name);
        let found = { position(&caches.own).map(Output::Present) }
            .or_else(|| position(&caches.states).map(Output::State))
            .or_else(|| position(&caches.cross).map(Output::Cross));
        Ok(found.unwrap_or(Output::Unused))
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
