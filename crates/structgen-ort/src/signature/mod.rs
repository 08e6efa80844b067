//! The inputs and outputs of a graph, checked before it is run.

mod cache;
mod caches;
mod outlets;
mod roles;
mod state;

pub(crate) use cache::{CacheTensor, Form};
pub(crate) use state::StateTensor;

use ort::value::{Outlet, TensorElementType, ValueType};

use crate::LoadError;
use crate::config::{ModelConfig, Setting};
use crate::graph_file::When;
use crate::names::Names;
use caches::Caches;
use outlets::{Outlets, missing};
use roles::Meanings;

/// The most logits of a position, or numbers of its states: more have no token ids, and would overflow what is computed
/// of them.
pub(crate) const WIDEST: i64 = 1 << 31;

/// What is wanted of logits beyond [`WIDEST`].
pub(crate) const NOT_WIDER: &str = "of at most 2147483648 logits";

/// The inputs and outputs of a decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Those of each of its graphs, in the order in which they run.
    pub(crate) graphs: Vec<Roles>,
    /// The tensors of the cache, in the order in which [`Input::Past`] numbers them.
    pub(crate) cache: Vec<CacheTensor>,
    /// The states of fixed size, in the order in which [`Input::State`] numbers them.
    pub(crate) states: Vec<StateTensor>,
    /// The tensors that a decoder makes once of its encoder's states, in the order in which [`Input::Cross`] numbers
    /// them; none for a decoder alone.
    pub(crate) cross: Vec<CacheTensor>,
    /// The number of values that graphs hand on to later ones.
    pub(crate) handed_on: usize,
    /// Whether a graph takes a single token of each row after a past, by the shape of its input.
    pub(crate) one_after_past: bool,
    /// The type of the logits.
    pub(crate) logits: Float,
    /// The number of logits of each position.
    pub(crate) width: usize,
    /// The type and width of the hidden states, where the graph returns them.
    pub(crate) hidden: Option<(Float, usize)>,
}

/// The inputs and outputs of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roles {
    /// The name of each input that is fed, and with what.
    pub(crate) inputs: Vec<(String, Input)>,
    /// Where each output goes, in the order of the session.
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
    /// What an earlier graph hands on.
    HandedOn(usize),
    /// The features of images or sounds, of which a text has none.
    NoFeatures(Features),
}

/// The type and dimensions of features: open ones are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    pub(crate) float: Float,
    pub(crate) dims: [usize; 3],
    /// How many of the dimensions there are.
    pub(crate) rank: usize,
}

/// Where an output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    Logits,
    /// The last layer's normalised states.
    Hidden,
    Present(usize),
    State(usize),
    /// Keys or values of the encoder's states, from a run without a past.
    Cross(usize),
    /// To a later graph.
    HandedOn(usize),
    /// Not used.
    Unused,
}

/// The type of ids, masks and positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    I64,
    I32,
}

/// The type of logits and states.
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

/// The type of keys and values. Those that are whole numbers are scaled by the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Float(Float),
    I8,
    U8,
}

impl Element {
    /// The bytes of a number.
    fn bytes(self) -> usize {
        match self {
            Self::Float(float) => float.bytes(),
            Self::I8 | Self::U8 => 1,
        }
    }
}

/// A graph as a session describes it.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) runs: When,
    pub(crate) inputs: Vec<Outlet>,
    /// Inputs that have defaults.
    pub(crate) optional: Vec<Outlet>,
    /// The outputs, by the names that later graphs know them by.
    pub(crate) outputs: Vec<Outlet>,
}

impl Signature {
    /// Of the optional inputs, those are fed that are understood.
    pub(crate) fn read(
        graphs: &[Described],
        names: &Names,
        config: &ModelConfig,
    ) -> Result<Self, LoadError> {
        let of = |has_past| {
            graphs
                .iter()
                .filter(move |graph| graph.runs.is_for(has_past))
        };
        let inputs = Outlets::inputs(of(true).flat_map(|graph| &graph.inputs));
        let outputs = Outlets::outputs(of(true).flat_map(|graph| &graph.outputs));
        let begun = Outlets::outputs(of(false).flat_map(|graph| &graph.outputs));
        let caches = Caches::of(&inputs.all, names)?;
        let has_encoder = !caches.cross.is_empty();
        let tensors = |pairs: &[(String, String)], outputs: &Outlets<'_>| {
            let tensors = pairs.iter().map(|(past, present)| {
                CacheTensor::read(inputs.named(past)?, outputs.named(present)?, config)
            });
            tensors.collect::<Result<Vec<_>, LoadError>>()
        };
        let states = |outputs: &Outlets<'_>| {
            let states = caches.states.iter().map(|(past, present)| {
                StateTensor::read(inputs.named(past)?, outputs.named(present)?)
            });
            states.collect::<Result<Vec<_>, LoadError>>()
        };
        find_ids(&inputs, names)?;
        // Without attention there is nothing to mask.
        if !has_encoder && !caches.own.is_empty() {
            inputs.named(&names.attention_mask)?;
        }
        let (logits, width) = logits(outputs.named(&names.logits)?, config)?;
        // Graphs for texts without a past return what the others take.
        begun.named(&names.logits)?;
        tensors(&caches.own, &begun)?;
        states(&begun)?;
        let meanings = Meanings::new(graphs, names, &caches)?;
        let roles = (0..graphs.len()).map(|place| meanings.of_graph(place));
        let roles: Vec<Roles> = roles.collect::<Result<_, _>>()?;
        meanings.check_returned(&roles)?;
        let is_returned = graphs.iter().all(|graph| graph.runs == When::Always) && { roles.iter() }
            .any(|roles| roles.outputs.contains(&Output::Hidden));
        let hidden = { outputs.all.iter().find_map(|outlet| hidden(outlet)) }
            .filter(|_| !has_encoder && is_returned);
        Ok(Self {
            graphs: roles,
            cache: tensors(&caches.own, &outputs)?,
            states: states(&outputs)?,
            cross: tensors(&caches.cross, &begun)?,
            handed_on: meanings.handed_on(),
            one_after_past: { inputs.all.iter() }
                .filter(|outlet| outlet.name() == names.input_ids)
                .any(|outlet| matches!(tensor(outlet), Ok((_, [_, 1])))),
            logits,
            width,
            hidden,
        })
    }
}

/// The input for token ids, in whichever graph.
fn find_ids(inputs: &Outlets<'_>, names: &Names) -> Result<(), LoadError> {
    match (
        inputs.named(&names.input_ids),
        inputs.get(&names.inputs_embeds),
    ) {
        (Err(LoadError::Missing { .. }), Some(embeds)) => Err(LoadError::NoEmbedding {
            name: embeds.name().to_owned(),
        }),
        (found, _) => found.map(drop),
    }
}

impl Signature {
    /// 2 x layers x heads x size of a head x size of a number.
    pub(crate) fn cache_bytes_per_token(&self) -> usize {
        self.cache.iter().map(CacheTensor::bytes).sum()
    }
}

fn logits(outlet: &Outlet, config: &ModelConfig) -> Result<(Float, usize), LoadError> {
    let (ty, dims) = tensor(outlet)?;
    let float = float(outlet, ty)?;
    let [_, _, width] = *dims else {
        return Err(unsupported(outlet, "[batch, sequence, vocabulary]"));
    };
    if width > WIDEST {
        return Err(unsupported(outlet, NOT_WIDER));
    }
    let width = told(width, config.vocab_size, config, Setting::VocabSize)?;
    Ok((float, width))
}

/// The hidden states of all positions, `[batch, sequence, width]`. An output of this name with another shape is
/// ignored.
fn hidden(outlet: &Outlet) -> Option<(Float, usize)> {
    let (ty, dims) = tensor(outlet).ok()?;
    match (outlet.name(), dims) {
        ("hidden_states", &[_, _, width @ 1..=WIDEST]) => {
            Some((float(outlet, ty).ok()?, usize::try_from(width).ok()?))
        }
        _ => None,
    }
}

/// A dimension of the graph, or what the configuration says where the graph leaves it open.
fn told(
    dim: i64,
    configured: Option<usize>,
    config: &ModelConfig,
    setting: Setting,
) -> Result<usize, LoadError> {
    match usize::try_from(dim) {
        Ok(dim) if dim > 0 => Ok(dim),
        _ => configured.ok_or_else(|| config.untold(setting)),
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

/// The type of keys and values.
fn cache_element(outlet: &Outlet, ty: TensorElementType) -> Result<Element, LoadError> {
    match ty {
        TensorElementType::Int8 => Ok(Element::I8),
        TensorElementType::Uint8 => Ok(Element::U8),
        TensorElementType::Float32 => Ok(Element::Float(Float::F32)),
        TensorElementType::Float16 => Ok(Element::Float(Float::F16)),
        _ => Err(unsupported(outlet, "of type f32, f16, i8 or u8")),
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
    outlets: impl IntoIterator<Item = &'o Outlet, IntoIter: Clone>,
    name: &str,
    kind: &'static str,
) -> Result<&'o Outlet, LoadError> {
    let outlets = outlets.into_iter();
    let found = outlets.clone().find(|outlet| outlet.name() == name);
    found.ok_or_else(|| missing(kind, name, outlets))
}

pub(crate) fn unsupported(outlet: &Outlet, wanted: &str) -> LoadError {
    LoadError::Unsupported {
        name: outlet.name().into(),
        got: outlet.dtype().to_string(),
        wanted: wanted.into(),
    }
}
