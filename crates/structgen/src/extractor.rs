//! From a text to a value.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use structgen_constraint::CompiledConstraint;
use structgen_decode::{
    Confidence, FinishReason, GenerateOptions, Generation, Run, Strategy, request::GenerationStats,
};
use structgen_frontend::json_schema::{CompileReport, SchemaOptions};

use crate::extract_all::ExtractAll;
use crate::for_type::schema_of;
use crate::partial::ExtractionStream;
use crate::{Constraint, Error, ExtractorBuilder, Model, Request, Result};

/// The most tokens of an output, where the caller says nothing.
const MAX_NEW_TOKENS: usize = 4_096;

/// A value that was extracted, and what it took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extraction<T> {
    /// The value.
    pub value: T,
    /// The JSON text that the model wrote.
    pub json: String,
    /// How probable each value of the JSON was, where the options ask for [log probabilities](GenerateOptions::log_probs).
    pub confidence: Option<Confidence>,
    /// How many tokens the text has.
    pub tokens: usize,
    /// Why generation ended.
    pub finish: FinishReason,
    /// Prompt tokens, forced tokens, and times.
    pub stats: GenerationStats,
}

/// Extracts values of a type from texts.
///
/// An extractor is a handle: clones share the model and the compiled schema, and any number of threads may use it at the same time.
/// The type's schema comes from its `JsonSchema` implementation; what is generated fits it and deserialises into the type
/// (profile [`Rust`](structgen_frontend::json_schema::Profile::Rust)). A type that takes less than its schema says is refused when the
/// extractor is built ([`Constraint::for_type`]). Keys come in the order of the fields.
///
/// ```no_run
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use structgen::Extractor;
///
/// #[derive(Debug, JsonSchema, Deserialize)]
/// struct Flight {
///     number: String,
///     gate: String,
///     delayed_minutes: Option<u16>,
/// }
///
/// let flights = Extractor::<Flight>::embedded()?;
/// let found = flights.extract("Flight QR 148 now leaves from gate C04.")?;
/// println!("{:?}, {} tokens", found.value, found.tokens);
/// # Ok::<(), structgen::Error>(())
/// ```
pub struct Extractor<T> {
    inner: SchemaExtractor,
    value: PhantomData<fn() -> T>,
}

// Derived, it would ask for a type that can be cloned.
impl<T> Clone for Extractor<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            value: PhantomData,
        }
    }
}

impl<T: JsonSchema + DeserializeOwned> Extractor<T> {
    /// An extractor with the embedded model.
    ///
    /// # Errors
    /// As [`Constraint::for_type`]; [`Error::Load`] when there is no runtime library.
    pub fn embedded() -> Result<Self> {
        Self::builder().build()
    }

    /// An extractor with the model of a folder.
    ///
    /// # Errors
    /// As [`embedded`](Self::embedded), and what is wrong with the folder.
    pub fn from_model_dir(folder: impl AsRef<Path>) -> Result<Self> {
        Self::builder().model_dir(folder.as_ref()).build()
    }

    /// An extractor with options.
    pub fn builder() -> ExtractorBuilder<T> {
        ExtractorBuilder::new()
    }

    /// An extractor with a model that is loaded.
    ///
    /// # Errors
    /// As [`Constraint::for_type`].
    pub fn with_model(model: Model, options: GenerateOptions) -> Result<Self> {
        let constraint = Constraint::for_type::<T>(&model.written_form(&SchemaOptions::new()))?;
        let inner = SchemaExtractor::with_constraint(model, Self::schema(), &constraint, options)?;
        Ok(Self {
            inner,
            value: PhantomData,
        })
    }

    /// The schema of the type: draft 2020-12, as it deserialises.
    #[must_use]
    pub fn schema() -> Value {
        schema_of::<T>()
    }

    /// Extracts a value from a text.
    ///
    /// # Errors
    /// [`Error::Generate`] when prompt and output do not fit the model's context, and whatever the model reports;
    /// [`Error::Deserialize`] when the type refuses a text as rare as to be missed when it was [tried](Constraint::for_type).
    pub fn extract(&self, text: &str) -> Result<Extraction<T>> {
        self.inner.submit(text)?.wait()
    }

    /// Extracts a value from each text, several at a time, in their order. Texts are taken from the iterator as there is room; an error
    /// stands in the place of its text.
    ///
    /// ```no_run
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # #[derive(Debug, JsonSchema, Deserialize)]
    /// # struct Flight { number: String }
    /// let flights = structgen::Extractor::<Flight>::builder().workers(4).build()?;
    /// for found in flights.extract_all(["QR 148 is late.", "Gate change for LH 2030."]) {
    ///     println!("{:?}", found?.value);
    /// }
    /// # Ok::<(), structgen::Error>(())
    /// ```
    pub fn extract_all<I>(&self, texts: I) -> ExtractAll<I::IntoIter, T>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        self.inner.extract_all_as(texts)
    }

    /// Extracts a value from a text and yields what there is of it as it comes: JSON in which values that are not complete
    /// yet are missing or cut. [`ExtractionStream::finish`] gives the typed value.
    ///
    /// # Errors
    /// As [`extract`](Self::extract), as far as it is known before anything was generated.
    pub fn extract_stream(&self, text: &str) -> Result<ExtractionStream<T>> {
        Ok(ExtractionStream::new(self.inner.submit_with(text, true)?))
    }

    /// [`extract`](Self::extract) for asynchronous code; it needs no runtime of its own.
    ///
    /// # Errors
    /// As [`extract`](Self::extract).
    #[cfg(feature = "async")]
    pub async fn extract_async(&self, text: &str) -> Result<Extraction<T>> {
        self.inner.submit(text)?.wait_async().await
    }

    /// The same extractor with another strategy, such as beams or speculation; sampling by default.
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.inner = self.inner.with_strategy(strategy);
        self
    }

    /// What became of each keyword of the type's schema.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        self.inner.report()
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.inner.model()
    }
}

/// Extracts values that are valid against a schema from texts. As [`Extractor`], it is a handle.
///
/// ```no_run
/// use serde_json::json;
/// use structgen::{GenerateOptions, Model, ModelOptions, SchemaExtractor, SchemaOptions};
///
/// let model = Model::embedded(&ModelOptions::new())?;
/// let schema = json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "rooms": {"type": "integer"}},
///     "required": ["city", "rooms"],
/// });
/// let flats = SchemaExtractor::new(model, schema, &SchemaOptions::new(), GenerateOptions::default())?;
/// println!("{}", flats.extract("Three rooms in Graz, 740 euros")?.json);
/// # Ok::<(), structgen::Error>(())
/// ```
#[derive(Clone)]
pub struct SchemaExtractor {
    model: Model,
    schema: Arc<Value>,
    report: Arc<CompileReport>,
    compiled: CompiledConstraint,
    options: GenerateOptions,
    strategy: Strategy,
}

impl SchemaExtractor {
    /// Compiles a schema for a model. Where the options say nothing of whitespace, the embedded model writes none.
    ///
    /// # Errors
    /// [`Error::Schema`] with the keyword and its JSON Pointer, [`Error::Compile`].
    pub fn new(
        model: Model,
        schema: Value,
        schema_options: &SchemaOptions,
        options: GenerateOptions,
    ) -> Result<Self> {
        let constraint = Constraint::json_schema(&schema, &model.written_form(schema_options))?;
        Self::with_constraint(model, schema, &constraint, options)
    }

    /// With a constraint that was made from the schema in another way, such as [`Constraint::json_schema_str`]. The schema itself is
    /// what the model is shown.
    ///
    /// # Errors
    /// [`Error::Compile`].
    pub fn with_constraint(
        model: Model,
        schema: Value,
        constraint: &Constraint,
        options: GenerateOptions,
    ) -> Result<Self> {
        let compiled = model.compile(constraint)?;
        Ok(Self {
            compiled,
            report: Arc::new(constraint.report().clone()),
            model,
            schema: Arc::new(schema),
            options,
            strategy: Strategy::default(),
        })
    }

    /// The same extractor with another strategy, such as beams or speculation; sampling by default.
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// Extracts a value from a text.
    ///
    /// # Errors
    /// [`Error::Generate`], [`Error::Tokenizer`]; [`Error::Deserialize`] where serde_json cannot hold the value, which is
    /// nested more than 127 deep.
    pub fn extract(&self, text: &str) -> Result<Extraction<Value>> {
        self.submit(text)?.wait()
    }

    /// Extracts a value from each text, several at a time, in their order: see [`Extractor::extract_all`].
    pub fn extract_all<I>(&self, texts: I) -> ExtractAll<I::IntoIter, Value>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        self.extract_all_as(texts)
    }

    /// Extracts a value and yields what there is of it as it comes: see [`Extractor::extract_stream`].
    ///
    /// # Errors
    /// As [`extract`](Self::extract), as far as it is known before anything was generated.
    pub fn extract_stream(&self, text: &str) -> Result<ExtractionStream<Value>> {
        Ok(ExtractionStream::new(self.submit_with(text, true)?))
    }

    /// [`extract`](Self::extract) for asynchronous code; it needs no runtime of its own.
    ///
    /// # Errors
    /// As [`extract`](Self::extract).
    #[cfg(feature = "async")]
    pub async fn extract_async(&self, text: &str) -> Result<Extraction<Value>> {
        self.submit(text)?.wait_async().await
    }

    /// The request of a text, to be changed or [submitted](Model::submit) by the caller: for several outputs, tokens and their times, or
    /// events.
    ///
    /// # Errors
    /// As [`Model::extraction_prompt`].
    pub fn request(&self, text: &str) -> Result<Request> {
        let prompt = self.model.extraction_prompt(&self.schema, text)?;
        let mut options = self.options.clone();
        if options.max_new_tokens.is_none() {
            options.max_new_tokens = Some(self.model.room_after(&prompt, MAX_NEW_TOKENS));
        }
        Ok(Request::new(prompt, Some(self.compiled.clone()))
            .with_options(options)
            .with_strategy(self.strategy.clone()))
    }

    /// What became of each keyword of the schema.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        &self.report
    }

    /// The schema's constraint, compiled for the model.
    #[must_use]
    pub fn compiled(&self) -> &CompiledConstraint {
        &self.compiled
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    fn extract_all_as<I, T>(&self, texts: I) -> ExtractAll<I::IntoIter, T>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        ExtractAll::new(self.clone(), texts.into_iter())
    }

    pub(crate) fn submit<T>(&self, text: &str) -> Result<Pending<T>> {
        self.submit_with(text, false)
    }

    fn submit_with<T>(&self, text: &str, events: bool) -> Result<Pending<T>> {
        let mut request = self.request(text)?;
        let has_log_probs = request.options.log_probs;
        request.events = events;
        Ok(Pending {
            run: self.model.submit(request)?,
            has_log_probs,
            value: PhantomData,
        })
    }
}

/// An extraction under way.
pub(crate) struct Pending<T> {
    pub(crate) run: Run,
    has_log_probs: bool,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Pending<T> {
    pub(crate) fn wait(self) -> Result<Extraction<T>> {
        let generation = self.run.wait()?.single()?;
        Extraction::of(generation, self.has_log_probs)
    }

    #[cfg(feature = "async")]
    async fn wait_async(self) -> Result<Extraction<T>> {
        let generation = self.run.await?.single()?;
        Extraction::of(generation, self.has_log_probs)
    }
}

impl<T: DeserializeOwned> Extraction<T> {
    fn of(generation: Generation, has_log_probs: bool) -> Result<Self> {
        let confidence = has_log_probs.then(|| generation.confidence()).transpose()?;
        let value =
            serde_json::from_str(&generation.text).map_err(|source| Error::Deserialize {
                type_name: type_name::<T>(),
                json: generation.text.clone(),
                source,
            })?;
        Ok(Self {
            value,
            confidence,
            tokens: generation.tokens.len(),
            json: generation.text,
            finish: generation.finish,
            stats: generation.stats,
        })
    }
}

impl<T> fmt::Debug for Extractor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extractor")
            .field("type", &type_name::<T>())
            .field("inner", &self.inner)
            .finish()
    }
}

impl fmt::Debug for SchemaExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaExtractor")
            .field("model", &self.model)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(JsonSchema, Deserialize)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Zebra {
        zeta: u8,
        alpha: Option<String>,
        middle: Vec<i32>,
    }

    #[test]
    fn the_schema_of_a_type_has_its_fields_in_their_order() {
        let schema = Extractor::<Zebra>::schema();
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["zeta", "alpha", "middle"]);
        assert_eq!(
            crate::compact_notation(&schema),
            r#"{"zeta":integer,"alpha"?:string|null,"middle":[integer]}"#
        );
    }
}
