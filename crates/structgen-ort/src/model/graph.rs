//! A decoder's sessions and one run of them, whatever its cache is.
//!
//! Most decoders are one graph. Some have another for texts without a past, and some are several that run one after the
//! other: a table of embeddings before the decoder, as models of images and texts have, or the parts of a pipeline.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, Session, SessionInputValue};
use ort::value::DynValue;
use structgen_decode::{ModelError, model::ModelStats};

use super::inputs::{self, Buffers, Feed};
use super::outputs::{Extra, Given, Selection};
use crate::cache::cross::Attending;
use crate::cache::growing::Block;
use crate::cache::states::{self, States};
use crate::cache::unwritten;
use crate::error::backend;
use crate::graph_file::When;
use crate::memory;
use crate::signature::{Float, Input, Output, Roles, Signature};

/// The graphs of a decoder with everything that a run of them needs but the cache.
#[derive(Debug)]
pub(super) struct Graph {
    stages: Vec<Stage>,
    pub(super) signature: Signature,
    pub(super) stats: ModelStats,
    /// Where the cache stays between runs, if that is not the processor's memory.
    pub(super) cache_memory: Option<MemoryInfo<'static>>,
    /// Which positions of a run have logits; unknown before it is tried.
    logits: Option<WithLogits>,
    buffers: Buffers,
}

/// The positions of a run that have logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithLogits {
    All,
    /// The last ones, as many as are asked for.
    Asked,
    Last,
}

/// One of the graphs.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) session: Session,
    runs: When,
    pub(super) inputs: Vec<(String, Input)>,
    /// The outputs of a run without hidden states, and of one with them.
    pub(super) plain: Selection,
    with_hidden: Selection,
    /// The outputs of an encoder-decoder's run without a past.
    with_cross: Selection,
}

impl Stage {
    fn new(session: Session, runs: When, roles: &Roles) -> ort::Result<Self> {
        let selection = |extra| Selection::new(&session, &roles.outputs, extra);
        Ok(Self {
            plain: selection(None)?,
            with_hidden: selection(Some(Extra::Hidden))?,
            with_cross: selection(Some(Extra::Cross))?,
            inputs: roles.inputs.clone(),
            session,
            runs,
        })
    }
}

/// What a run returned whose cache grows.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) given: Given,
    pub(super) present: Vec<DynValue>,
    pub(super) states: States,
    /// Keys and values of the encoder's states, of a run without a past.
    pub(super) cross: Vec<DynValue>,
}

/// An input of the session, by its name.
pub(super) type NamedInput<'a> = (Cow<'a, str>, SessionInputValue<'a>);

/// The keys, values and states that a run reads, and where it leaves the new ones.
#[derive(Debug)]
struct Cached<'t> {
    /// None where past and present are the same tensors.
    past: Option<&'t [DynValue]>,
    past_states: &'t [DynValue],
    present: Present<'t>,
}

impl Cached<'_> {
    fn past(&self, i: usize) -> Option<&DynValue> {
        match (self.past, &self.present) {
            (Some(past), _) => past.get(i),
            (None, Present::In(tensors, _)) => tensors.get(i),
            (None, Present::On(_)) => None,
        }
    }
}

/// Where a run leaves keys, values and states.
#[derive(Debug)]
enum Present<'t> {
    /// In these tensors: keys and values, and states.
    In(&'t mut [DynValue], &'t mut [DynValue]),
    /// In new ones, there where they are computed.
    On(&'t MemoryInfo<'static>),
}

/// One run of the decoder.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) rows: &'a [Feed<'a>],
    /// The positions of the attention mask.
    pub(super) columns: usize,
    /// The number of last positions whose logits are wanted, at least one: graphs compute no fewer.
    pub(super) positions: usize,
    /// Whether hidden states are wanted.
    pub(super) hidden: bool,
    /// The number of tokens that count as run; the others fill up the batch.
    pub(super) counted: usize,
}

impl Call<'_> {
    /// The number of tokens of each row.
    pub(super) fn n(&self) -> usize {
        self.rows.first().map_or(0, |row| row.tokens.len())
    }

    /// Whether the cache has anything, be it padding.
    fn has_past(&self) -> bool {
        self.columns > self.n()
    }
}

impl Graph {
    /// The graphs that run for texts with a past or without one, and the counters.
    pub(super) fn stages(
        &mut self,
        has_past: bool,
    ) -> (impl Iterator<Item = &mut Stage>, &mut ModelStats) {
        let stages = self.stages.iter_mut();
        let stages = stages.filter(move |stage| stage.runs.is_for(has_past));
        (stages, &mut self.stats)
    }

    /// The sessions of all graphs.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.stages.iter().map(|stage| &stage.session)
    }

    /// Graphs none of whose outputs is used are closed again.
    pub(super) fn new(
        sessions: Vec<(Session, When)>,
        mut signature: Signature,
        cache_memory: Option<MemoryInfo<'static>>,
    ) -> ort::Result<Self> {
        let mut stages = Vec::with_capacity(sessions.len());
        let mut used = Vec::with_capacity(sessions.len());
        for ((session, runs), roles) in sessions.into_iter().zip(signature.graphs) {
            if roles.outputs.iter().any(|&output| output != Output::Unused) {
                stages.push(Stage::new(session, runs, &roles)?);
                used.push(roles);
            }
        }
        signature.graphs = used;
        Ok(Self {
            stages,
            buffers: Buffers::of(&signature.graphs),
            signature,
            cache_memory,
            logits: None,
            stats: ModelStats::default(),
        })
    }

    /// A run that returns the cache, grown by its tokens; of an encoder-decoder with what its rows attend to.
    pub(super) fn run_growing(
        &mut self,
        call: &Call<'_>,
        past: &Block,
        past_states: &States,
        attending: Option<Attending<'_>>,
    ) -> Result<Grown, ModelError> {
        let rows = call.rows.len();
        let begins = self.signature.cross.len() * usize::from(!call.has_past());
        let extra = match (call.hidden, begins) {
            (true, _) => Some(Extra::Hidden),
            (false, 0) => None,
            (false, _) => Some(Extra::Cross),
        };
        let mut cross: Vec<Option<DynValue>> = Vec::new();
        cross.resize_with(begins, || None);
        let mut given = Given::default();
        let mut sort = |output: Output, value| match output {
            Output::Logits => given.logits = Some(value),
            Output::Hidden => given.hidden = Some(value),
            Output::Cross(i) => cross[i] = Some(value),
            Output::Present(_) | Output::State(_) | Output::HandedOn(_) | Output::Unused => {}
        };
        let past = Some(past.tensors());
        let past_states = past_states.tensors();
        let (present, states) = match self.cache_memory.take() {
            None => {
                let mut present = unwritten(&self.signature.cache, rows, call.columns)?;
                let mut states = states::unwritten(&self.signature.states, rows)?;
                let mut cached = Cached {
                    past,
                    past_states,
                    present: Present::In(&mut present, &mut states),
                };
                let outputs = self.run(call, &mut cached, attending, extra)?.into_iter();
                outputs.for_each(|(role, value)| sort(role, value));
                (present, states)
            }
            Some(memory) => {
                let mut cached = Cached {
                    past,
                    past_states,
                    present: Present::On(&memory),
                };
                let outputs = self.run(call, &mut cached, attending, extra);
                self.cache_memory = Some(memory);
                let mut present: Vec<Option<DynValue>> = Vec::new();
                present.resize_with(self.signature.cache.len(), || None);
                let mut states: Vec<Option<DynValue>> = Vec::new();
                states.resize_with(self.signature.states.len(), || None);
                for (role, value) in outputs? {
                    match role {
                        Output::Present(i) => present[i] = Some(value),
                        Output::State(i) => states[i] = Some(value),
                        role => sort(role, value),
                    }
                }
                let all = |tensors: Vec<Option<DynValue>>| {
                    let tensors: Option<Vec<DynValue>> = tensors.into_iter().collect();
                    tensors.ok_or_else(|| unexpected("the cache", &[]))
                };
                (all(present)?, all(states)?)
            }
        };
        for (value, layout) in present.iter().zip(&self.signature.cache) {
            check_shape(value, &layout.shape(rows, call.columns), "the cache")?;
        }
        for (value, layout) in states.iter().zip(&self.signature.states) {
            check_shape(value, &layout.shape(rows), "a state")?;
        }
        let cross: Option<Vec<DynValue>> = cross.into_iter().collect();
        let cross = cross.ok_or_else(|| unexpected("keys of the encoder's states", &[]))?;
        for (value, layout) in cross.iter().zip(&self.signature.cross) {
            let len = attending.map_or(0, |attending| attending.len);
            check_shape(value, &layout.shape(1, len), "keys of the encoder's states")?;
        }
        Ok(Grown {
            given,
            present,
            states: States::new(states, rows),
            cross,
        })
    }

    /// A run that writes new keys and values to the tensors of the cache, each bound as past and as present. States of
    /// fixed size are new tensors: the past ones are snapshots.
    pub(super) fn run_in_place(
        &mut self,
        call: &Call<'_>,
        tensors: &mut [DynValue],
        past_states: &States,
    ) -> Result<(Given, States), ModelError> {
        let rows = call.rows.len();
        let mut states = states::unwritten(&self.signature.states, rows)?;
        let mut cached = Cached {
            past: None,
            past_states: past_states.tensors(),
            present: Present::In(tensors, &mut states),
        };
        let extra = call.hidden.then_some(Extra::Hidden);
        let mut given = Given::default();
        for (role, value) in self.run(call, &mut cached, None, extra)? {
            match role {
                Output::Logits => given.logits = Some(value),
                Output::Hidden => given.hidden = Some(value),
                _ => {}
            }
        }
        for (value, layout) in states.iter().zip(&self.signature.states) {
            check_shape(value, &layout.shape(rows), "a state")?;
        }
        Ok((given, States::new(states, rows)))
    }

    /// Learns whether all positions of a run have logits, where no input says which.
    pub(super) fn learn_logits(&mut self, has_all: bool) {
        let mut inputs = { self.signature.graphs.iter() }.flat_map(|roles| &roles.inputs);
        let is_asked = inputs.any(|(_, input)| *input == Input::LogitsToKeep);
        self.logits = Some(match has_all {
            _ if is_asked => WithLogits::Asked,
            true => WithLogits::All,
            false => WithLogits::Last,
        });
    }

    /// Memory for the logits of a call, where their number is known.
    ///
    /// Those of a prompt may be more than all else that the runtime needs, whose arena would keep their place.
    fn room_for_logits(&self, call: &Call<'_>) -> Result<Option<DynValue>, ModelError> {
        let positions = match self.logits {
            None => return Ok(None),
            Some(WithLogits::All) => call.n(),
            Some(WithLogits::Asked) => call.positions,
            Some(WithLogits::Last) => 1,
        };
        let shape = [call.rows.len(), positions, self.signature.width];
        match self.signature.logits {
            Float::F32 => memory::tensor::<f32>(&shape).map(Some),
            Float::F16 => memory::tensor::<half::f16>(&shape).map(Some),
        }
    }

    /// Runs the graphs one after another; what they return besides what the cache has room for.
    fn run(
        &mut self,
        call: &Call<'_>,
        cached: &mut Cached<'_>,
        attending: Option<Attending<'_>>,
        extra: Option<Extra>,
    ) -> Result<Vec<(Output, DynValue)>, ModelError> {
        self.buffers.fill(call.rows, call.columns);
        if let Some(attending) = attending {
            self.buffers
                .fill_encoder_mask(attending.rows * attending.len);
        }
        let mut handed_on: Vec<Option<DynValue>> = Vec::new();
        handed_on.resize_with(self.signature.handed_on, || None);
        let mut logits = match cached.present {
            Present::In(..) => self.room_for_logits(call)?,
            Present::On(_) => None,
        };
        let mut given = Vec::new();
        let mut spent = Duration::ZERO;
        let stages = self.stages.iter_mut();
        for stage in stages.filter(|stage| stage.runs.is_for(call.has_past())) {
            let missing = || unexpected("an input", &[]);
            let mut values: Vec<NamedInput<'_>> = Vec::with_capacity(stage.inputs.len());
            for (name, role) in &stage.inputs {
                let value = match *role {
                    Input::Past(i) => cached.past(i).ok_or_else(missing)?.into(),
                    Input::State(i) => (&cached.past_states[i]).into(),
                    Input::HandedOn(i) => handed_on[i].as_ref().ok_or_else(missing)?.into(),
                    Input::EncoderMask(_) | Input::EncoderStates | Input::Cross(_) => {
                        let attending = attending.ok_or_else(missing)?;
                        encoder_input(*role, &self.buffers, &attending)?
                    }
                    role => plain_input(role, &self.buffers, call)?,
                };
                values.push((name.into(), value));
            }
            let binding = bound(&stage.session, &values).map_err(backend)?;
            drop(values);
            let selection = match extra {
                None => &stage.plain,
                Some(Extra::Hidden) => &stage.with_hidden,
                Some(Extra::Cross) => &stage.with_cross,
            };
            let started = Instant::now();
            let outputs = run(
                &mut stage.session,
                binding,
                &selection.roles,
                &mut cached.present,
                &mut logits,
            );
            spent += started.elapsed();
            for (role, value) in outputs.map_err(backend)? {
                match role {
                    Output::HandedOn(i) => handed_on[i] = Some(value),
                    role => given.push((role, value)),
                }
            }
        }
        self.stats.record(call.counted, spent);
        given.extend(logits.map(|logits| (Output::Logits, logits)));
        Ok(given)
    }
}

/// An input that is no tensor of the cache.
fn plain_input<'b>(
    role: Input,
    buffers: &'b Buffers,
    call: &Call<'_>,
) -> Result<SessionInputValue<'b>, ModelError> {
    let (rows, n) = (call.rows.len(), call.n());
    match role {
        Input::Ids(ty) => buffers.ids.tensor(ty, [rows, n]),
        Input::AttentionMask(ty) => buffers.mask.tensor(ty, [rows, call.columns]),
        Input::PositionIds(ty) => buffers.positions.tensor(ty, [rows, n]),
        Input::ThreePositionIds(ty) => buffers.positions.three_times(ty, [rows, n]),
        Input::UseCacheBranch => inputs::cache_branch(call.has_past()),
        Input::LogitsToKeep => inputs::logits_to_keep(call.positions),
        Input::NoFeatures(features) => inputs::no_features(features),
        _ => Err(unexpected("the cache", &[])),
    }
}

/// An input that has to do with an encoder.
fn encoder_input<'b>(
    role: Input,
    buffers: &'b Buffers,
    attending: &Attending<'b>,
) -> Result<SessionInputValue<'b>, ModelError> {
    match role {
        Input::EncoderMask(ty) => {
            let shape = [attending.rows, attending.len];
            buffers.encoder_mask.tensor(ty, shape)
        }
        Input::EncoderStates => Ok(attending.states.into()),
        Input::Cross(at) => match attending.cross.get(at) {
            Some(tensor) => Ok(tensor.into()),
            None => Err(unexpected("keys of the encoder's states", &[])),
        },
        _ => Err(unexpected("an input", &[])),
    }
}

/// The inputs, bound. Those that `ort` would copy are not to be among them.
fn bound(session: &Session, values: &[NamedInput<'_>]) -> ort::Result<IoBinding> {
    let mut binding = session.create_binding()?;
    for (name, value) in values {
        binding.bind_input(&**name, value)?;
    }
    Ok(binding)
}

/// Runs for some of the outputs. Logits are left where there is room for them. Where there is none they come to the
/// processor's memory, as do hidden states and what rows of an encoder-decoder attend to.
fn run(
    session: &mut Session,
    mut binding: IoBinding,
    roles: &[(usize, Output)],
    present: &mut Present<'_>,
    logits: &mut Option<DynValue>,
) -> ort::Result<Vec<(Output, DynValue)>> {
    let processor = cpu_memory()?;
    let mut names = Vec::with_capacity(roles.len());
    for &(place, role) in roles {
        let name = session.outputs()[place].name();
        if let (Output::Logits, Some(logits)) = (role, logits.as_mut()) {
            binding.bind_output(name, logits)?;
            continue;
        }
        match (role, &mut *present) {
            (Output::Present(i), Present::In(tensors, _)) => {
                binding.bind_output(name, &mut tensors[i])?;
                continue;
            }
            (Output::State(i), Present::In(_, states)) => {
                binding.bind_output(name, &mut states[i])?;
                continue;
            }
            (Output::Present(_) | Output::State(_) | Output::HandedOn(_), Present::On(memory)) => {
                binding.bind_output_to_device(name, memory)?;
            }
            // What rows attend to is put together on the processor.
            _ => binding.bind_output_to_device(name, &processor)?,
        }
        names.push((role, name.to_owned()));
    }
    let mut outputs = session.run_binding(&binding)?;
    let found = names
        .into_iter()
        .filter_map(|(role, name)| Some((role, outputs.remove(name)?)));
    Ok(found.collect())
}

pub(super) fn cpu_memory() -> ort::Result<MemoryInfo<'static>> {
    MemoryInfo::new(
        AllocationDevice::CPU,
        0,
        AllocatorType::Device,
        MemoryType::Default,
    )
}

pub(super) fn dims(value: &DynValue) -> &[i64] {
    value.dtype().tensor_shape().map_or(&[], |shape| shape)
}

fn check_shape(value: &DynValue, expected: &[usize], what: &'static str) -> Result<(), ModelError> {
    let got = dims(value);
    let equal =
        got.len() == expected.len() && got.iter().zip(expected).all(|(&g, &e)| g == e as i64);
    if equal {
        Ok(())
    } else {
        Err(unexpected(what, got))
    }
}

pub(super) fn unexpected(what: &'static str, got: &[i64]) -> ModelError {
    ModelError::Backend(Box::new(UnexpectedShape {
        what,
        got: got.to_vec(),
    }))
}

#[derive(Debug, thiserror::Error)]
#[error("the graph gave {what} of the unexpected shape {got:?}")]
struct UnexpectedShape {
    what: &'static str,
    got: Vec<i64>,
}
