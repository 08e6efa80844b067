//! A decoder's session and one run of it, whatever its cache is.

use std::borrow::Cow;
use std::time::Instant;

use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, Session, SessionInputValue};
use ort::value::DynValue;
use structgen_decode::{ModelError, model::ModelStats};

use super::inputs::{self, Buffers, Feed};
use super::outputs::{Extra, Given, Selection};
use crate::cache::cross::Attending;
use crate::cache::growing::Block;
use crate::cache::states::{self, States};
use crate::cache::{backend, unwritten};
use crate::signature::{Input, Output, Signature};

/// A session with everything that a run of it needs but the cache.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) session: Session,
    pub(super) signature: Signature,
    pub(super) stats: ModelStats,
    /// Where the cache stays between runs, if that is not the processor's memory.
    pub(super) cache_memory: Option<MemoryInfo<'static>>,
    buffers: Buffers,
    /// The outputs of a run without hidden states, and of one with them.
    plain: Selection,
    with_hidden: Selection,
    /// The outputs of an encoder-decoder's run without a past.
    with_cross: Selection,
    /// The graph that runs without a past, where the other does not.
    beginning: Option<Beginning>,
}

/// A graph for texts without a past.
#[derive(Debug)]
struct Beginning {
    session: Session,
    inputs: Vec<(String, Input)>,
    plain: Selection,
    with_cross: Selection,
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

/// Where a run leaves keys, values and states.
#[derive(Debug)]
enum Present<'t> {
    /// In these tensors: keys and values, and states.
    In(&'t mut [DynValue], &'t mut [DynValue]),
    /// In new ones, there where they are computed.
    On(&'t MemoryInfo<'static>),
}

/// One run of the session.
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
    /// The session for texts with a past or without one, its inputs, the outputs of a run without hidden states, and the
    /// counters.
    pub(super) fn plain_parts(
        &mut self,
        has_past: bool,
    ) -> (
        &mut Session,
        &[(String, Input)],
        &Selection,
        &mut ModelStats,
    ) {
        let stats = &mut self.stats;
        match &mut self.beginning {
            Some(beginning) if !has_past => {
                let Beginning {
                    session,
                    inputs,
                    plain,
                    ..
                } = beginning;
                (session, inputs, plain, stats)
            }
            _ => (
                &mut self.session,
                &self.signature.inputs,
                &self.plain,
                stats,
            ),
        }
    }

    pub(super) fn new(
        session: Session,
        beginning: Option<Session>,
        mut signature: Signature,
        cache_memory: Option<MemoryInfo<'static>>,
    ) -> ort::Result<Self> {
        let beginning = match (beginning, signature.beginning.take()) {
            (Some(session), Some(roles)) => Some(Beginning {
                plain: Selection::new(&session, &roles.outputs, None)?,
                with_cross: Selection::new(&session, &roles.outputs, Some(Extra::Cross))?,
                session,
                inputs: roles.inputs,
            }),
            _ => None,
        };
        Ok(Self {
            beginning,
            plain: Selection::new(&session, &signature.outputs, None)?,
            with_hidden: Selection::new(&session, &signature.outputs, Some(Extra::Hidden))?,
            with_cross: Selection::new(&session, &signature.outputs, Some(Extra::Cross))?,
            buffers: Buffers::of(&signature.inputs),
            session,
            signature,
            cache_memory,
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
        self.buffers.fill(call.rows, call.columns);
        if let Some(attending) = attending {
            self.buffers
                .fill_encoder_mask(attending.rows * attending.len);
        }
        let (layout, state_layout) = (&self.signature.cache, &self.signature.states);
        let mut values: Vec<NamedInput<'_>> = Vec::with_capacity(self.signature.inputs.len());
        let begins = self.signature.cross.len() * usize::from(!call.has_past());
        let (session, inputs, selection) = match (&mut self.beginning, call.has_past()) {
            (Some(beginning), false) => {
                let selection = match begins {
                    0 => &beginning.plain,
                    _ => &beginning.with_cross,
                };
                (&mut beginning.session, &beginning.inputs, selection)
            }
            _ => {
                let selection = match (call.hidden, begins) {
                    (true, _) => &self.with_hidden,
                    (false, 0) => &self.plain,
                    (false, _) => &self.with_cross,
                };
                (&mut self.session, &self.signature.inputs, selection)
            }
        };
        for (name, role) in inputs {
            let value = match *role {
                Input::Past(i) => (&past.tensors()[i]).into(),
                Input::State(i) => (&past_states.tensors()[i]).into(),
                Input::EncoderMask(_) | Input::EncoderStates | Input::Cross(_) => {
                    let attending = attending.ok_or_else(|| unexpected("an input", &[]))?;
                    encoder_input(*role, &self.buffers, &attending)?
                }
                role => plain_input(role, &self.buffers, call)?,
            };
            values.push((name.into(), value));
        }
        let mut cross: Vec<Option<DynValue>> = Vec::new();
        cross.resize_with(begins, || None);
        let mut given = Given::default();
        let mut sort = |output: Output, value| match output {
            Output::Logits => given.logits = Some(value),
            Output::Hidden => given.hidden = Some(value),
            Output::Cross(i) => cross[i] = Some(value),
            Output::Present(_) | Output::State(_) | Output::Unused => {}
        };
        let binding = bound(session, &values).map_err(backend)?;
        let started = Instant::now();
        let rows = call.rows.len();
        let (present, states) = match &self.cache_memory {
            None => {
                let mut present = unwritten(layout, rows, call.columns)?;
                let mut states = states::unwritten(state_layout, rows)?;
                let outputs = run(
                    session,
                    binding,
                    &selection.roles,
                    Present::In(&mut present, &mut states),
                );
                self.stats.record(call.counted, started.elapsed());
                let outputs = outputs.map_err(backend)?.into_iter();
                outputs.for_each(|(role, value)| sort(role, value));
                (present, states)
            }
            Some(memory) => {
                let outputs = run(session, binding, &selection.roles, Present::On(memory));
                self.stats.record(call.counted, started.elapsed());
                let mut present: Vec<Option<DynValue>> = Vec::new();
                present.resize_with(layout.len(), || None);
                let mut states: Vec<Option<DynValue>> = Vec::new();
                states.resize_with(state_layout.len(), || None);
                for (role, value) in outputs.map_err(backend)? {
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
        for (value, layout) in present.iter().zip(layout) {
            check_shape(value, &layout.shape(rows, call.columns), "the cache")?;
        }
        for (value, layout) in states.iter().zip(state_layout) {
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
        self.buffers.fill(call.rows, call.columns);
        let mut values: Vec<NamedInput<'_>> = Vec::with_capacity(self.signature.inputs.len());
        for (name, role) in &self.signature.inputs {
            let value = match *role {
                Input::Past(i) => (&tensors[i]).into(),
                Input::State(i) => (&past_states.tensors()[i]).into(),
                role => plain_input(role, &self.buffers, call)?,
            };
            values.push((name.into(), value));
        }
        let binding = bound(&self.session, &values).map_err(backend)?;
        drop(values);
        let selection = if call.hidden {
            &self.with_hidden
        } else {
            &self.plain
        };
        let rows = call.rows.len();
        let mut states = states::unwritten(&self.signature.states, rows)?;
        let started = Instant::now();
        let outputs = run(
            &mut self.session,
            binding,
            &selection.roles,
            Present::In(tensors, &mut states),
        );
        self.stats.record(call.counted, started.elapsed());
        let mut given = Given::default();
        for (role, value) in outputs.map_err(backend)? {
            match role {
                Output::Logits => given.logits = Some(value),
                Output::Hidden => given.hidden = Some(value),
                Output::Present(_) | Output::State(_) | Output::Cross(_) | Output::Unused => {}
            }
        }
        for (value, layout) in states.iter().zip(&self.signature.states) {
            check_shape(value, &layout.shape(rows), "a state")?;
        }
        Ok((given, States::new(states, rows)))
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

/// Runs for some of the outputs; all but keys, values and states come to the processor's memory.
fn run(
    session: &mut Session,
    mut binding: IoBinding,
    roles: &[(usize, Output)],
    present: Present<'_>,
) -> ort::Result<Vec<(Output, DynValue)>> {
    let processor = cpu_memory()?;
    let mut present = present;
    let mut names = Vec::with_capacity(roles.len());
    for &(place, role) in roles {
        let name = session.outputs()[place].name();
        match (role, &mut present) {
            (Output::Present(i), Present::In(tensors, _)) => {
                binding.bind_output(name, &mut tensors[i])?;
                continue;
            }
            (Output::State(i), Present::In(_, states)) => {
                binding.bind_output(name, &mut states[i])?;
                continue;
            }
            (Output::Present(_) | Output::State(_), Present::On(memory)) => {
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
