//! The inputs and outputs of a graph, checked before it is run.

use ort::value::{Outlet, TensorElementType, ValueType};

use crate::LoadError;
use crate::config::{ModelConfig, Names, PastNames};

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
    /// A switch of merged decoders: false for a run without a past.
    UseCacheBranch,
    /// The number of last positions whose logits are wanted, as a scalar.
    LogitsToKeep,
    Past(usize),
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

/// One tensor of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheTensor {
    pub(crate) float: Float,
    /// Whether keys and values are one tensor, whose first dimension is two.
    pub(crate) joint: bool,
    pub(crate) heads: usize,
    pub(crate) head_dim: usize,
}

impl CacheTensor {
    /// Keys and values of a joint tensor are two parts.
    pub(crate) fn parts(&self) -> usize {
        if self.joint { 2 } else { 1 }
    }

    /// The bytes of a position of a row.
    pub(crate) fn bytes(&self) -> usize {
        let number = match self.float {
            Float::F32 => 4,
            Float::F16 => 2,
        };
        self.parts() * self.heads * self.head_dim * number
    }

    /// The shape with this many rows and positions: `[rows, heads, len, dim]`, or `[2, rows, heads, len, dim]`.
    pub(crate) fn shape(&self, rows: usize, len: usize) -> Vec<usize> {
        let mut shape = vec![rows, self.heads, len, self.head_dim];
        if self.joint {
            shape.insert(0, 2);
        }
        shape
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
        let caches = Caches {
            own: cache_names(inputs, names)?,
            cross: cross_names(inputs, names),
        };
        let has_encoder = !caches.cross.is_empty();
        let tensors = |pairs: &[(String, String)], outputs: &[Outlet]| {
            let tensors = pairs.iter().map(|(past, present)| {
                let past = find(inputs, past, "input")?;
                let present = find(outputs, present, "output")?;
                cache_tensor(past, present, config)
            });
            tensors.collect::<Result<Vec<_>, LoadError>>()
        };
        let begun = beginning.map_or(outputs, |(_, outputs)| outputs);
        find(inputs, &names.input_ids, "input")?;
        if !has_encoder {
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

/// The names of past inputs and present outputs, layer by layer.
fn cache_names(inputs: &[Outlet], names: &Names) -> Result<Vec<(String, String)>, LoadError> {
    let has = |name: &str| inputs.iter().any(|outlet| outlet.name() == name);
    let of_layer = |layer| match &names.past {
        PastNames::Separate([past_key, past_value, key, value]) => vec![
            (past_key.name(layer), key.name(layer)),
            (past_value.name(layer), value.name(layer)),
        ],
        PastNames::Joint([past, present]) => vec![(past.name(layer), present.name(layer))],
    };
    let mut pairs = Vec::new();
    // More layers than inputs cannot be; the bound also ends a template without a number in effect.
    for layer in 0..inputs.len() {
        let layer = of_layer(layer);
        if !has(&layer[0].0) {
            break;
        }
        pairs.extend(layer);
    }
    if pairs.is_empty() {
        return Err(LoadError::NoCache {
            example: of_layer(0)[0].0.clone(),
            present: all_names(inputs),
        });
    }
    Ok(pairs)
}

/// The inputs and outputs with keys and values of an encoder's states, layer by layer; none where there is no encoder.
fn cross_names(inputs: &[Outlet], names: &Names) -> Vec<(String, String)> {
    let Some([past_key, past_value, key, value]) = &names.cross else {
        return Vec::new();
    };
    let has = |layer: &usize| {
        let name = past_key.name(*layer);
        inputs.iter().any(|outlet| outlet.name() == name)
    };
    let layers = (0..inputs.len()).take_while(has);
    let of_layer = |layer| {
        [
            (past_key.name(layer), key.name(layer)),
            (past_value.name(layer), value.name(layer)),
        ]
    };
    layers.flat_map(of_layer).collect()
}

/// The names of inputs that outputs of an earlier run are fed to, each with that output.
struct Caches {
    own: Vec<(String, String)>,
    cross: Vec<(String, String)>,
}

fn input(outlet: &Outlet, names: &Names, caches: &Caches) -> Result<Input, LoadError> {
    let name = outlet.name();
    let position = |pairs: &[(String, String)]| pairs.iter().position(|(past, _)| past == name);
    if let Some(i) = position(&caches.own) {
        return Ok(Input::Past(i));
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
        return Ok(Input::PositionIds(integer_matrix(outlet)?));
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
    Ok(match (position(&caches.own), position(&caches.cross)) {
        (Some(i), _) => Output::Present(i),
        (_, Some(i)) => Output::Cross(i),
        _ => Output::Unused,
    })
}

fn cache_tensor(
    past: &Outlet,
    present: &Outlet,
    config: &ModelConfig,
) -> Result<CacheTensor, LoadError> {
    let (ty, dims) = tensor(past)?;
    let float = float(past, ty)?;
    let (joint, heads, head_dim) = match *dims {
        [_, heads, _, dim] => (false, heads, dim),
        [2, _, heads, _, dim] => (true, heads, dim),
        _ => {
            return Err(unsupported(
                past,
                "[batch, heads, past, dim] or [2, batch, heads, past, dim]",
            ));
        }
    };
    let length = dims[dims.len() - 2];
    if length >= 0 {
        return Err(unsupported(past, "of open length"));
    }
    let (present_type, present_dims) = tensor(present)?;
    if present_type != ty || present_dims.len() != dims.len() {
        return Err(unsupported(
            present,
            "of the same type and rank as its past",
        ));
    }
    Ok(CacheTensor {
        float,
        joint,
        heads: told(
            heads,
            config.kv_heads,
            "the number of key-value heads",
            "num_key_value_heads",
        )?,
        head_dim: told(head_dim, config.head_dim, "the size of a head", "head_dim")?,
    })
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
