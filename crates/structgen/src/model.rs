//! A model together with its tokenizer.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, VocabularyTables};
use structgen_decode::{ChatError, ChatTemplate, LanguageModel, PrefixCache};
use structgen_ort::{Device, LoadOptions, ModelConfig, OrtCache, OrtHeads, OrtModel, Runtime};
use structgen_vocab::{TokenId, Tokenizer, TokenizerOptions};

use crate::prompt::{NotationTokens, chat_template};
use crate::{Constraint, Error, ModelOptions, Result};

/// A model with its tokenizer: embedded, or from a folder.
///
/// ```no_run
/// use structgen::{Constraint, GenerateOptions, Model, ModelOptions};
///
/// let mut model = Model::open("path/to/model", &ModelOptions::new())?;
/// let prompt = model.encode_prompt("The capital of France is")?;
/// let city = model.compile(&Constraint::choices(["Paris", "Rome"])?)?;
/// let output = model.generate(&prompt, Some(&city), &GenerateOptions::default())?;
/// println!("{}", output.text);
/// # Ok::<(), structgen::Error>(())
/// ```
pub struct Model {
    pub(crate) model: OrtModel,
    pub(crate) tokenizer: Tokenizer,
    /// What was run before, where the options give it room.
    pub(crate) prefixes: Option<PrefixCache<OrtCache>>,
    /// The special tokens of the embedded model's prompt, where the tokenizer has them.
    pub(crate) notation: Option<NotationTokens>,
    pub(crate) chat: std::result::Result<ChatTemplate, ChatError>,
    tables: Arc<VocabularyTables>,
    eos: Vec<TokenId>,
}

impl Model {
    /// The extraction model that is part of this library: small, and quick on one thread of a processor.
    ///
    /// # Errors
    /// [`Error::Load`] when the runtime library is missing or cannot be used; the error says where it was looked for.
    pub fn embedded(options: &ModelOptions) -> Result<Self> {
        Self::of_assets(&structgen_model::MAIN, options)
    }

    /// The smaller model beside it, of the same vocabulary, which drafts tokens for speculative decoding.
    ///
    /// # Errors
    /// As [`embedded`](Model::embedded).
    pub fn embedded_draft(options: &ModelOptions) -> Result<Self> {
        Self::of_assets(&structgen_model::DRAFT, options)
    }

    /// Two extra heads of the embedded model, which draft for it: [`Speculation::with_heads`](structgen_decode::Speculation::with_heads).
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use structgen::decode::Speculation;
    /// use structgen::{GenerateOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::embedded(&ModelOptions::new())?;
    /// let mut heads = Model::embedded_heads(&ModelOptions::new())?;
    /// let mut speculation = Speculation::new().with_heads(&mut heads);
    /// let prompt = model.encode_prompt("one, two, three, ")?;
    /// let options = GenerateOptions::default();
    /// model.stream_speculative(&prompt, None, &options, &mut speculation, |_| ControlFlow::Continue(()))?;
    /// println!("{} guesses kept", speculation.stats().heads.kept);
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`embedded`](Model::embedded).
    pub fn embedded_heads(options: &ModelOptions) -> Result<OrtHeads> {
        let runtime = Runtime::load(&options.search())?;
        let device = options.device_or(Device::cpu(1));
        Ok(OrtHeads::from_bytes(
            runtime,
            structgen_model::HEADS,
            device,
        )?)
    }

    /// Extra heads from a file, trained on the hidden states of the model that they are to draft for.
    ///
    /// # Errors
    /// [`Error::Load`]: what is missing or not understood, by name.
    pub fn open_heads(file: impl AsRef<Path>, options: &ModelOptions) -> Result<OrtHeads> {
        let runtime = Runtime::load(&options.search())?;
        let device = options.device_or(Device::cpu(1));
        Ok(OrtHeads::open(runtime, file.as_ref(), device)?)
    }

    fn of_assets(assets: &structgen_model::Assets, options: &ModelOptions) -> Result<Self> {
        let runtime = Runtime::load(&options.search())?;
        let config = ModelConfig::from_json(assets.config, Some(assets.generation_config))?;
        // So small a model is fastest on one thread.
        let model = OrtModel::from_bytes(
            runtime,
            assets.model,
            &config,
            options.device_or(Device::cpu(1)),
        )?;
        let tokenizer = Tokenizer::from_bytes_with(assets.tokenizer, &tokenizer_options(&model))?;
        let notation = NotationTokens::of(tokenizer.vocabulary())?;
        let chat = ChatTemplate::from_tokenizer_config(assets.tokenizer_config, None);
        Ok(Self::new(model, tokenizer, Some(notation), chat, options))
    }

    /// A model folder as optimum or onnxruntime-genai writes it, with a `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Load`] and [`Error::TokenizerFile`]: what is missing or not understood, by name.
    pub fn open(folder: impl AsRef<Path>, options: &ModelOptions) -> Result<Self> {
        let folder = folder.as_ref();
        // What is wrong with the folder is said before the runtime library is asked for.
        let load: LoadOptions = options.load_options();
        structgen_ort::ModelFolder::open(folder, load.variant.as_deref())?;
        let runtime = Runtime::load(&options.search())?;
        let model = OrtModel::open(runtime, folder, &load)?;
        let path = folder.join("tokenizer.json");
        let tokenizer = Tokenizer::from_file_with(&path, &tokenizer_options(&model))
            .map_err(|source| Error::TokenizerFile { path, source })?;
        let notation = NotationTokens::of(tokenizer.vocabulary()).ok();
        Ok(Self::new(
            model,
            tokenizer,
            notation,
            chat_template(folder)?,
            options,
        ))
    }

    fn new(
        model: OrtModel,
        tokenizer: Tokenizer,
        notation: Option<NotationTokens>,
        chat: std::result::Result<ChatTemplate, ChatError>,
        options: &ModelOptions,
    ) -> Self {
        let tables = Arc::new(options.tables(tokenizer.vocabulary().clone()));
        let eos = model.info().eos.clone();
        Self {
            model,
            tokenizer,
            prefixes: options.prefix_cache_bytes().map(PrefixCache::new),
            notation,
            chat,
            tables,
            eos,
        }
    }

    /// What was run before, where [`ModelOptions::with_prefix_cache`] gave it room.
    #[must_use]
    pub fn prefixes(&self) -> Option<&PrefixCache<OrtCache>> {
        self.prefixes.as_ref()
    }

    /// The tokens of a prompt that is trusted: names of special tokens in it are those tokens, and what the tokenizer puts
    /// before a text is put before it.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the tokenizer lacks a character.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<TokenId>> {
        let mut tokens = self.tokenizer.encode_prompt(text, true)?;
        // Some tokenizers end every text, and a prompt is to be continued.
        while tokens.last().is_some_and(|token| self.eos.contains(token)) {
            tokens.pop();
        }
        Ok(tokens)
    }

    /// Compiles a constraint for this model's vocabulary.
    ///
    /// # Errors
    /// As [`Constraint::compile`].
    pub fn compile(&self, constraint: &Constraint) -> Result<CompiledConstraint> {
        constraint.compile(&self.tables, &self.eos)
    }

    /// The tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The vocabulary's tables, which constraints are compiled with.
    #[must_use]
    pub fn tables(&self) -> &Arc<VocabularyTables> {
        &self.tables
    }

    /// The ids that end an output.
    #[must_use]
    pub fn eos(&self) -> &[TokenId] {
        &self.eos
    }

    /// The language model itself, for loops of one's own.
    pub fn language_model(&mut self) -> &mut OrtModel {
        &mut self.model
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("info", self.model.info())
            .field("prompts", &self.prompt_style())
            .finish_non_exhaustive()
    }
}

fn tokenizer_options(model: &OrtModel) -> TokenizerOptions {
    let info = model.info();
    TokenizerOptions::new()
        .logits_len(info.logits_width)
        .special_tokens(info.eos.iter().copied())
}
