//! The models of a server, by name: loaded when they are first requested.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use structgen::Model;
use structgen::tools::ToolFormat;
use tokio::sync::Mutex;
use tracing::Instrument;

use crate::config::ModelSpec;
use crate::error::{ApiError, Result};
use crate::generation::Plans;
use crate::metrics::EngineGauges;

/// A loaded model, and what was compiled for it.
pub(crate) struct ServedModel {
    pub(crate) name: String,
    pub(crate) model: Model,
    /// The format of its reasoning and calls.
    pub(crate) format: ToolFormat,
    /// Whether its vocabulary has the marker that starts reasoning.
    pub(crate) reasons: bool,
    pub(crate) plans: Plans,
}

pub(crate) struct Models {
    entries: Vec<Entry>,
    /// Counts uses, to determine the least recently used model.
    clock: AtomicU64,
    byte_limit: Option<u64>,
    kept_constraints: usize,
    pub(crate) created: u64,
}

struct Entry {
    spec: ModelSpec,
    state: Mutex<LoadState>,
    last_use: AtomicU64,
    failed_loads: AtomicU64,
}

/// What became of loading a model.
#[derive(Default)]
enum LoadState {
    #[default]
    Unloaded,
    Loaded(Arc<ServedModel>),
    /// The last attempt failed, at this time.
    Failed(Instant, ApiError),
}

impl LoadState {
    fn model(&self) -> Option<&Arc<ServedModel>> {
        match self {
            Self::Loaded(model) => Some(model),
            Self::Unloaded | Self::Failed(..) => None,
        }
    }
}

impl Models {
    pub(crate) fn new(
        specs: Vec<ModelSpec>,
        byte_limit: Option<u64>,
        kept_constraints: usize,
    ) -> Self {
        let entry = |spec| Entry {
            spec,
            state: Mutex::default(),
            last_use: AtomicU64::new(0),
            failed_loads: AtomicU64::new(0),
        };
        Self {
            entries: specs.into_iter().map(entry).collect(),
            clock: AtomicU64::new(1),
            byte_limit,
            kept_constraints,
            created: unix_time(),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.spec.name)
    }

    /// Returns the name for a request's `model`, or the default without one.
    pub(crate) fn name_of(&self, name: Option<&str>) -> Result<&str> {
        Ok(&self.entry(name)?.spec.name)
    }

    fn entry(&self, name: Option<&str>) -> Result<&Entry> {
        let mut entries = self.entries.iter();
        let found = match name {
            None => entries.next(),
            Some(name) => entries.find(|entry| entry.spec.name == name),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let message = format!(
                "the model {:?} does not exist; there are: {}",
                name.unwrap_or_default(),
                names.join(", ")
            );
            ApiError::new(StatusCode::NOT_FOUND, message)
                .with_param("model")
                .with_code("model_not_found")
        })
    }

    /// Returns the model with a name, and loads it if necessary.
    ///
    /// Requests that wait for an attempt to load it share its outcome. Otherwise each would make an attempt of its own,
    /// one after another, and the last would wait for all of them.
    pub(crate) async fn get(&self, name: Option<&str>) -> Result<Arc<ServedModel>> {
        let entry = self.entry(name)?;
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        entry.last_use.store(now, Ordering::Relaxed);
        let asked = Instant::now();
        let mut state = entry.state.lock().await;
        match &*state {
            LoadState::Loaded(model) => return Ok(Arc::clone(model)),
            LoadState::Failed(at, error) if *at >= asked => return Err(error.clone()),
            LoadState::Failed(..) | LoadState::Unloaded => {}
        }
        self.make_room(entry).await;
        let spec = entry.spec.clone();
        let kept = self.kept_constraints;
        let task = tokio::task::spawn_blocking(move || load(&spec, kept));
        let span = tracing::info_span!("load model", model = entry.spec.name);
        let model = task.instrument(span).await.unwrap_or_else(|_| {
            let message = format!("loading the model {} failed badly", entry.spec.name);
            Err(ApiError::internal(message))
        });
        match model {
            Ok(model) => {
                tracing::info!(model = model.name, "model loaded");
                let model = Arc::new(model);
                *state = LoadState::Loaded(Arc::clone(&model));
                Ok(model)
            }
            Err(error) => {
                entry.failed_loads.fetch_add(1, Ordering::Relaxed);
                *state = LoadState::Failed(Instant::now(), error.clone());
                Err(error)
            }
        }
    }

    /// Unloads unused models, least recently used first, until `next` fits into the limit.
    async fn make_room(&self, next: &Entry) {
        let Some(limit) = self.byte_limit else {
            return;
        };
        let mut others: Vec<&Entry> = Vec::new();
        let mut bytes = next.spec.bytes();
        for entry in &self.entries {
            // Do not unload the one being loaded.
            if !std::ptr::eq(entry, next)
                && let Ok(state) = entry.state.try_lock()
                && state.model().is_some()
            {
                bytes = bytes.saturating_add(entry.spec.bytes());
                others.push(entry);
            }
        }
        others.sort_by_key(|entry| entry.last_use.load(Ordering::Relaxed));
        for entry in others {
            if bytes <= limit {
                break;
            }
            let mut state = entry.state.lock().await;
            if state
                .model()
                .is_some_and(|model| Arc::strong_count(model) == 1)
            {
                let unloaded = std::mem::take(&mut *state);
                // Its threads may be in the middle of a step for a request that was cancelled.
                let freed = tokio::task::spawn_blocking(move || drop(unloaded));
                if freed.await.is_err() {
                    tracing::error!(model = entry.spec.name, "unloading failed badly");
                }
                bytes = bytes.saturating_sub(entry.spec.bytes());
                tracing::info!(model = entry.spec.name, "model unloaded");
            }
        }
    }

    /// Returns the metrics of the loaded models.
    pub(crate) fn gauges(&self) -> EngineGauges {
        let mut gauges = EngineGauges::default();
        for entry in &self.entries {
            gauges.failed_loads += entry.failed_loads.load(Ordering::Relaxed);
            if let Ok(state) = entry.state.try_lock()
                && let Some(served) = state.model()
            {
                gauges.loaded_models += 1;
                gauges.waiting += served.model.engine().waiting();
                gauges.cache_bytes += served.model.engine().cache_bytes();
            }
        }
        gauges
    }
}

/// Loads a model, which takes a while.
fn load(spec: &ModelSpec, kept_constraints: usize) -> Result<ServedModel> {
    let model = match &spec.folder {
        None => Model::embedded(&spec.options),
        Some(folder) => Model::open(folder, &spec.options),
    };
    let model = model.map_err(|error| {
        tracing::error!(
            model = spec.name,
            error = crate::error::paragraph(&error),
            "the model cannot be loaded"
        );
        // Do not reveal the folder's path to clients.
        let message = format!("the model {} cannot be loaded", spec.name);
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("model_unavailable")
    })?;
    let vocabulary = model.tokenizer().vocabulary();
    let format = match &spec.tool_format {
        Some(format) => Some(format.clone()),
        None => { DETECTED.iter().filter_map(|name| ToolFormat::preset(name)) }
            .find(|format| vocabulary.special_token(first_marker(format)).is_some())
            .or_else(|| ToolFormat::preset("qwen")),
    };
    let format = format.ok_or_else(|| ApiError::internal("there is no format of tool calls"))?;
    let reasons = format.reasoning.as_ref().is_some_and(|reasoning| {
        let mut begins = reasoning.begin.texts();
        begins.any(|begin| {
            let begin = marker(begin);
            !begin.is_empty() && vocabulary.special_token(begin).is_some()
        })
    });
    Ok(ServedModel {
        name: spec.name.clone(),
        model,
        format,
        reasons,
        plans: Plans::new(kept_constraints),
    })
}

/// The formats recognised by a token of their own, the most specific first.
const DETECTED: [&str; 7] = [
    "harmony", "mistral", "deepseek", "kimi", "llama3", "minimax", "qwen",
];

/// Returns the first special token with which a format's calls start.
fn first_marker(format: &ToolFormat) -> &str {
    marker(&format.calls.trigger)
}

/// Returns the token at the start of a marker: `<|channel|>` of `<|channel|>analysis<|message|>`.
fn marker(text: &str) -> &str {
    let text = text.trim();
    match text.find(['>', ']']) {
        Some(end) => &text[..=end],
        None => text,
    }
}

impl ModelSpec {
    /// Returns the size of its weight files in bytes.
    fn bytes(&self) -> u64 {
        self.folder.as_deref().map_or(0, |folder| {
            weights_in(folder) + weights_in(&folder.join("onnx"))
        })
    }
}

fn weights_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_weights = |name: &str| name.contains(".onnx");
    files
        .filter(|file| is_weights(&file.file_name().to_string_lossy()))
        .filter_map(|file| file.metadata().ok())
        .map(|file| file.len())
        .sum()
}

/// Returns the seconds since 1970.
pub(crate) fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
