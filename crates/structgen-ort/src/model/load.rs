//! From files and options to a model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ort::ep::CUDA;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::value::Outlet;
use structgen_decode::{
    ModelInfo,
    model::{OutputStart, Packing},
};
use structgen_vocab::TokenId;

use super::encoded::Encoded;
use super::encoder::Encoder;
use super::graph::Graph;
use super::outputs::Outputs;
use super::probe::Abilities;
use super::texts::RowTexts;
use super::{OrtModel, Rows};
use crate::cache::growing::GrowingRows;
use crate::cache::states::StateRows;
use crate::config::{LongRope, ModelConfig, Setting};
use crate::memory;
use crate::names::Names;
use crate::operators::Operators;
use crate::runtime::prepare_cuda;
use crate::signature::{CacheTensor, Described, Element, Float, Signature};
use crate::{CudaError, Device, GraphFile, LoadError, LoadNote, ModelFolder, Runtime, When};

/// How to load a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadOptions {
    /// Where it runs.
    pub device: Device,
    /// The suffix of a quantised file, such as `quantized`, `int8`, `fp16` or `q4`; none takes the plain file.
    pub variant: Option<String>,
    /// Whether every token of every row is run by itself: slower, and then a text does not depend on what is run with
    /// it even where activations are quantised by scales of a whole run ([`LoadNote::DynamicQuantization`]).
    pub single_tokens: bool,
}

/// Where a model comes from, for opening it several times: models that run side by side, each on a thread of its own.
///
/// Each has a session and a cache of its own, and the weights once more: ONNX Runtime packs them anew for every
/// session. Workers are for small models; a large one gains more from running many rows at once.
///
/// ```no_run
/// use structgen_ort::{Device, LoadOptions, ModelSource, Runtime, Search};
///
/// let runtime = Runtime::load(&Search::from_env(None))?;
/// let options = LoadOptions { device: Device::cpu(1), ..LoadOptions::default() };
/// let source = ModelSource::folder("path/to/model".as_ref(), &options)?;
/// let models = [source.open(runtime)?, source.open(runtime)?];
/// # Ok::<(), structgen_ort::LoadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ModelSource {
    graphs: GraphSource,
    encoder: Option<PathBuf>,
    names: Names,
    config: ModelConfig,
    shares_buffers: bool,
    device: Device,
    pub(super) single_tokens: bool,
}

#[derive(Debug, Clone)]
enum GraphSource {
    Files(Vec<GraphFile>),
    Bytes(Cow<'static, [u8]>),
}

impl ModelSource {
    /// A model folder; [`ModelFolder`] says what it may look like.
    ///
    /// # Errors
    /// As [`ModelFolder::open`].
    pub fn folder(folder: &Path, options: &LoadOptions) -> Result<Self, LoadError> {
        let folder = ModelFolder::open(folder, options.variant.as_deref())?;
        Ok(Self {
            graphs: GraphSource::Files(folder.graphs),
            encoder: folder.encoder,
            names: folder.names,
            config: folder.config,
            shares_buffers: folder.shares_buffers,
            device: options.device,
            single_tokens: options.single_tokens,
        })
    }

    /// A model in memory, with the names that optimum gives inputs and outputs.
    pub fn bytes(
        bytes: impl Into<Cow<'static, [u8]>>,
        config: ModelConfig,
        device: Device,
    ) -> Self {
        Self {
            graphs: GraphSource::Bytes(bytes.into()),
            encoder: None,
            names: Names::default(),
            config,
            shares_buffers: false,
            device,
            single_tokens: false,
        }
    }

    /// A model whose graph takes past and present as one buffer, which each run writes to; as
    /// `past_present_share_buffer` in `genai_config.json` says of a folder.
    #[must_use]
    pub fn sharing_buffers(mut self) -> Self {
        self.shares_buffers = true;
        self
    }

    /// The same model on another device, or with another number of threads.
    #[must_use]
    pub fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Opens the model once more.
    ///
    /// # Errors
    /// [`LoadError`]: what is missing or not understood, by name.
    pub fn open(&self, runtime: &'static Runtime) -> Result<OrtModel, LoadError> {
        let mut opened = Vec::new();
        let mut operators = Operators::default();
        let mut bytes = 0;
        match &self.graphs {
            GraphSource::Files(files) => {
                for file in files {
                    // A file that cannot be read is ONNX Runtime's to refuse.
                    let own = Operators::of_file(&file.path).unwrap_or_default();
                    check_operators(&own, || file.path.display().to_string())?;
                    let builder = session_builder(runtime, self.device, &own)?;
                    let session = session_from_file(builder, &file.path)?;
                    opened.push(Opened::new(session, file.runs, &file.renamed));
                    operators.extend(own);
                    if file.runs.is_for(true) {
                        bytes += file_bytes(&file.path);
                    }
                }
            }
            GraphSource::Bytes(model) => {
                operators = Operators::of_bytes(model).unwrap_or_default();
                check_operators(&operators, || IN_MEMORY.to_owned())?;
                let builder = session_builder(runtime, self.device, &operators)?;
                let session = session_from_bytes(builder, model)?;
                opened.push(Opened::new(session, When::Always, &BTreeMap::new()));
                bytes = model.len();
            }
        }
        let mut model = OrtModel::new(opened, &self.names, &self.config, self.device, bytes)?;
        if self.shares_buffers && model.graph.cache_memory.is_none() {
            model.share_buffers()?;
        }
        if let Some(file) = &self.encoder {
            model.open_encoder(runtime, file, self.device, &self.config)?;
        }
        model.learn(&self.config, &operators, self.single_tokens)?;
        memory::trim();
        Ok(model)
    }
}

/// A graph in a session.
struct Opened {
    session: Session,
    described: Described,
}

impl Opened {
    fn new(session: Session, runs: When, renamed: &BTreeMap<String, String>) -> Self {
        let optional = session.overridable_initializers();
        let copied = |outlet: &Outlet| Outlet::new(outlet.name(), outlet.dtype().clone());
        let output = |outlet: &Outlet| match renamed.get(outlet.name()) {
            Some(name) => Outlet::new(name.as_str(), outlet.dtype().clone()),
            None => copied(outlet),
        };
        let described = Described {
            runs,
            inputs: session.inputs().iter().map(copied).collect(),
            optional: { optional.iter() }
                .map(|input| Outlet::new(input.name(), input.dtype().clone()))
                .collect(),
            outputs: session.outputs().iter().map(output).collect(),
        };
        Self { session, described }
    }
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
        ModelSource::folder(folder, options)?.open(runtime)
    }

    /// Loads a model from memory, with the names that optimum gives inputs and outputs.
    ///
    /// # Errors
    /// As [`open`](OrtModel::open).
    pub fn from_bytes(
        runtime: &'static Runtime,
        bytes: impl Into<Cow<'static, [u8]>>,
        config: &ModelConfig,
        device: Device,
    ) -> Result<Self, LoadError> {
        ModelSource::bytes(bytes, config.clone(), device).open(runtime)
    }

    /// Puts an encoder before the decoder.
    fn open_encoder(
        &mut self,
        runtime: &'static Runtime,
        file: &Path,
        device: Device,
        config: &ModelConfig,
    ) -> Result<(), LoadError> {
        let Some((&start, forced)) = config.decoder_start.split_first() else {
            return Err(config.untold(Setting::DecoderStart));
        };
        let operators = Operators::of_file(file).unwrap_or_default();
        let builder = session_builder(runtime, device, &operators)?;
        let encoder = Encoder::new(session_from_file(builder, file)?)?;
        let longest = self.info.context_length;
        let start = OutputStart {
            end: self.info.eos.first().copied(),
            start,
            forced: forced.to_vec(),
            longest,
        };
        self.info.output_start = Some(start.clone());
        self.encoded = Some(Encoded::new(encoder, start));
        // Input and output have as many positions each.
        self.info.context_length = longest.saturating_mul(2);
        self.info.weight_bytes += file_bytes(file);
        Ok(())
    }

    /// Finds out how the graph may be run, and what is to be said about it.
    fn learn(
        &mut self,
        config: &ModelConfig,
        operators: &Operators,
        single_tokens: bool,
    ) -> Result<(), LoadError> {
        let dynamic = dynamic_quantization(operators);
        match config.long_rope {
            // The builder leaves the choice out where a model of the type has one set of factors.
            Some(LongRope::ByLength { border })
                if border < self.info.context_length && operators.has("If") =>
            {
                self.texts = Some(RowTexts::new(Some(border)));
            }
            Some(LongRope::ShortAlone { border }) if border < self.info.context_length => {
                let context_length = std::mem::replace(&mut self.info.context_length, border);
                self.notes.push(LoadNote::ShortContext {
                    border,
                    context_length,
                });
            }
            _ => {}
        }
        let has_states = !self.graph.signature.states.is_empty();
        if has_states && self.texts.is_none() {
            self.texts = Some(RowTexts::new(None));
        }
        self.workspace_bytes_per_token = self.workspace(config, operators);
        self.abilities.tokens_alone = single_tokens;
        let has_border = self.texts.as_ref().is_some_and(RowTexts::has_border);
        self.abilities.rows_alone = single_tokens || has_border;
        // The decoder of an encoder-decoder takes no mask of its own text.
        self.abilities.padding &= self.encoded.is_none();
        self.abilities.several_after_past = !self.graph.signature.one_after_past;
        self.probe(dynamic.is_some())?;
        let abilities = self.abilities;
        self.info.packing = match (self.shares_buffers(), abilities.padding) {
            _ if abilities.rows_alone => Packing::Apart,
            (true, _) => Packing::Slots,
            (false, true) => Packing::Uniform,
            (false, false) => Packing::Apart,
        };
        let quantization = dynamic.filter(|_| !single_tokens);
        let is_padding_read = !abilities.padding && !abilities.rows_alone && !self.shares_buffers();
        let are_rows_mixed = abilities.rows_alone && !single_tokens && !has_border;
        let notes = [
            (!abilities.several_after_past).then_some(LoadNote::OneTokenAtATime),
            (!abilities.all_positions).then_some(LoadNote::LastPositionAlone),
            is_padding_read.then_some(LoadNote::RowsApart),
            are_rows_mixed.then_some(LoadNote::RowsAlone),
            quantization.map(|operator| LoadNote::DynamicQuantization { operator }),
            sliding_window(config, operators, self.info.context_length),
        ];
        self.notes.extend(notes.into_iter().flatten());
        Ok(())
    }

    /// The most that a step of a plain graph takes for the keys and values of one layer, in bytes a position.
    fn workspace(&self, config: &ModelConfig, operators: &Operators) -> usize {
        const ATTENTION: [&str; 2] = ["GroupQueryAttention", "MultiHeadAttention"];
        if ATTENTION.iter().any(|name| operators.has(name)) {
            return 0;
        }
        let pairs = self.graph.signature.cache.chunks(2);
        let of_layer = pairs.map(|pair| {
            let float32 = |heads: usize, tensor: &CacheTensor| {
                let width = heads.saturating_mul(tensor.head_dim);
                width.saturating_mul(size_of::<f32>())
            };
            let tensors = pair.iter().map(|tensor| {
                let repeated = config.heads.filter(|&heads| heads > tensor.heads);
                let repeated = repeated.map_or(0, |heads| float32(heads, tensor));
                let is_widened = tensor.element == Element::Float(Float::F16)
                    && self.graph.cache_memory.is_none();
                // The past and the present.
                let widened = if is_widened {
                    2 * float32(tensor.heads, tensor)
                } else {
                    0
                };
                repeated.saturating_add(widened)
            });
            tensors.fold(0, usize::saturating_add)
        });
        of_layer.max().unwrap_or(0).saturating_mul(2)
    }

    /// Takes tokens off those that end a text, because the tokenizer does not have them, and notes it.
    #[must_use]
    pub fn ignoring_ends(mut self, ids: &[TokenId]) -> Self {
        self.info.eos.retain(|id| !ids.contains(id));
        if !ids.is_empty() {
            let ids = ids.to_vec();
            self.notes.push(LoadNote::UnknownEnds { ids });
        }
        self
    }

    fn new(
        opened: Vec<Opened>,
        names: &Names,
        config: &ModelConfig,
        device: Device,
        weight_bytes: usize,
    ) -> Result<Self, LoadError> {
        let (sessions, described): (Vec<_>, Vec<_>) = { opened.into_iter() }
            .map(|graph| ((graph.session, graph.described.runs), graph.described))
            .unzip();
        let signature = Signature::read(&described, names, config)?;
        // Attention by distance, as T5's, has no end, and neither have recurrences; their families were trained on
        // texts of these lengths.
        let unbounded = match (signature.cross.is_empty(), signature.cache.is_empty()) {
            (false, _) => Some(512),
            (true, true) => Some(2048),
            (true, false) => None,
        };
        let context_length = { config.context_length.or(unbounded) }
            .ok_or_else(|| config.untold(Setting::ContextLength))?;
        let logits = (signature.logits, signature.width);
        let (eos, unknown): (Vec<TokenId>, Vec<TokenId>) =
            { config.eos.iter() }.partition(|id| id.index() < signature.width);
        let info = ModelInfo::new(signature.width, context_length, eos)
            .with_bos(config.bos)
            .with_cache_bytes_per_token(signature.cache_bytes_per_token())
            .with_weight_bytes(weight_bytes)
            .with_hidden_width(signature.hidden.map(|(_, width)| width));
        let session_error = |error: ort::Error| refused("the session", &error);
        let memory = cache_memory(device).map_err(session_error)?;
        let rows = GrowingRows::new(signature.cache.clone(), info.run_cost_bytes());
        let model = Self {
            info,
            rows: Rows::Growing(rows),
            states: StateRows::new(signature.states.clone()),
            opened: 0,
            workspace_bytes_per_token: 0,
            abilities: Abilities::default(),
            texts: None,
            encoded: None,
            notes: Vec::new(),
            outputs: Outputs::new(logits, signature.hidden),
            graph: Graph::new(sessions, signature, memory).map_err(session_error)?,
        };
        Ok(model.ignoring_ends(&unknown))
    }
}

/// Operators that quantise activations by a scale of the whole tensor.
const DYNAMIC_QUANTIZATION: [&str; 3] = [
    "DynamicQuantizeLinear",
    "DynamicQuantizeMatMul",
    "MatMulIntegerToFloat",
];

fn dynamic_quantization(operators: &Operators) -> Option<&'static str> {
    let mut names = DYNAMIC_QUANTIZATION.into_iter();
    names.find(|name| operators.has(name))
}

/// What stands for the file of a model in memory.
const IN_MEMORY: &str = "the model in memory";

/// Operators that write keys and values into tensors of a fixed length, or into pages of one: `TensorScatter` since
/// opset 24, and `PagedAttention` of ONNX Runtime for CUDA. By its inputs and outputs, such a graph may look like one
/// whose cache grows, and would be run wrongly.
const OTHER_CACHES: [&str; 2] = ["TensorScatter", "PagedAttention"];

fn check_operators(operators: &Operators, model: impl Fn() -> String) -> Result<(), LoadError> {
    match OTHER_CACHES.into_iter().find(|name| operators.has(name)) {
        Some(operator) => Err(LoadError::UnsupportedOperator {
            model: model(),
            operator,
        }),
        None => Ok(()),
    }
}

/// What is to be said where configuration and graph differ about a sliding window.
fn sliding_window(
    config: &ModelConfig,
    operators: &Operators,
    context_length: usize,
) -> Option<LoadNote> {
    let below_context = |window: &usize| *window < context_length;
    let configured = config.sliding_window.filter(below_context);
    let in_graph = operators.windows.iter().map(|&window| window as usize);
    let in_graph = in_graph.filter(below_context).max();
    match (configured, in_graph) {
        (Some(window), None) if operators.has("GroupQueryAttention") => {
            Some(LoadNote::WindowNotInGraph { window })
        }
        (Some(window), None) => Some(LoadNote::WindowUnseen { window }),
        (None, Some(window)) => Some(LoadNote::WindowNotConfigured { window }),
        _ => None,
    }
}

fn session_from_file(mut builder: SessionBuilder, file: &Path) -> Result<Session, LoadError> {
    let session = builder.commit_from_file(file);
    session.map_err(|error| refused(&file.display().to_string(), &error))
}

fn session_from_bytes(mut builder: SessionBuilder, bytes: &[u8]) -> Result<Session, LoadError> {
    let session = builder.commit_from_memory(bytes);
    session.map_err(|error| refused(IN_MEMORY, &error))
}

/// The bytes of a model file and of the files beside it that have its external data, by the names that exporters give
/// them.
fn file_bytes(file: &Path) -> usize {
    let name = file
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default();
    let entries = file.parent().and_then(|folder| folder.read_dir().ok());
    let files = entries.into_iter().flatten().flatten();
    let own = files.filter(|entry| entry.file_name().to_string_lossy().starts_with(&*name));
    // Links are followed: a cache of downloads consists of them.
    let sizes = own.filter_map(|entry| entry.path().metadata().ok());
    sizes.map(|file| file.len() as usize).sum()
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
    operators: &Operators,
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
        .with_optimization_level(GraphOptimizationLevel::All)
        .map_err(|e| fail(&e))?
        // A pattern is remembered for all shapes of inputs, and a cache that grows has others in every run.
        .with_memory_pattern(false)
        .map_err(|e| fail(&e))?
        // Weights that a kernel repacks are given back to the system one by one. An arena would keep them.
        .with_device_allocated_initializers()
        .map_err(|e| fail(&e))?;
    let builder = match dynamic_quantization(operators) {
        // As its exporter runs it: its logits depend on how a text is cut into runs anyway.
        Some(_) => builder,
        // Rewriting quantised weights into integer products would make them depend on it.
        None => builder.with_quant_qdq(false).map_err(|e| fail(&e))?,
    };
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
