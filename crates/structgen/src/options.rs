//! Where a model runs, and with which library.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use structgen_constraint::VocabularyTables;
use structgen_decode::SchedulerLimits;
use structgen_ort::{Device, LoadOptions, Search};
use structgen_vocab::Vocabulary;

/// How to load a model. Start with [`ModelOptions::new`]; each method sets one option.
///
/// ```
/// use structgen::{Device, ModelOptions};
///
/// let options = ModelOptions::new().with_device(Device::cpu(2)).with_variant("int8");
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    device: Option<Device>,
    variant: Option<String>,
    runtime: Option<PathBuf>,
    tables: Option<PathBuf>,
    workers: Option<NonZeroUsize>,
    workers_on_demand: bool,
    limits: SchedulerLimits,
    draft: Option<DraftSource>,
    heads: Option<HeadsSource>,
    single_tokens: bool,
    no_reader: bool,
}

/// Which model drafts for another one with the same tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DraftSource {
    /// The smaller of the embedded models, for the larger one.
    #[cfg(feature = "embedded")]
    Embedded,
    /// The model of a folder.
    Folder(PathBuf),
}

/// Which extra heads draft for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeadsSource {
    /// The two heads of the embedded model.
    #[cfg(feature = "embedded")]
    Embedded,
    /// Heads from a file, trained on the hidden states of the model that they draft for.
    File(PathBuf),
}

impl ModelOptions {
    /// Returns the defaults: the CPU, the plain model file, and the runtime library that is found.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the device. A device that is not available is an error: there is no fallback.
    #[must_use]
    pub fn with_device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets the variant of a folder's model file, such as `quantized`, `int8`, `fp16` or `q4`. The embedded model has
    /// none, and refuses it.
    #[must_use]
    pub fn with_variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = Some(variant.into());
        self
    }

    /// Sets the path to the ONNX Runtime library, instead of searching for one.
    #[must_use]
    pub fn with_runtime(mut self, library: impl Into<PathBuf>) -> Self {
        self.runtime = Some(library.into());
        self
    }

    /// Sets a folder to cache the tables of the model's vocabulary in, so that the next program need not compute them.
    /// The folder is created if it is missing; one that cannot be written is not an error. Without it, the tables are
    /// computed each time.
    #[must_use]
    pub fn with_tables_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.tables = Some(folder.into());
        self
    }

    /// Caches at most `max_bytes` of keys and values, so that a prompt with the same prefix as an earlier one is run
    /// only from where they differ: after the schema that precedes each text of an extraction, a system message, or a
    /// conversation that is continued. The least recently used texts are evicted first. Outputs may differ where logits
    /// are within rounding of each other. By default, nothing is cached.
    ///
    /// A token takes [`cache_bytes_per_token`](structgen_decode::ModelInfo::cache_bytes_per_token). Each worker has its
    /// own cache.
    #[must_use]
    pub fn with_prefix_cache(mut self, max_bytes: usize) -> Self {
        self.limits.prefix_bytes = max_bytes;
        self
    }

    /// Runs `workers` sessions of the model in parallel, each with a copy of the weights, and on one thread unless a
    /// [device](ModelOptions::with_device) is set. This is how small models use several cores; larger ones gain more
    /// from the batching in a single session. One by default.
    #[must_use]
    pub fn with_workers(mut self, workers: NonZeroUsize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Opens the sessions of [workers](ModelOptions::with_workers) when they are needed: another one once a request
    /// waits and all are busy. If one cannot be opened, such as for lack of memory, the others do its work. The model's
    /// files must stay as they are until then. By default, all are opened when the model is loaded.
    #[must_use]
    pub fn with_workers_on_demand(mut self) -> Self {
        self.workers_on_demand = true;
        self
    }

    /// Sets how much each worker does at once, and how much memory its caches may use.
    #[must_use]
    pub fn with_limits(mut self, limits: SchedulerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Loads a second model, which drafts for [speculation](structgen_decode::strategies::Speculation) and is the
    /// amateur of [contrastive decoding](structgen_decode::strategies::ContrastiveDecoding).
    #[must_use]
    pub fn with_draft(mut self, draft: DraftSource) -> Self {
        self.draft = Some(draft);
        self
    }

    /// Loads extra heads, which draft for [speculation](structgen_decode::strategies::Speculation).
    #[must_use]
    pub fn with_heads(mut self, heads: HeadsSource) -> Self {
        self.heads = Some(heads);
        self
    }

    /// Runs every token of every text on its own. This is slow, and meant for models whose graph [quantises
    /// activations](structgen_ort::LoadNote::DynamicQuantization) dynamically: without it, the output of such a model
    /// may depend on what else is in the batch. The embedded model refuses it.
    #[must_use]
    pub fn with_single_tokens(mut self) -> Self {
        self.single_tokens = true;
        self
    }

    pub(crate) fn has_workers_on_demand(&self) -> bool {
        self.workers_on_demand
    }

    pub(crate) fn workers_or_one(&self) -> NonZeroUsize {
        self.workers.unwrap_or(NonZeroUsize::MIN)
    }

    pub(crate) fn scheduler_limits(&self) -> SchedulerLimits {
        self.limits
    }

    /// Ignores the model's reader (`reader.onnx` in a folder): extraction then uses the decoder alone.
    #[must_use]
    pub fn without_reader(mut self) -> Self {
        self.no_reader = true;
        self
    }

    pub(crate) fn has_reader(&self) -> bool {
        !self.no_reader
    }

    pub(crate) fn draft(&self) -> Option<&DraftSource> {
        self.draft.as_ref()
    }

    pub(crate) fn heads(&self) -> Option<&HeadsSource> {
        self.heads.as_ref()
    }

    /// Returns where to search for the runtime library.
    #[must_use]
    pub fn search(&self) -> Search {
        let wants_cuda = matches!(self.device, Some(Device::Cuda { .. }));
        Search::from_env(self.runtime.clone()).prefer_cuda(wants_cuda)
    }

    pub(crate) fn tables(&self, vocabulary: Arc<Vocabulary>) -> VocabularyTables {
        match &self.tables {
            Some(folder) => VocabularyTables::load_or_build(vocabulary, folder).0,
            None => VocabularyTables::new(vocabulary),
        }
    }

    pub(crate) fn device_or(&self, default: Device) -> Device {
        self.device.unwrap_or(default)
    }

    /// Returns the name of an option that the embedded model would not honour.
    #[cfg(feature = "embedded")]
    pub(crate) fn only_for_folders(&self) -> Option<&'static str> {
        match self {
            Self {
                variant: Some(_), ..
            } => Some("variant"),
            Self {
                single_tokens: true,
                ..
            } => Some("single_tokens"),
            _ => None,
        }
    }

    pub(crate) fn load_options(&self) -> LoadOptions {
        // Parallel sessions use a core each.
        let default = match self.workers_or_one() > NonZeroUsize::MIN {
            true => Device::cpu(1),
            false => Device::default(),
        };
        LoadOptions {
            device: self.device_or(default),
            variant: self.variant.clone(),
            single_tokens: self.single_tokens,
        }
    }
}
