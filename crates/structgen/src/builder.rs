//! The options of a typed extractor.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use structgen_decode::{GenerateOptions, SamplingParams, Strategy};
use structgen_frontend::json_schema::{SchemaOptions, Source};
use structgen_ort::Device;

use crate::{Extractor, Model, ModelOptions, Result};

/// The options of an [`Extractor`]: the model, its device, and how tokens are chosen.
///
/// ```no_run
/// use structgen::{Extractor, SamplingParams};
///
/// let sampling = SamplingParams { temperature: 0.7, top_p: 0.9, seed: 1, ..SamplingParams::default() };
/// let numbers = Extractor::<Vec<i64>>::builder()
///     .model_dir("path/to/model")
///     .sampling(sampling)
///     .max_new_tokens(200)
///     .build()?;
/// # let _ = numbers.extract("one, two, three")?;
/// # Ok::<(), structgen::Error>(())
/// ```
#[must_use]
pub struct ExtractorBuilder<T> {
    folder: Option<PathBuf>,
    model: ModelOptions,
    generate: GenerateOptions,
    strategy: Strategy,
    source: Option<Source>,
    alternatives: usize,
    value: PhantomData<fn() -> T>,
}

impl<T> ExtractorBuilder<T> {
    pub(crate) fn new() -> Self {
        Self {
            folder: None,
            model: ModelOptions::new(),
            generate: GenerateOptions::default(),
            strategy: Strategy::default(),
            source: None,
            alternatives: 0,
            value: PhantomData,
        }
    }

    /// Uses the model of a folder instead of the embedded one.
    pub fn model_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the device that the model runs on.
    pub fn device(mut self, device: Device) -> Self {
        self.model = self.model.with_device(device);
        self
    }

    /// Sets the variant of a folder's model file, such as `quantized` or `q4`.
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.model = self.model.with_variant(variant);
        self
    }

    /// Sets the path to the ONNX Runtime library.
    pub fn runtime(mut self, library: impl Into<PathBuf>) -> Self {
        self.model = self.model.with_runtime(library);
        self
    }

    /// Sets the number of extractions to run in parallel, each on its own session: see [`ModelOptions::with_workers`].
    /// One by default.
    pub fn workers(mut self, workers: usize) -> Self {
        let workers = NonZeroUsize::new(workers).unwrap_or(NonZeroUsize::MIN);
        self.model = self.model.with_workers(workers);
        self
    }

    /// Sets how outputs are searched for; sampling by default.
    pub fn strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// Sets whether strings and numbers must come from the text, overriding the root of the type's schema: see
    /// [`Extraction::fields`](crate::Extraction::fields). By default they must with the embedded model, and need not
    /// with others ([`Model::extraction_options`]).
    pub fn grounded(mut self, wanted: bool) -> Self {
        self.source = Some(match wanted {
            true => Source::Input,
            false => Source::Model,
        });
        self
    }

    /// Sets all options of the model at once.
    pub fn model_options(mut self, options: ModelOptions) -> Self {
        self.model = options;
        self
    }

    /// Sets how tokens are chosen; greedy by default.
    pub fn sampling(mut self, sampling: SamplingParams) -> Self {
        self.generate.sampling = sampling;
        self
    }

    /// Requests the [confidence](crate::Extraction::confidence) of each value, which costs a pass over the logits per
    /// step.
    pub fn confidence(mut self, wanted: bool) -> Self {
        self.generate.log_probs = wanted;
        self
    }

    /// Requests the `most` most probable alternatives of each field: see
    /// [`SchemaExtractor::with_alternatives`](crate::SchemaExtractor::with_alternatives).
    pub fn alternatives(mut self, most: usize) -> Self {
        self.alternatives = most;
        self
    }

    /// Sets the maximum number of tokens per output. An output is complete within them, or the call fails before
    /// generating.
    pub fn max_new_tokens(mut self, tokens: usize) -> Self {
        self.generate.max_new_tokens = Some(tokens);
        self
    }
}

impl<T: JsonSchema + DeserializeOwned> ExtractorBuilder<T> {
    /// Loads the model and compiles the type's schema.
    ///
    /// # Errors
    /// As for [`Extractor::embedded`] and [`Extractor::from_model_dir`].
    pub fn build(self) -> Result<Extractor<T>> {
        let model = match &self.folder {
            Some(folder) => Model::open(folder, &self.model)?,
            None => Model::embedded(&self.model)?,
        };
        let mut options = SchemaOptions::new();
        if let Some(source) = self.source {
            options = options.with_source(source);
        }
        let extractor = Extractor::with_options(model, &options, self.generate)?;
        let extractor = extractor.with_strategy(self.strategy);
        Ok(extractor.with_alternatives(self.alternatives))
    }
}

impl<T> fmt::Debug for ExtractorBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractorBuilder")
            .field("folder", &self.folder)
            .field("model", &self.model)
            .field("generate", &self.generate)
            .finish()
    }
}
