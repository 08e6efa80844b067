//! The models of a server, by name: loaded when they are first requested.

use std::collections::HashSet;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use serde_json::{Value, json};
use structgen::Model;
use structgen::chat::{ChatMessage, ChatOptions, ChatTemplate};
use structgen::tools::{Tool, ToolFormat, ToolGrammar, ToolOptions};
use tokio::sync::{Mutex, Notify, OwnedMutexGuard, oneshot};
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
    entries: Vec<Arc<Entry>>,
    /// Counts uses, to determine the least recently used model.
    clock: AtomicU64,
    byte_limit: Option<u64>,
    /// Held while models are unloaded for another, so that two do not count on the same memory.
    making_room: Mutex<()>,
    /// Notified when a model was loaded, or failed to load.
    load_ended: Notify,
    kept_constraints: usize,
    pub(crate) created: u64,
}

struct Entry {
    spec: ModelSpec,
    /// Locked while the model is loaded.
    state: Arc<Mutex<LoadState>>,
    is_loading: AtomicBool,
    last_use: AtomicU64,
    failed_loads: AtomicU64,
}

/// What became of loading a model.
#[derive(Default)]
enum LoadState {
    #[default]
    Unloaded,
    Loaded(Arc<ServedModel>),
    /// Another model needed the memory.
    Evicted,
    /// The last attempt failed, at this time.
    Failed(Instant, ApiError),
}

/// How long after a failed load the readiness check does not try again. Requests do.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

impl LoadState {
    fn model(&self) -> Option<&Arc<ServedModel>> {
        match self {
            Self::Loaded(model) => Some(model),
            Self::Unloaded | Self::Evicted | Self::Failed(..) => None,
        }
    }
}

impl Models {
    pub(crate) fn new(
        specs: Vec<ModelSpec>,
        byte_limit: Option<u64>,
        kept_constraints: usize,
    ) -> Self {
        let entry = |spec| {
            Arc::new(Entry {
                spec,
                state: Arc::default(),
                is_loading: AtomicBool::new(false),
                last_use: AtomicU64::new(0),
                failed_loads: AtomicU64::new(0),
            })
        };
        Self {
            entries: specs.into_iter().map(entry).collect(),
            clock: AtomicU64::new(1),
            byte_limit,
            making_room: Mutex::default(),
            load_ended: Notify::new(),
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

    fn entry(&self, name: Option<&str>) -> Result<&Arc<Entry>> {
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
    pub(crate) async fn get(self: &Arc<Self>, name: Option<&str>) -> Result<Arc<ServedModel>> {
        let entry = self.entry(name)?;
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        entry.last_use.store(now, Ordering::Relaxed);
        let asked = Instant::now();
        let state = Arc::clone(&entry.state).lock_owned().await;
        match &*state {
            LoadState::Loaded(model) => Ok(Arc::clone(model)),
            LoadState::Failed(at, error) if *at >= asked => Err(error.clone()),
            LoadState::Failed(..) | LoadState::Unloaded | LoadState::Evicted => {
                self.load(entry, state).await
            }
        }
    }

    /// Checks that the default model can be used. Loads it if this was not tried, or failed a while ago.
    pub(crate) async fn check_default(self: &Arc<Self>) -> Result<()> {
        let entry = self.entry(None)?;
        let state = Arc::clone(&entry.state).lock_owned().await;
        match &*state {
            LoadState::Loaded(_) | LoadState::Evicted => Ok(()),
            LoadState::Failed(at, error) if at.elapsed() < RETRY_PAUSE => Err(error.clone()),
            LoadState::Failed(..) | LoadState::Unloaded => self.load(entry, state).await.map(drop),
        }
    }

    /// Loads a model, in a task that goes on if the client that requested it leaves: the next one would have to start
    /// all over again, beside it.
    async fn load(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        mut state: OwnedMutexGuard<LoadState>,
    ) -> Result<Arc<ServedModel>> {
        let (tell, told) = oneshot::channel();
        let (models, entry) = (Arc::clone(self), Arc::clone(entry));
        let task = async move {
            models.make_room(&entry).await;
            let model = models.load_now(&entry).await;
            *state = match &model {
                Ok(model) => LoadState::Loaded(Arc::clone(model)),
                Err(error) => LoadState::Failed(Instant::now(), error.clone()),
            };
            drop(state);
            // If nobody waits for it any more, the model is unused from now on.
            let _ = tell.send(model);
            entry.is_loading.store(false, Ordering::Release);
            models.load_ended.notify_waiters();
        };
        tokio::spawn(task.in_current_span());
        told.await
            .unwrap_or_else(|_| Err(ApiError::internal("loading the model failed badly")))
    }

    async fn load_now(&self, entry: &Entry) -> Result<Arc<ServedModel>> {
        let spec = entry.spec.clone();
        let kept = self.kept_constraints;
        let task = tokio::task::spawn_blocking(move || load(&spec, kept));
        let span = tracing::info_span!("load model", model = entry.spec.name);
        let model = task.instrument(span).await.unwrap_or_else(|_| {
            let message = format!("loading the model {} failed badly", entry.spec.name);
            Err(ApiError::internal(message))
        });
        match &model {
            Ok(model) => tracing::info!(model = model.name, "model loaded"),
            Err(_) => {
                entry.failed_loads.fetch_add(1, Ordering::Relaxed);
            }
        }
        model.map(Arc::new)
    }

    /// Unloads unused models until `next` fits into the limit, and counts it as one that is being loaded. If other such
    /// models are in the way, waits for them, since they may be unused afterwards.
    async fn make_room(&self, next: &Entry) {
        let _making = self.making_room.lock().await;
        loop {
            let mut load_ended = pin!(self.load_ended.notified());
            load_ended.as_mut().enable();
            if self.evict_for(next).await || !self.are_others_loading(next) {
                break;
            }
            load_ended.await;
        }
        next.is_loading.store(true, Ordering::Release);
    }

    fn are_others_loading(&self, next: &Entry) -> bool {
        let mut others = self.others(next);
        others.any(|entry| entry.is_loading.load(Ordering::Acquire))
    }

    fn others<'m>(&'m self, next: &'m Entry) -> impl Iterator<Item = &'m Arc<Entry>> {
        let is_other = |entry: &&Arc<Entry>| !std::ptr::eq(&***entry, next);
        self.entries.iter().filter(is_other)
    }

    /// Unloads unused models, least recently used first, until `next` fits into the limit; returns whether it does.
    async fn evict_for(&self, next: &Entry) -> bool {
        let Some(limit) = self.byte_limit else {
            return true;
        };
        let mut bytes = next.spec.bytes();
        let mut loaded: Vec<&Arc<Entry>> = Vec::new();
        for entry in self.others(next) {
            if entry.is_loading.load(Ordering::Acquire) {
                bytes = bytes.saturating_add(entry.spec.bytes());
            } else if let Ok(state) = entry.state.try_lock()
                && state.model().is_some()
            {
                bytes = bytes.saturating_add(entry.spec.bytes());
                loaded.push(entry);
            }
        }
        loaded.sort_by_key(|entry| entry.last_use.load(Ordering::Relaxed));
        for entry in loaded {
            if bytes <= limit {
                break;
            }
            let mut state = entry.state.lock().await;
            if state
                .model()
                .is_some_and(|model| Arc::strong_count(model) == 1)
            {
                let unloaded = std::mem::replace(&mut *state, LoadState::Evicted);
                // Its threads may be in the middle of a step for a request that was cancelled.
                let freed = tokio::task::spawn_blocking(move || drop(unloaded));
                if freed.await.is_err() {
                    tracing::error!(model = entry.spec.name, "unloading failed badly");
                }
                bytes = bytes.saturating_sub(entry.spec.bytes());
                tracing::info!(model = entry.spec.name, "model unloaded");
            }
        }
        bytes <= limit
    }

    /// Returns the metrics of the loaded models.
    pub(crate) fn gauges(&self) -> EngineGauges {
        let mut gauges = EngineGauges::default();
        for entry in &self.entries {
            gauges.failed_loads += entry.failed_loads.load(Ordering::Relaxed);
            gauges.loading_models += usize::from(entry.is_loading.load(Ordering::Relaxed));
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
        None => detected(&model).or_else(|| {
            if !model.is_embedded() {
                tracing::warn!(
                    model = spec.name,
                    "the model's tokens and chat template do not show how it writes tool calls: the format is {DEFAULT}, \
                     unless --tool-format names another"
                );
            }
            ToolFormat::preset(DEFAULT)
        }),
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

/// The format of a model that shows none.
const DEFAULT: &str = "qwen";

/// The formats that are recognised by their tokens, the most likely of several first.
const BY_TOKENS: [(&str, &[&str]); 20] = [
    ("harmony", &["<|channel|>"]),
    ("mistral", &["[TOOL_CALLS]", "[ARGS]"]),
    ("mistral-v11", &["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"]),
    ("mistral-v3", &["[TOOL_CALLS]"]),
    ("deepseek", &["<｜tool▁calls▁begin｜>"]),
    ("deepseek-v3.1", &["<｜tool▁calls▁begin｜>"]),
    ("kimi", &["<|tool_calls_section_begin|>"]),
    ("command-r7b", &["<|START_ACTION|>"]),
    ("gemma4", &["<|tool_call>"]),
    ("functiongemma", &["<start_function_call>"]),
    ("phi4", &["<|tool_call|>", "<|/tool_call|>"]),
    ("granite", &["<|tool_call|>"]),
    ("llama-pythonic", &["<|python_start|>"]),
    ("llama3", &["<|python_tag|>"]),
    ("minimax", &["<minimax:tool_call>"]),
    ("glm", &["<tool_call>", "<arg_key>"]),
    ("qwen", &["<tool_call>"]),
    ("qwen-coder", &["<tool_call>"]),
    ("granite-3.1", &["<tool_call>"]),
    ("minimax-m1", &["<tool_calls>"]),
];

/// Returns the format in which a model writes calls, as far as its vocabulary and its chat template show.
fn detected(model: &Model) -> Option<ToolFormat> {
    let tokens = model.tokenizer().vocabulary().tokens();
    let ordinary: HashSet<&[u8]> = tokens.map(|(_, bytes)| bytes).collect();
    let vocabulary = model.tokenizer().vocabulary();
    // In many tokenizers, markers are tokens but not special.
    let is_token =
        |text: &str| vocabulary.special_token(text).is_some() || ordinary.contains(text.as_bytes());
    detect(is_token, model.chat_template().ok())
}

/// Returns a format whose tokens are there and that reads the call that the template writes; otherwise the first whose
/// tokens are there, or of all formats the one that reads the call.
fn detect(is_token: impl Fn(&str) -> bool, template: Option<&ChatTemplate>) -> Option<ToolFormat> {
    let by_tokens = { BY_TOKENS.iter() }
        .filter(|(_, tokens)| tokens.iter().all(|token| is_token(token)))
        .filter_map(|(name, _)| ToolFormat::preset(name));
    let mut by_tokens: Vec<ToolFormat> = by_tokens.collect();
    let calls = template.map_or_else(Vec::new, written_calls);
    let reads = |format: &ToolFormat| calls.iter().any(|call| reads_back(format, call));
    if let Some(at) = by_tokens.iter().position(reads) {
        return Some(by_tokens.swap_remove(at));
    }
    by_tokens.into_iter().next().or_else(|| {
        let mut all = ToolFormat::presets().filter_map(ToolFormat::preset);
        all.find(reads)
    })
}

/// A tool, and what a user asks before it is called.
const TOOL: &str = "get_time_of_zone";
const QUESTION: &str = "What is the time in zone 7?";

/// Returns what a chat template writes after the question for an answer that is a call, for both forms of arguments
/// that templates expect.
fn written_calls(template: &ChatTemplate) -> Vec<String> {
    let options = ChatOptions {
        add_generation_prompt: false,
        ..ChatOptions::default()
    };
    let arguments = json!({"zone": 7});
    let forms = [arguments.clone(), arguments.to_string().into()];
    let written = |arguments: Value| {
        let function = json!({"name": TOOL, "arguments": arguments});
        // Mistral's templates accept ids of this length only.
        let call = json!({"id": "abcDEF123", "type": "function", "function": function});
        let answer = ChatMessage::assistant("").with("tool_calls", json!([call]));
        let messages = [ChatMessage::user(QUESTION), answer];
        let prompt = template.render(&messages, &options).ok()?;
        let (_, written) = prompt.text().rsplit_once(QUESTION)?;
        Some(written.to_owned())
    };
    forms.into_iter().filter_map(written).collect()
}

fn reads_back(format: &ToolFormat, written: &str) -> bool {
    let schema = json!({"type": "object", "properties": {"zone": {"type": "integer"}}});
    let Ok(tool) = Tool::new(TOOL, schema) else {
        return false;
    };
    let grammar = ToolGrammar::new(format.clone(), vec![tool], &ToolOptions::new());
    let message = grammar.ok().and_then(|it| it.parse(written).ok());
    message.is_some_and(|message| {
        matches!(&message.calls[..], [call] if call.name == TOOL && call.arguments == json!({"zone": 7}))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a model in a folder of its own, with the embedded one's weights.
    fn spec(name: &str) -> (tempfile::TempDir, ModelSpec) {
        let folder = tempfile::tempdir().unwrap();
        let assets = structgen_model::MAIN;
        for (file, bytes) in [
            ("model.onnx", assets.model),
            ("tokenizer.json", assets.tokenizer),
            ("tokenizer_config.json", assets.tokenizer_config.as_bytes()),
            ("config.json", assets.config.as_bytes()),
        ] {
            std::fs::write(folder.path().join(file), bytes).unwrap();
        }
        let mut spec = ModelSpec::folder(folder.path());
        spec.name = name.to_owned();
        (folder, spec)
    }

    #[test]
    fn a_model_that_is_being_loaded_counts_for_the_memory() {
        structgen::runtime::ensure(|_| {}).unwrap();
        let (_folders, specs): (Vec<_>, Vec<_>) = ["a", "b"].map(spec).into_iter().unzip();
        let models = Arc::new(Models::new(specs, Some(1), 1));
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let first = Arc::clone(&models);
            let first = tokio::spawn(async move { first.get(Some("a")).await.map(drop) });
            while models.gauges().loading_models == 0 {
                tokio::task::yield_now().await;
            }
            first.abort();
            let _second = models.get(Some("b")).await.unwrap();
            while models.gauges().loading_models > 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(models.gauges().loaded_models, 1);
        });
    }

    fn name(tokens: &[&str], template: Option<&str>) -> Option<String> {
        let template = template.map(|source| {
            let config = json!({"chat_template": source}).to_string();
            ChatTemplate::from_tokenizer_config(&config).unwrap()
        });
        let found = detect(|text| tokens.contains(&text), template.as_ref());
        found.map(|format| format.name)
    }

    #[test]
    fn a_format_is_detected_by_its_tokens() {
        let cases: [(&[&str], &str); 9] = [
            (&["<|start|>", "<|channel|>"], "harmony"),
            (&["[TOOL_CALLS]"], "mistral-v3"),
            (&["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"], "mistral"),
            (&["<|tool_call|>"], "granite"),
            (&["<|tool_call|>", "<|/tool_call|>"], "phi4"),
            (&["<|START_ACTION|>"], "command-r7b"),
            (&["<|python_tag|>"], "llama3"),
            (&["<tool_call>"], "qwen"),
            (&["<tool_call>", "<arg_key>"], "glm"),
        ];
        for (tokens, format) in cases {
            assert_eq!(name(tokens, None).as_deref(), Some(format), "{tokens:?}");
        }
        assert_eq!(name(&["<|im_start|>"], None), None);
    }

    #[test]
    fn the_chat_template_tells_formats_of_the_same_tokens_apart() {
        let mistral = ["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"];
        let deepseek = ["<｜tool▁calls▁begin｜>"];
        let cases: [(&[&str], &str, &str); 7] = [
            (
                &mistral,
                "[TOOL_CALLS]{{ f.name }}[CALL_ID]{{ c.id }}[ARGS]{{ f.arguments | tojson }}",
                "mistral-v11",
            ),
            (
                &mistral,
                "[TOOL_CALLS]{{ f.name }}[ARGS]{{ f.arguments | tojson }}</s>",
                "mistral",
            ),
            (
                &deepseek,
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{{ f.name + '<｜tool▁sep｜>' + f.arguments }}<｜tool▁call▁end｜>\
                 <｜tool▁calls▁end｜>",
                "deepseek-v3.1",
            ),
            (
                &["<tool_call>"],
                "<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments.items() %}<parameter={{ k }}>\n{{ v }}\n\
                 </parameter>\n{% endfor %}</function>\n</tool_call><|im_end|>",
                "qwen-coder",
            ),
            (
                &["<tool_call>"],
                "<tool_call>[{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | tojson }}}]",
                "granite-3.1",
            ),
            // Without any token, and in a form that no format has.
            (
                &[],
                "<tool_call>\n{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | tojson }}}\n</tool_call>",
                "qwen",
            ),
            (&["<tool_call>"], "CALL {{ f.name }}", "qwen"),
        ];
        for (tokens, call, format) in cases {
            let template = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}\
                 {{% set f = c.function %}}{call}{{% endfor %}}{{% endfor %}}"
            );
            let found = name(tokens, Some(&template));
            assert_eq!(found.as_deref(), Some(format), "{template}");
        }
        let drops = "{% for m in messages %}{{ m.content }}{% endfor %}";
        assert_eq!(name(&[], Some(drops)), None);
    }
}
