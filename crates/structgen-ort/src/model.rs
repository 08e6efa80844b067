//! A decoder in an ONNX Runtime session.

mod bare;
mod inputs;
mod outputs;
mod padding;
mod shared;

pub use bare::BareRun;

use std::path::Path;
use std::time::Instant;

use ort::ep::CUDA;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::session::{Session, SessionInputValue, SessionInputs};
use ort::value::DynValue;
use structgen_decode::{
    Forward, KeyValueCache, LanguageModel, Logits, ModelError, ModelInfo, ModelStats,
};

use crate::cache::{OrtCache, Storage, backend};
use crate::config::{ModelConfig, Names};
use crate::runtime::prepare_cuda;
use crate::signature::{Input, Output, Signature};
use crate::{CudaError, Device, LoadError, ModelFolder, Runtime};
use inputs::Buffers;
use outputs::{Kept, Selection};

/// A language model that ONNX Runtime runs.
///
/// ```no_run
/// use structgen_decode::LanguageModel;
/// use structgen_ort::{LoadOptions, OrtModel, Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// let model = OrtModel::open(runtime, "path/to/model".as_ref(), &LoadOptions::default())?;
/// println!("{} positions", model.info().context_length);
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug)]
pub struct OrtModel {
    session: Session,
    signature: Signature,
    info: ModelInfo,
    buffers: Buffers,
    /// Where the cache stays between runs, if that is not the processor's memory.
    cache_memory: Option<MemoryInfo<'static>>,
    /// Whether the graph writes its cache in place.
    shares_buffers: bool,
    /// Whether it leaves padding out, once that was tried.
    takes_padding: Option<bool>,
    /// The outputs of a run without hidden states, and of one with them.
    plain: Selection,
    with_hidden: Selection,
    /// The logits of the last run, which views borrow.
    logits: Kept,
    /// Its hidden states, where it was asked for them.
    hidden: Option<Kept>,
    stats: ModelStats,
}

/// How to load a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadOptions {
    /// Where it runs.
    pub device: Device,
    /// The suffix of a quantised file, such as `quantized`, `int8`, `fp16` or `q4`; none takes the plain file.
    pub variant: Option<String>,
}

impl OrtModel {
    /// Loads a model folder; [`ModelFolder`] says what it may look like.
    ///
    /// # Errors
    /// [`LoadError`]: what is missing or not understood, by name.
    pub fn open(
        runtime: &'static Runtime,
        folder: &Path,
        options: &LoadOptions,
    ) -> Result<Self, LoadError> {
        let folder = ModelFolder::open(folder, options.variant.as_deref())?;
        let model = folder.model.display().to_string();
        let mut builder = session_builder(runtime, options.device)?;
        let session = builder.commit_from_file(&folder.model);
        let session = session.map_err(|error| refused(&model, &error))?;
        let mut model = Self::new(session, &folder.names, &folder.config, options.device)?;
        if folder.shares_buffers && model.cache_memory.is_none() {
            model.share_buffers()?;
        }
        Ok(model)
    }

    /// Loads a model from memory, with the names that optimum gives inputs and outputs.
    ///
    /// # Errors
    /// As [`open`](OrtModel::open).
    pub fn from_bytes(
        runtime: &'static Runtime,
        bytes: &[u8],
        config: &ModelConfig,
        device: Device,
    ) -> Result<Self, LoadError> {
        let mut builder = session_builder(runtime, device)?;
        let session = builder.commit_from_memory(bytes);
        let session = session.map_err(|error| refused("the model in memory", &error))?;
        Self::new(session, &Names::default(), config, device)
    }

    fn new(
        session: Session,
        names: &Names,
        config: &ModelConfig,
        device: Device,
    ) -> Result<Self, LoadError> {
        let signature = Signature::read(session.inputs(), session.outputs(), names, config)?;
        let context_length = config.context_length.ok_or(LoadError::Untold {
            what: "the context length",
            field: "max_position_embeddings",
        })?;
        let buffers = Buffers::of(&signature.inputs);
        let select = |hidden| {
            Selection::new(&session, &signature.outputs, hidden)
                .map_err(|error| refused("the session", &error))
        };
        let hidden = signature.hidden;
        let info = ModelInfo::new(signature.width, context_length, config.eos.iter().copied());
        Ok(Self {
            info: info
                .with_bos(config.bos)
                .with_cache_bytes_per_token(signature.cache_bytes_per_token())
                .with_hidden_width(hidden.map(|(_, width)| width)),
            plain: select(false)?,
            with_hidden: select(true)?,
            logits: Kept::new("logits", signature.logits, signature.width),
            hidden: hidden.map(|(float, width)| Kept::new("hidden states", float, width)),
            session,
            signature,
            buffers,
            cache_memory: cache_memory(device).map_err(|error| refused("the session", &error))?,
            shares_buffers: false,
            takes_padding: None,
            stats: ModelStats::default(),
        })
    }

    /// Whether keys and values of past and present are one buffer, which each run writes on: so `genai_config.json` says by `past_present_share_buffer`.
    ///
    /// Then a token costs no copy of the past. On a device, such models run as others do: each run gives out new tensors there.
    #[must_use]
    pub fn shares_buffers(&self) -> bool {
        self.shares_buffers
    }

    /// The names and types of the graph's inputs, in its order.
    pub fn inputs(&self) -> Vec<(String, String)> {
        outlets(self.session.inputs())
    }

    /// The names and types of the graph's outputs, in its order.
    pub fn outputs(&self) -> Vec<(String, String)> {
        outlets(self.session.outputs())
    }

    /// Keeps what a run of `n` tokens in each row gave.
    fn keep(
        &mut self,
        given: Given,
        rows: usize,
        n: usize,
        input: &Forward<'_>,
    ) -> Result<(), ModelError> {
        self.logits.keep(given.logits, rows, n, input.positions)?;
        match self.hidden.as_mut().filter(|_| input.hidden) {
            Some(kept) => kept.keep(given.hidden, rows, n, input.positions),
            None => Ok(()),
        }
    }

    /// A view of what was kept.
    fn view(&mut self, rows: usize, input: &Forward<'_>) -> Result<Logits<'_>, ModelError> {
        let positions = input.positions;
        let (values, given) = self.logits.numbers(rows, positions)?;
        let logits = Logits::last_of(values, rows, given, self.info.logits_width, positions)?;
        match (&mut self.hidden, self.info.hidden_width) {
            (Some(kept), Some(width)) if input.hidden => {
                let (values, given) = kept.numbers(rows, positions)?;
                logits.with_hidden(values, given, width)
            }
            _ => Ok(logits),
        }
    }
}

/// What a run gave besides the cache.
#[derive(Default)]
struct Given {
    logits: Option<DynValue>,
    hidden: Option<DynValue>,
}

impl LanguageModel for OrtModel {
    type Cache = OrtCache;

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn new_cache(&mut self, left_padding: &[usize]) -> Result<OrtCache, ModelError> {
        let storage = match (&self.cache_memory, self.shares_buffers) {
            (Some(_), _) => Storage::Device,
            (None, false) => Storage::Outputs,
            (None, true) => Storage::Shared {
                context_length: self.info.context_length,
            },
        };
        let is_padded = left_padding.iter().any(|&padding| padding > 0);
        if is_padded && !self.shares_buffers && !self.takes_padding()? {
            return Err(ModelError::LeftPadding);
        }
        OrtCache::new(&self.signature.cache, left_padding, storage)
    }

    fn forward(
        &mut self,
        input: Forward<'_>,
        cache: &mut OrtCache,
    ) -> Result<Logits<'_>, ModelError> {
        let rows = cache.rows();
        let n = input.check(rows, cache.len(), &self.info)?;
        let total = cache.len + n;
        let is_shared = matches!(cache.storage, Storage::Shared { .. });
        if cache.layout != self.signature.cache
            || is_shared != self.shares_buffers
            || (cache.capacity > 0 || !is_shared) && cache.tensors.len() != cache.layout.len()
        {
            return Err(ModelError::Shape {
                what: "tensors of another model's cache",
                got: cache.tensors.len(),
                rows,
            });
        }
        if is_shared {
            return self.forward_shared(input, cache, n);
        }
        self.buffers.fill(&input, cache, n);
        let owned = self.cache_memory.is_some();
        let mut values: Vec<SessionInputValue<'_>> =
            Vec::with_capacity(self.signature.inputs.len());
        for role in &self.signature.inputs {
            let value = match *role {
                Input::Ids(ty) => self.buffers.ids.tensor(ty, [rows, n], owned)?,
                Input::AttentionMask(ty) => self.buffers.mask.tensor(ty, [rows, total], owned)?,
                Input::PositionIds(ty) => self.buffers.positions.tensor(ty, [rows, n], owned)?,
                Input::UseCacheBranch => inputs::cache_branch(cache.len > 0)?,
                Input::LogitsToKeep => inputs::logits_to_keep(input.positions)?,
                Input::Past(i) => cache.input(i)?,
            };
            values.push(value);
        }

        let mut present: Vec<Option<DynValue>> = Vec::new();
        present.resize_with(cache.tensors.len(), || None);
        let mut given = Given::default();
        let mut sort = |output: Output, value| match output {
            Output::Logits => given.logits = Some(value),
            Output::Hidden => given.hidden = Some(value),
            Output::Present(i) => present[i] = Some(value),
            Output::Unused => {}
        };
        let tokens = input.tokens.len();
        let selection = selection(&self.plain, &self.with_hidden, &input);
        match &self.cache_memory {
            None => {
                let started = Instant::now();
                let values = SessionInputs::<0>::ValueSlice(&values);
                let outputs = self.session.run_with_options(values, &selection.options);
                self.stats.record(tokens, started.elapsed());
                let roles = selection.roles.iter();
                for ((_, value), &(_, role)) in outputs.map_err(backend)?.into_iter().zip(roles) {
                    sort(role, value);
                }
            }
            Some(memory) => {
                let started = Instant::now();
                let outputs = run_bound(&mut self.session, &values, &selection.roles, memory);
                self.stats.record(tokens, started.elapsed());
                for (role, value) in outputs.map_err(backend)? {
                    sort(role, value);
                }
            }
        }
        drop(values);
        let present: Option<Vec<DynValue>> = present.into_iter().collect();
        let present = present.ok_or_else(|| unexpected("the cache", &[]))?;
        for (value, layout) in present.iter().zip(&cache.layout) {
            check_shape(value, &layout.shape(rows, total), "the cache")?;
        }
        self.keep(given, rows, n, &input)?;
        cache.tensors = present;
        cache.len = total;
        cache.capacity = total;
        self.view(rows, &input)
    }

    fn stats(&self) -> ModelStats {
        self.stats
    }
}

fn selection<'s>(
    plain: &'s Selection,
    with_hidden: &'s Selection,
    input: &Forward<'_>,
) -> &'s Selection {
    match input.hidden {
        true => with_hidden,
        false => plain,
    }
}

/// Runs with the cache's outputs left where they are computed.
fn run_bound(
    session: &mut Session,
    values: &[SessionInputValue<'_>],
    roles: &[(usize, Output)],
    memory: &MemoryInfo<'_>,
) -> ort::Result<Vec<(Output, DynValue)>> {
    let processor = cpu_memory()?;
    let mut binding = session.create_binding()?;
    for (outlet, value) in session.inputs().iter().zip(values) {
        binding.bind_input(outlet.name(), value)?;
    }
    let mut names = Vec::new();
    for &(place, role) in roles {
        let name = session.outputs()[place].name();
        let memory = match role {
            Output::Present(_) => memory,
            Output::Logits | Output::Hidden | Output::Unused => &processor,
        };
        binding.bind_output_to_device(name, memory)?;
        names.push((role, name.to_owned()));
    }
    let mut outputs = session.run_binding(&binding)?;
    let found = names
        .into_iter()
        .filter_map(|(role, name)| Some((role, outputs.remove(name)?)));
    Ok(found.collect())
}

fn cpu_memory() -> ort::Result<MemoryInfo<'static>> {
    MemoryInfo::new(
        AllocationDevice::CPU,
        0,
        AllocatorType::Device,
        MemoryType::Default,
    )
}

/// Where the cache of a model on this device stays; none is the processor's memory.
fn cache_memory(device: Device) -> ort::Result<Option<MemoryInfo<'static>>> {
    match device {
        Device::Cpu { .. } => Ok(None),
        Device::Cuda { id } => MemoryInfo::new(
            AllocationDevice::CUDA,
            id,
            AllocatorType::Device,
            MemoryType::Default,
        )
        .map(Some),
    }
}

pub(crate) fn session_builder(
    runtime: &'static Runtime,
    device: Device,
) -> Result<SessionBuilder, LoadError> {
    if let Device::Cuda { .. } = device {
        prepare_cuda(runtime)?;
    }
    let fail = |error: &dyn std::fmt::Display| LoadError::Session {
        model: "the session".into(),
        reason: error.to_string(),
    };
    let builder = Session::builder(runtime.environment()).map_err(|e| fail(&e))?;
    let builder = builder
        .with_optimization_level(GraphOptimizationLevel::Level3)
        .map_err(|e| fail(&e))?;
    // Rewriting quantised weights into integer products makes logits depend on how a text is cut into runs.
    let builder = builder.with_quant_qdq(false).map_err(|e| fail(&e))?;
    match device {
        Device::Cpu { threads: None } => Ok(builder),
        Device::Cpu {
            threads: Some(threads),
        } => builder
            .with_intra_threads(threads.get())
            .map_err(|e| fail(&e)),
        Device::Cuda { id } => {
            let provider = CUDA::default()
                .with_device_id(id)
                .build()
                .error_on_failure();
            builder
                .with_execution_providers([provider])
                .map_err(|error| {
                    LoadError::Cuda(CudaError::Refused {
                        device: id,
                        reason: error.to_string(),
                    })
                })
        }
    }
}

pub(crate) fn refused(model: &str, error: &ort::Error) -> LoadError {
    LoadError::Session {
        model: model.into(),
        reason: error.to_string(),
    }
}

fn outlets(outlets: &[ort::value::Outlet]) -> Vec<(String, String)> {
    let pairs = outlets
        .iter()
        .map(|o| (o.name().to_owned(), o.dtype().to_string()));
    pairs.collect()
}

fn dims(value: &DynValue) -> &[i64] {
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

fn unexpected(what: &'static str, got: &[i64]) -> ModelError {
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

#[cfg(test)]
mod tests {
    use super::*;
    use structgen_vocab::TokenId;

    #[test]
    fn a_run_with_bound_outputs_equals_a_plain_one() {
        // The path that GPUs take, with the processor's memory in the place of theirs.
        let say = |line: &str| {
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                line.as_bytes(),
            ))
        };
        let runtime = crate::ensure_runtime(say).unwrap();
        for name in [
            "optimum",
            "float16",
            "merged",
            "genai_gpt2",
            "hidden_states",
            "hidden_states_float16",
        ] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/fixtures")
                .join(name);
            let options = LoadOptions {
                device: Device::cpu(1),
                ..LoadOptions::default()
            };
            let mut logits = Vec::new();
            for bound in [false, true] {
                let mut model = OrtModel::open(runtime, &folder, &options).unwrap();
                if bound {
                    model.cache_memory = Some(cpu_memory().unwrap());
                }
                let mut cache = model.new_cache(&[0]).unwrap();
                let mut run = |model: &mut OrtModel, cache: &mut OrtCache, ids: &[u32]| {
                    let ids: Vec<TokenId> = ids.iter().copied().map(TokenId).collect();
                    let mut input = Forward::last(&ids);
                    input.hidden = model.info.hidden_width.is_some();
                    let view = model.forward(input, cache).unwrap();
                    assert_eq!(view.hidden(0, 0).is_some(), input.hidden);
                    let hidden = view.hidden(0, 0).unwrap_or_default();
                    logits.push([view.row(0, 0), hidden].concat());
                };
                run(&mut model, &mut cache, &[3, 4, 5]);
                run(&mut model, &mut cache, &[6]);
                cache.truncate(2).unwrap();
                run(&mut model, &mut cache, &[7, 8]);
            }
            let (plain, bound) = logits.split_at(3);
            assert_eq!(plain, bound, "{name}");
        }
    }
}
