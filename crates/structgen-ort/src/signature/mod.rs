//! The inputs and outputs of a graph, checked before it is run.

mod cache;
mod caches;
mod state;

pub(crate) use cache::{CacheTensor, Form};
pub(crate) use state::StateTensor;

use ort::value::{Outlet, TensorElementType, ValueType};

use crate::LoadError;
use crate::config::ModelConfig;
use crate::names::Names;
use caches::Caches;

/// The inputs and outputs of a decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The name of each input that is fed, and with what.
    pub(crate) inputs: Vec<(String, Input)>,
    /// Where each output goes, in the order of the session.
    pub(crate) outputs: Vec<Output>,
    /// The same of the graph for texts without a past, where that is one of its own.
    pub(crate) beginning: Option<Roles>,
    /// The tensors of the cache, in the order in which [`Input::Past`] numbers them.
    pub(crate) cache: Vec<CacheTensor>,
    /// The states of fixed size, in the order in which [`Input::State`] numbers them.
    pub(crate) states: Vec<StateTensor>,
    /// The tensors that a decoder makes once of its encoder's states, in the order in which [`Input::Cross`] numbers
    /// them; none for a decoder alone.
    pub(crate) cross: Vec<CacheTensor>,
    /// The type of the logits.
    pub(crate) logits: Float,
    /// The number of logits of each position.
    pub(crate) width: usize,
    /// The type and width of the hidden states, where the graph returns them.
    pub(crate) hidden: Option<(Float, usize)>,
}

/// The inputs and outputs of a graph, as those of a [`Signature`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) inputs: Vec<(String, Input)>,
    pub(crate) outputs: Vec<Output>,
}

/// What an input is fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    Ids(Integer),
    AttentionMask(Integer),
    PositionIds(Integer),
    /// Position ids as Qwen's models of images have them, three of each token, which are one in a text.
    ThreePositionIds(Integer),
    /// A switch of merged decoders: false for a run without a past.
    UseCacheBranch,
    /// The number of last positions whose logits are wanted, as a scalar.
    LogitsToKeep,
    Past(usize),
    /// A state of fixed size.
    State(usize),
    /// Which of the encoder's states are of the text.
    EncoderMask(Integer),
    EncoderStates,
    /// Keys or values of the encoder's states.
    Cross(usize),
}

/// Where an output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Logits,
    /// The last layer's normalised states.
    Hidden,
    Present(usize),
    State(usize),
    /// Keys or values of the encoder's states, from a run without a past.
    Cross(usize),
    /// Not used.
    Unused,
}

/// The type of ids, masks and positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    I64,
    I32,
}

/// The type of logits and caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Float {
    F32,
    F16,
}

impl Float {
    /// The bytes of a number.
    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }
}

impl Signature {
    /// Of the `optional` inputs, which have defaults, those are fed that are understood. `beginning` has the inputs and
    /// outputs of a graph for texts without a past.
    pub(crate) fn read(
        inputs: &[Outlet],
        optional: &[Outlet],
        outputs: &[Outlet],
        beginning: Option<(&[Outlet], &[Outlet])>,
        names: &Names,
        config: &ModelConfig,
    ) -> Result<Self, LoadError> {
        let caches = Caches::of(inputs, names)?;
        let has_encoder = !caches.cross.is_empty();
        let tensors = |pairs: &[(String, String)], outputs: &[Outlet]| {
            let tensors = pairs.iter().map(|(past, present)| {
                let past = find(inputs, past, "input")?;
                let present = find(outputs, present, "output")?;
                CacheTensor::read(past, present, config)
            });
            tensors.collect::<Result<Vec<_>, LoadError>>()
        };
        let states = |outputs: &[Outlet]| {
            let states = caches.states.iter().map(|(past, present)| {
                let past = find(inputs, past, "input")?;
                StateTensor::read(past, find(outputs, present, "output")?)
            });
            states.collect::<Result<Vec<_>, LoadError>>()
        };
        let begun = beginning.map_or(outputs, |(_, outputs)| outputs);
        find(inputs, &names.input_ids, "input")?;
        // Without attention there is nothing to mask.
        if !has_encoder && !caches.own.is_empty() {
            find(inputs, &names.attention_mask, "input")?;
        }
        let (logits, width) = logits(find(outputs, &names.logits, "output")?, config)?;
        let hidden =
            { outputs.iter().find_map(hidden) }.filter(|_| !has_encoder && beginning.is_none());
        let fed = |outlet: &Outlet| Ok((outlet.name().to_owned(), input(outlet, names, &caches)?));
        let understood = optional.iter().map(fed).filter(Result::is_ok);
        Ok(Self {
            inputs: { inputs.iter().map(fed) }
                .chain(understood)
                .collect::<Result<_, LoadError>>()?,
            outputs: outputs
                .iter()
                .map(|outlet| output(outlet, names, &caches))
                .collect::<Result<_, _>>()?,
            beginning: match beginning {
                Some((inputs, outputs)) => {
                    // It returns what the other graph takes.
                    tensors(&caches.own, outputs)?;
                    states(outputs)?;
                    let outputs = { outputs.iter() }.map(|outlet| output(outlet, names, &caches));
                    let inputs = inputs.iter().map(fed);
                    Some(Roles {
                        inputs: inputs.collect::<Result<_, LoadError>>()?,
                        outputs: outputs.collect::<Result<_, _>>()?,
                    })
                }
                None => None,
            },
            cache: tensors(&caches.own, outputs)?,
            states: states(outputs)?,
            cross: tensors(&caches.cross, begun)?,
            logits,
            width,
            hidden,
        })
    }
}

impl Signature {
    /// 2 x layers x heads x size of a head x size of a number.
    pub(crate) fn cache_bytes_per_token(&self) -> usize {
        self.cache.iter().map(CacheTensor::bytes).sum()
    }
}

fn input(outlet: &Outlet, names: &Names, caches: &Caches) -> Result<Input, LoadError> {
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
        return Ok(Input::Ids(integer_matrix(outlet)?));
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
            _ => Ok(Input::PositionIds(integer_matrix(outlet)?)),
        };
    }
    match (name, tensor(outlet)?) {
        ("use_cache_branch", (TensorElementType::Bool, [1])) => Ok(Input::UseCacheBranch),
        ("num_logits_to_keep" | "logits_to_keep", (TensorElementType::Int64, [])) => {
            Ok(Input::LogitsToKeep)
        }
        _ => Err(LoadError::UnknownInput {
            name: name.into(),
            dtype: outlet.dtype().to_string(),
        }),
    }
}

fn output(outlet: &Outlet, names: &Names, caches: &Caches) -> Result<Output, LoadError> {
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

fn logits(outlet: &Outlet, config: &ModelConfig) -> Result<(Float, usize), LoadError> {
    let (ty, dims) = tensor(outlet)?;
    let float = float(outlet, ty)?;
    let [_, _, width] = *dims else {
        return Err(unsupported(outlet, "[batch, sequence, vocabulary]"));
    };
    let width = told(
        width,
        config.vocab_size,
        "the number of logits",
        "vocab_size",
    )?;
    Ok((float, width))
}

/// The hidden states of all positions, `[batch, sequence, width]`. An output of this name with another shape is
/// ignored.
fn hidden(outlet: &Outlet) -> Option<(Float, usize)> {
    let (ty, dims) = tensor(outlet).ok()?;
    match (outlet.name(), dims) {
        ("hidden_states", &[_, _, width]) if width > 0 => {
            Some((float(outlet, ty).ok()?, usize::try_from(width).ok()?))
        }
        _ => None,
    }
}

/// A dimension of the graph, or what the configuration says where the graph leaves it open.
fn told(
    dim: i64,
    config: Option<usize>,
    what: &'static str,
    field: &'static str,
) -> Result<usize, LoadError> {
    match usize::try_from(dim) {
        Ok(dim) if dim > 0 => Ok(dim),
        _ => config.ok_or(LoadError::Untold { what, field }),
    }
}

pub(crate) fn integer_matrix(outlet: &Outlet) -> Result<Integer, LoadError> {
    const WANTED: &str = "an i64 or i32 tensor [batch, sequence] of open length";
    match tensor(outlet)? {
        (TensorElementType::Int64, [_, length]) if *length < 0 => Ok(Integer::I64),
        (TensorElementType::Int32, [_, length]) if *length < 0 => Ok(Integer::I32),
        _ => Err(unsupported(outlet, WANTED)),
    }
}

/// The type of keys, values and states.
fn cache_float(outlet: &Outlet, ty: TensorElementType) -> Result<Float, LoadError> {
    use TensorElementType::{Int4, Int8, Uint4, Uint8};
    match ty {
        Int4 | Int8 | Uint4 | Uint8 => Err(LoadError::QuantizedCache {
            name: outlet.name().into(),
            dtype: outlet.dtype().to_string(),
        }),
        ty => float(outlet, ty),
    }
}

fn float(outlet: &Outlet, ty: TensorElementType) -> Result<Float, LoadError> {
    match ty {
        TensorElementType::Float32 => Ok(Float::F32),
        TensorElementType::Float16 => Ok(Float::F16),
        _ => Err(unsupported(outlet, "of type f32 or f16")),
    }
}

pub(crate) fn tensor(outlet: &Outlet) -> Result<(TensorElementType, &[i64]), LoadError> {
    match outlet.dtype() {
        ValueType::Tensor { ty, shape, .. } => Ok((*ty, shape)),
        _ => Err(unsupported(outlet, "a tensor")),
    }
}

pub(crate) fn find<'o>(
    outlets: &'o [Outlet],
    name: &str,
    kind: &'static str,
) -> Result<&'o Outlet, LoadError> {
    let found = outlets.iter().find(|outlet| outlet.name() == name);
    found.ok_or_else(|| LoadError::Missing {
        kind,
        name: name.into(),
        present: all_names(outlets),
    })
}

pub(crate) fn unsupported(outlet: &Outlet, wanted: &str) -> LoadError {
    LoadError::Unsupported {
        name: outlet.name().into(),
        got: outlet.dtype().to_string(),
        wanted: wanted.into(),
    }
}

fn all_names(outlets: &[Outlet]) -> Vec<String> {
    outlets
        .iter()
        .map(|outlet| outlet.name().to_owned())
        .collect()
}
