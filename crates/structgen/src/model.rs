//! A model with its tokenizer.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use structgen_chat::{ChatError, ChatTemplate};
use structgen_constraint::{CompiledConstraint, VocabularyTables};
use structgen_decode::{
    Engine, GenerateError, LanguageModel, ModelInfo, Scheduler, confidence::SpanScore,
};
use structgen_ort::{
    Device, LoadNote, ModelConfig, ModelSource, OrtHeads, OrtModel, OrtReader, Runtime,
};
use structgen_vocab::{TokenId, Tokenizer, TokenizerOptions, Vocabulary, tokenizer_file};

use crate::calibration::kind_of;
use crate::chat_prompts::chat_template;
use crate::options::{DraftSource, HeadsSource};
use crate::prompt::{NotationTokens, tokenizer_config};
use crate::reader::Reader;
use crate::{Calibration, Constraint, Error, ModelOptions, Result};

/// A model with its tokenizer: embedded, or from a folder.
///
/// A model is a handle: clones share sessions, weights and caches, and any number of threads may use it at the same
/// time. Their requests run concurrently ([`Engine`]).
///
/// ```no_run
/// use structgen::{Constraint, GenerateOptions, Model, ModelOptions};
///
/// let model = Model::open("path/to/model", &ModelOptions::new())?;
/// let prompt = model.encode_prompt("The capital of France is")?;
/// let city = model.compile(&Constraint::choices(["Paris", "Rome"])?)?;
/// let output = model.generate(&prompt, Some(&city), &GenerateOptions::default())?;
/// println!("{}", output.text);
/// # Ok::<(), structgen::Error>(())
/// ```
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    tokenizer: Arc<Tokenizer>,
    /// The special tokens of the embedded model's prompt, if the tokenizer has them.
    notation: Option<NotationTokens>,
    is_embedded: bool,
    calibration: Option<Calibration>,
    reader: Option<Arc<Reader>>,
    chat: std::result::Result<ChatTemplate, ChatError>,
    tables: Arc<VocabularyTables>,
    workers: usize,
    inputs: Vec<(String, String)>,
    outputs: Vec<(String, String)>,
    notes: Vec<LoadNote>,
}

/// The parts of a model, before it is moved to threads.
struct Parts {
    source: ModelSource,
    tokenizer: Tokenizer,
    notation: Option<NotationTokens>,
    is_embedded: bool,
    calibration: Option<Calibration>,
    reader: ReaderSource,
    chat: std::result::Result<ChatTemplate, ChatError>,
}

/// The source of a model's reader.
enum ReaderSource {
    None,
    #[cfg(feature = "embedded")]
    Embedded,
    File(PathBuf),
}

impl Model {
    /// Opens the extraction model that is part of this library: small, and fast on a single CPU thread.
    ///
    /// # Errors
    /// [`Error::Load`] if the runtime library is missing or unusable; the error lists where it was searched for.
    /// [`Error::EmbeddedModel`] for an option of models in folders.
    #[cfg(feature = "embedded")]
    pub fn embedded(options: &ModelOptions) -> Result<Self> {
        if let Some(option) = options.only_for_folders() {
            return Err(Error::EmbeddedModel { option });
        }
        let runtime = Runtime::load(&options.search())?;
        let assets = &structgen_model::MAIN;
        // Such a small model is fastest on one thread.
        let source = embedded_source(assets, options.device_or(Device::cpu(1)))?;
        let first = source.open(runtime)?;
        let tokenizer = embedded_tokenizer(assets, first.info())?;
        let parts = Parts {
            source,
            notation: NotationTokens::of(tokenizer.vocabulary(), assets.tokenizer_config)?,
            is_embedded: true,
            calibration: Some(Calibration::from_json(structgen_model::CALIBRATION)?),
            reader: ReaderSource::Embedded,
            chat: ChatTemplate::from_tokenizer_config(assets.tokenizer_config),
            tokenizer,
        };
        Self::new(runtime, first, parts, options)
    }

    /// Opens a model folder as written by optimum or onnxruntime-genai, with a `tokenizer.json` or the files that
    /// transformers reads instead ([`tokenizer_file`](structgen_vocab::tokenizer_file)).
    ///
    /// # Errors
    /// [`Error::Load`] and [`Error::TokenizerFile`], which name what is missing or not supported.
    pub fn open(folder: impl AsRef<Path>, options: &ModelOptions) -> Result<Self> {
        let folder = folder.as_ref();
        // Report errors in the folder before those of the runtime library.
        let source = ModelSource::folder(folder, &options.load_options())?;
        let runtime = Runtime::load(&options.search())?;
        let first = source.open(runtime)?;
        let tokenizer = folder_tokenizer(folder, first.info())?;
        let config = tokenizer_config(folder)?;
        let parts = Parts {
            source,
            notation: NotationTokens::of(tokenizer.vocabulary(), &config)?,
            is_embedded: false,
            calibration: Calibration::of_folder(folder)?,
            reader: ReaderSource::of_folder(folder),
            chat: chat_template(folder, &config)?,
            tokenizer,
        };
        Self::new(runtime, first, parts, options)
    }

    fn new(
        runtime: &'static Runtime,
        first: OrtModel,
        parts: Parts,
        options: &ModelOptions,
    ) -> Result<Self> {
        let tokenizer = Arc::new(parts.tokenizer);
        let vocabulary = tokenizer.vocabulary();
        let tables = Arc::new(options.tables(vocabulary.clone()));
        let workers = options.workers_or_one();
        let (inputs, outputs) = (first.inputs(), first.outputs());
        let is_unknown = |id: &TokenId| vocabulary.token_name(*id).is_none();
        let unknown: Vec<TokenId> = { first.info().eos.iter().copied() }
            .filter(is_unknown)
            .collect();
        let first = first.ignoring_ends(&unknown);
        let notes = first.notes().to_vec();
        let first = scheduler(runtime, first, &tokenizer, options)?;
        let (source, encoder, settings) = (parts.source, Arc::clone(&tokenizer), options.clone());
        let another = move || -> Result<Scheduler> {
            let model = source.open(runtime)?.ignoring_ends(&unknown);
            scheduler(runtime, model, &encoder, &settings)
        };
        let reader = match parts.notation.filter(|_| options.has_reader()) {
            Some(_) => parts.reader.open(runtime, &tokenizer, options)?,
            None => None,
        };
        let engine = match options.has_workers_on_demand() {
            true => {
                let another = Arc::new(another);
                let more = (1..workers.get()).map(|_| {
                    let another = Arc::clone(&another);
                    move || another().ok()
                });
                Engine::on_demand(first, more)?
            }
            false => {
                let more = (1..workers.get()).map(|_| another());
                let all: Result<Vec<Scheduler>> = [Ok(first)].into_iter().chain(more).collect();
                Engine::new(all?)?
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                reader: reader.map(Arc::new),
                engine,
                tokenizer,
                notation: parts.notation,
                is_embedded: parts.is_embedded,
                calibration: parts.calibration,
                chat: parts.chat,
                tables,
                workers: workers.get(),
                inputs,
                outputs,
                notes,
            }),
        })
    }

    /// Encodes a prompt that is trusted: names of special tokens in it are encoded as those tokens, and the tokenizer's
    /// start tokens are prepended. End tokens that the tokenizer appends are left out, since a prompt is to be
    /// continued.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] if the tokenizer lacks a character.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<TokenId>> {
        let mut tokens = self.tokenizer().encode_prompt(text, true)?;
        let appended = self.tokenizer().appended().iter().rev();
        let ends = appended
            .take_while(|token| self.eos().contains(token))
            .count();
        tokens.truncate(tokens.len() - ends);
        Ok(tokens)
    }

    /// Refuses a text that is so long that its prompt cannot fit the model's context, without encoding it: to encode
    /// megabytes takes seconds. Most prompts that do not fit are refused only when they are submitted.
    ///
    /// # Errors
    /// [`GenerateError::PromptTooLong`](structgen_decode::GenerateError::PromptTooLong).
    pub fn check_length(&self, text: &str) -> Result<()> {
        let context_length = self.info().context_length;
        match self.tokenizer().least_tokens(text) {
            least if least <= context_length => Ok(()),
            least => Err(GenerateError::PromptTooLong {
                least,
                context_length,
            }
            .into()),
        }
    }

    /// Compiles a constraint for this model's vocabulary.
    ///
    /// # Errors
    /// As for [`Constraint::compile`].
    pub fn compile(&self, constraint: &Constraint) -> Result<CompiledConstraint> {
        constraint.compile(&self.inner.tables, self.eos())
    }

    /// Returns the tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.inner.tokenizer
    }

    /// Returns the vocabulary's tables, with which constraints are compiled.
    #[must_use]
    pub fn tables(&self) -> &Arc<VocabularyTables> {
        &self.inner.tables
    }

    /// Returns the ids that end an output.
    #[must_use]
    pub fn eos(&self) -> &[TokenId] {
        &self.info().eos
    }

    /// Returns the properties of the model.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        self.inner.engine.info()
    }

    /// Returns the names and types of the graph's inputs, in order.
    #[must_use]
    pub fn inputs(&self) -> &[(String, String)] {
        &self.inner.inputs
    }

    /// Returns the names and types of the graph's outputs, in order.
    #[must_use]
    pub fn outputs(&self) -> &[(String, String)] {
        &self.inner.outputs
    }

    /// Returns notes on how the model runs: what its graph cannot do, and where graph and configuration differ.
    #[must_use]
    pub fn notes(&self) -> &[LoadNote] {
        &self.inner.notes
    }

    /// Returns the number of parallel sessions.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.inner.workers
    }

    /// Returns the engine that runs the model, for requests under one's own constraints.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Returns whether it is the model that is part of this library.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.inner.is_embedded
    }

    /// Returns the calibration of its fields' probabilities, if it was measured.
    #[must_use]
    pub fn calibration(&self) -> Option<Calibration> {
        self.inner.calibration
    }

    /// Returns the confidence in a field with this value, score and probability by the reader.
    pub(crate) fn confidence(&self, value: &Value, score: &SpanScore, read: Option<f64>) -> f64 {
        match self.calibration() {
            Some(calibration) => calibration.confidence(kind_of(value), score, read),
            None => score.allowed.probability(),
        }
    }

    /// Returns the reader, which locates the values of a schema in a text, if the model has one.
    pub(crate) fn reader(&self) -> Option<&Arc<Reader>> {
        self.inner.reader.as_ref()
    }

    pub(crate) fn notation(&self) -> Option<NotationTokens> {
        self.inner.notation
    }

    pub(crate) fn chat(&self) -> &std::result::Result<ChatTemplate, ChatError> {
        &self.inner.chat
    }

    /// Returns how many tokens the model's context leaves after a prompt, at most `most`.
    #[must_use]
    pub fn room_after(&self, prompt: &[TokenId], most: usize) -> usize {
        // At least one, so that a prompt that is too long is reported as such.
        { self.info().context_length }
            .saturating_sub(prompt.len())
            .clamp(1, most.max(1))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("info", self.info())
            .field("workers", &self.workers())
            .field("prompts", &self.prompt_style())
            .finish_non_exhaustive()
    }
}

/// Creates a scheduler of one session, with the draft model and the heads that the options name.
fn scheduler(
    runtime: &'static Runtime,
    model: OrtModel,
    tokenizer: &Arc<Tokenizer>,
    options: &ModelOptions,
) -> Result<Scheduler> {
    let encoder = Arc::clone(tokenizer) as Arc<dyn structgen_decode::model::TextEncoder>;
    let mut scheduler = Scheduler::new(model, tokenizer.vocabulary().clone())
        .with_encoder(encoder)
        .with_limits(options.scheduler_limits());
    if let Some(source) = options.draft() {
        let (draft, vocabulary) = open_draft(runtime, source, options)?;
        scheduler = scheduler.with_draft(draft, &vocabulary)?;
    }
    if let Some(source) = options.heads() {
        scheduler = scheduler.with_heads(open_heads(runtime, source, options)?);
    }
    Ok(scheduler)
}

impl ReaderSource {
    fn of_folder(folder: &Path) -> Self {
        let file = folder.join("reader.onnx");
        match file.exists() {
            true => Self::File(file),
            false => Self::None,
        }
    }

    /// Opens the reader, if there is one, with a session per worker.
    fn open(
        self,
        runtime: &'static Runtime,
        tokenizer: &Arc<Tokenizer>,
        options: &ModelOptions,
    ) -> Result<Option<Reader>> {
        let device = options.device_or(Device::cpu(1));
        let open = move || match &self {
            Self::None => Ok(None),
            #[cfg(feature = "embedded")]
            Self::Embedded => {
                OrtReader::from_bytes(runtime, structgen_model::READER, device).map(Some)
            }
            Self::File(file) => OrtReader::open(runtime, file, device).map(Some),
        };
        let Some(first) = open()? else {
            return Ok(None);
        };
        let more = options.workers_or_one().get() - 1;
        let tokenizer = Arc::clone(tokenizer);
        if options.has_workers_on_demand() {
            let open = Box::new(move || open().ok().flatten());
            return Ok(Some(Reader::on_demand(tokenizer, first, more, open)));
        }
        let mut sessions = vec![first];
        for _ in 0..more {
            sessions.extend(open()?);
        }
        Ok(Some(Reader::new(tokenizer, sessions)))
    }
}

fn open_draft(
    runtime: &'static Runtime,
    source: &DraftSource,
    options: &ModelOptions,
) -> Result<(OrtModel, Arc<Vocabulary>)> {
    let (model, tokenizer) = match source {
        #[cfg(feature = "embedded")]
        DraftSource::Embedded => {
            let assets = &structgen_model::DRAFT;
            let source = embedded_source(assets, options.device_or(Device::cpu(1)))?;
            let model = source.open(runtime)?;
            let tokenizer = embedded_tokenizer(assets, model.info())?;
            (model, tokenizer)
        }
        DraftSource::Folder(folder) => {
            let source = ModelSource::folder(folder, &options.load_options())?;
            let model = source.open(runtime)?;
            let tokenizer = folder_tokenizer(folder, model.info())?;
            (model, tokenizer)
        }
    };
    Ok((model, tokenizer.vocabulary().clone()))
}

fn open_heads(
    runtime: &'static Runtime,
    source: &HeadsSource,
    options: &ModelOptions,
) -> Result<OrtHeads> {
    let device = options.device_or(Device::cpu(1));
    Ok(match source {
        #[cfg(feature = "embedded")]
        HeadsSource::Embedded => OrtHeads::from_bytes(runtime, structgen_model::HEADS, device)?,
        HeadsSource::File(file) => OrtHeads::open(runtime, file, device)?,
    })
}

#[cfg(feature = "embedded")]
fn embedded_source(assets: &structgen_model::Assets, device: Device) -> Result<ModelSource> {
    let config = ModelConfig::from_json(assets.config, Some(assets.generation_config))?;
    let source = ModelSource::bytes(assets.model, config, device);
    Ok(match assets.shares_buffers() {
        true => source.sharing_buffers(),
        false => source,
    })
}

#[cfg(feature = "embedded")]
fn embedded_tokenizer(assets: &structgen_model::Assets, info: &ModelInfo) -> Result<Tokenizer> {
    Ok(Tokenizer::from_bytes_with(
        assets.tokenizer,
        &tokenizer_options(info),
    )?)
}

fn folder_tokenizer(folder: &Path, info: &ModelInfo) -> Result<Tokenizer> {
    let path = tokenizer_file(folder);
    Tokenizer::from_file_with(&path, &tokenizer_options(info))
        .map_err(|source| Error::TokenizerFile { path, source })
}

fn tokenizer_options(info: &ModelInfo) -> TokenizerOptions {
    TokenizerOptions::new()
        .logits_len(info.logits_width)
        .ends(info.eos.iter().copied())
}
