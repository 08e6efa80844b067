//! From a text to a value.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use structgen_constraint::CompiledConstraint;
use structgen_decode::{Confidence, GenerateOptions, Output, Strategy, request::GenerationStats};
use structgen_frontend::json_schema::{CompileReport, SchemaOptions};
use structgen_grammar::Whitespace;
use structgen_vocab::TokenId;

use crate::cascade::Cascade;
use crate::extract_all::ExtractAll;
use crate::extracting::Extracting;
use crate::for_type::schema_of;
use crate::formatted::format_json;
use crate::grounding::{Grounding, is_grounded};
use crate::partial::ExtractionStream;
use crate::reader::{Found, Questions, Reader};
use crate::windows::{LongText, windows};
use crate::{Constraint, ExtractorBuilder, Field, Model, Request, Result, recognized_input};

/// The most tokens of an output, where the caller says nothing.
const MAX_NEW_TOKENS: usize = 4_096;

/// The share of a context that a prompt may take before a text is read in windows: the rest is for the answer.
const PROMPT_SHARE: (usize, usize) = (7, 8);

/// A value that was extracted, and what it took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extraction<T> {
    /// The value.
    pub value: T,
    /// Its JSON text: what the model wrote, or what the answers about the windows of a long text came to.
    pub json: String,
    /// How probable each value of the JSON was, where the options ask for [log probabilities](GenerateOptions::log_probs), and of long texts always.
    /// Its spans are of the JSON before whitespace [was added](SchemaExtractor::with_whitespace).
    pub confidence: Option<Confidence>,
    /// Prompt tokens, forced tokens, and times, of all windows together.
    pub stats: GenerationStats,
    /// What the model wrote: one output, or one for each window of a [long text](crate::LongText).
    pub outputs: Vec<Output>,
    /// The leaves of the value, in its order: where in the text each is, and how sure the model was of it. Empty where serde_json
    /// cannot hold the value.
    pub fields: Vec<Field>,
    /// The values that had to come from the text and could not, since the text, or a window of it, has none that fits: JSON Pointers into the
    /// schema. They were written as if they were not to come from it.
    pub ungrounded: Vec<String>,
}

impl<T> Extraction<T> {
    /// How many tokens the model wrote.
    #[must_use]
    pub fn tokens(&self) -> usize {
        let lengths = self
            .outputs
            .iter()
            .map(|output| output.generation.tokens.len());
        lengths.sum()
    }
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
/// println!("{:?}, {} tokens", found.value, found.tokens());
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
    /// As [`Constraint::for_type`]; [`Error::Load`](crate::Error::Load) when there is no runtime library.
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
        Self::with_options(model, &SchemaOptions::new(), options)
    }

    pub(crate) fn with_options(
        model: Model,
        schema_options: &SchemaOptions,
        options: GenerateOptions,
    ) -> Result<Self> {
        let schema = Self::schema();
        let compiled = model.extraction_options(&schema, schema_options);
        let constraint = Constraint::for_type::<T>(&compiled)?;
        let inner = SchemaExtractor::with_constraint(model, schema, &constraint, options)?
            .with_whitespace(schema_options.whitespace);
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
    /// [`Error::Generate`](crate::Error::Generate) when prompt and output do not fit the model's context, and whatever the model reports;
    /// [`Error::Deserialize`](crate::Error::Deserialize) when the type refuses a text as rare as to be missed when it was [tried](Constraint::for_type).
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
    /// yet are missing or cut. [`ExtractionStream::finish`] gives the typed value. A text that is longer than the context is an error here.
    ///
    /// # Errors
    /// As [`extract`](Self::extract), as far as it is known before anything was generated.
    pub fn extract_stream(&self, text: &str) -> Result<ExtractionStream<T>> {
        Ok(ExtractionStream::new(self.inner.submit_with_events(text)?))
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

    /// The same extractor with another way of taking texts that are longer than the model's context.
    #[must_use]
    pub fn with_long_text(mut self, long_text: LongText) -> Self {
        self.inner = self.inner.with_long_text(long_text);
        self
    }

    /// The same extractor, which also looks for other values of each field: see [`SchemaExtractor::with_alternatives`].
    #[must_use]
    pub fn with_alternatives(mut self, most: usize) -> Self {
        self.inner = self.inner.with_alternatives(most);
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
/// Strings and numbers come from the text where the schema says `"x-structgen": {"source": "input"}`, where the options say
/// it of the whole schema ([`SchemaOptions::with_source`]), and by default with the embedded model: see
/// [`Model::extraction_options`] and [`Extraction::fields`].
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
    long_text: LongText,
    alternatives: usize,
    whitespace: Option<Whitespace>,
    cascade: Option<Arc<Cascade>>,
    is_grounded: bool,
    /// The model's reader, and what it is asked.
    reading: Option<(Arc<Reader>, Arc<Questions>)>,
}

/// A text's request, what the text has of the values that come from it, and where a reader found them.
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) grounding: Option<Grounding>,
    pub(crate) found: Option<Found>,
}

impl SchemaExtractor {
    /// Compiles a schema for a model, with [options that suit it](Model::extraction_options): the embedded model's strings and
    /// numbers come from the text.
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) with the keyword and its JSON Pointer, [`Error::Compile`](crate::Error::Compile).
    pub fn new(
        model: Model,
        schema: Value,
        schema_options: &SchemaOptions,
        options: GenerateOptions,
    ) -> Result<Self> {
        let compiled = model.extraction_options(&schema, schema_options);
        let constraint = Constraint::json_schema(&schema, &compiled)?;
        let extractor = Self::with_constraint(model, schema, &constraint, options)?;
        Ok(extractor.with_whitespace(schema_options.whitespace))
    }

    /// With a constraint that was made from the schema in another way, such as [`Constraint::json_schema_str`]: it is used as
    /// it is. The schema itself is what the model is shown.
    ///
    /// # Errors
    /// [`Error::Compile`](crate::Error::Compile).
    pub fn with_constraint(
        model: Model,
        schema: Value,
        constraint: &Constraint,
        options: GenerateOptions,
    ) -> Result<Self> {
        let compiled = model.compile(constraint)?;
        let reading = match model.reader() {
            Some(reader) => { reader.questions(&schema)? }
                .map(|questions| (Arc::clone(reader), Arc::new(questions))),
            None => None,
        };
        Ok(Self {
            reading,
            is_grounded: is_grounded(&compiled),
            compiled,
            report: Arc::new(constraint.report().clone()),
            model,
            schema: Arc::new(schema),
            options,
            strategy: Strategy::default(),
            long_text: LongText::default(),
            alternatives: 0,
            whitespace: None,
            cascade: None,
        })
    }

    /// The same extractor with another strategy, such as beams or speculation; sampling by default.
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// The same extractor with another way of taking texts that are longer than the model's context.
    #[must_use]
    pub fn with_long_text(mut self, long_text: LongText) -> Self {
        self.long_text = long_text;
        self
    }

    /// The same extractor with other options of generation.
    #[must_use]
    pub fn with_generate_options(mut self, options: GenerateOptions) -> Self {
        self.options = options;
        self.options.log_probs |= self.alternatives > 0 || self.cascade.is_some();
        self
    }

    /// The same extractor as the first of a cascade: a field whose [confidence](Field::confidence) is less than `below` is asked of
    /// `larger`, an extractor of the same schema with another model.
    ///
    /// One after another, such fields get the value that the larger model writes greedily after what the document has before them; all
    /// other values stay. An answer with which the document would not be valid is not taken. What was left out of the document, such as
    /// an optional property, is no field and not asked for. [`Field::is_passed_on`] reports which were. The text has to fit into the larger
    /// model's context. The larger model's constraint must allow JSON without whitespace.
    #[must_use]
    pub fn with_larger(mut self, larger: Self, below: f64) -> Self {
        self.options.log_probs = true;
        self.cascade = Some(Arc::new(Cascade { larger, below }));
        self
    }

    /// The same extractor, which writes [`Extraction::json`] with this whitespace. It is for models that write none by
    /// themselves ([`Model::extraction_options`]); what others write stays as it is.
    #[must_use]
    pub fn with_whitespace(mut self, whitespace: Option<Whitespace>) -> Self {
        let is_added =
            |it: &Whitespace| self.model.notation().is_some() && *it != Whitespace::Compact;
        self.whitespace = whitespace.filter(is_added);
        self
    }

    /// The same extractor, which also looks for the `most` most probable other values of each field: [`Field::alternatives`].
    /// None by default.
    ///
    /// It is a beam search of `2 * most + 2` beams for each field, from where its value begins, given what was written before it. That
    /// costs a run of the model for each token of a field's longest alternative, and of the prompt unless the model keeps
    /// [prefixes](crate::ModelOptions::with_prefix_cache). Log probabilities are computed as well. Answers about texts that are
    /// read in windows have no alternatives.
    #[must_use]
    pub fn with_alternatives(mut self, most: usize) -> Self {
        self.alternatives = most;
        self.options.log_probs |= most > 0;
        self
    }

    /// Extracts a value from a text.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate), [`Error::Tokenizer`](crate::Error::Tokenizer); [`Error::Deserialize`](crate::Error::Deserialize) where serde_json cannot hold the value, which is
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
        Ok(ExtractionStream::new(self.submit_with_events(text)?))
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
    /// As [`Model::extraction_prompt`]; [`Error::Compile`](crate::Error::Compile) when values come from the text, and a limit is exceeded.
    pub fn request(&self, text: &str) -> Result<Request> {
        let prompt = self.prompt(text)?;
        Ok(self.prepare(text, prompt)?.request)
    }

    /// The request of a text, and what the text has of the values that come from it.
    pub(crate) fn prepare(&self, text: &str, prompt: Vec<TokenId>) -> Result<Prepared> {
        let grounding = { self.is_grounded }
            .then(|| Grounding::of(&self.compiled, text))
            .transpose()?;
        let constraint = match &grounding {
            Some(grounding) => grounding.constraint.clone(),
            None => self.compiled.clone(),
        };
        let mut options = self.options.clone();
        if options.max_new_tokens.is_none() {
            options.max_new_tokens = Some(self.model.room_after(&prompt, MAX_NEW_TOKENS));
        }
        let found = match &self.reading {
            Some((reader, questions)) if self.strategy.takes_samplers() => {
                let input = match &grounding {
                    Some(grounding) => Arc::clone(&grounding.input),
                    None => Arc::new(recognized_input(text)?),
                };
                reader.read(questions, input)?
            }
            _ => None,
        };
        if let Some(found) = &found {
            let preference = found.preference(self.model.tokenizer());
            options.samplers = options.samplers.with(preference);
        }
        let request = Request::new(prompt, Some(constraint))
            .with_options(options)
            .with_strategy(self.strategy.clone());
        Ok(Prepared {
            request,
            grounding,
            found,
        })
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

    /// Begins to extract a value from a text, and does not wait for it. The value may be of any type that takes what fits the schema.
    ///
    /// # Errors
    /// As [`extract`](Self::extract), as far as it is known before anything was generated.
    pub fn submit<T>(&self, text: &str) -> Result<Extracting<T>> {
        match self.reading(text)? {
            Reading::Whole(prompt) => Extracting::one(self.clone(), text, prompt, false),
            Reading::Windows(windows) => Extracting::windows(self.clone(), text, windows),
        }
    }

    /// How a text is read.
    fn reading(&self, text: &str) -> Result<Reading> {
        if self.long_text == LongText::Refuse {
            return Ok(Reading::Whole(self.prompt(text)?));
        }
        let (share, of) = PROMPT_SHARE;
        let most = self.model.info().context_length / of * share;
        let whole = self.prompt(text)?;
        if whole.len() <= most {
            return Ok(Reading::Whole(whole));
        }
        let count = |piece: &str| Ok(self.model.tokenizer().encode(piece)?.len());
        let windows = windows(text, most.saturating_sub(self.prompt("")?.len()), count)?;
        Ok(match windows.len() {
            0 | 1 => Reading::Whole(whole),
            _ => Reading::Windows(windows),
        })
    }

    /// The prompt of a text.
    pub(crate) fn prompt(&self, text: &str) -> Result<Vec<TokenId>> {
        self.model.extraction_prompt(&self.schema, text)
    }

    fn submit_with_events<T>(&self, text: &str) -> Result<Extracting<T>> {
        let prompt = self.prompt(text)?;
        Extracting::one(self.clone(), text, prompt, true)
    }

    /// A document that the model wrote, with the [whitespace](Self::with_whitespace) that is wanted of it; none where it is to stay
    /// as it is.
    #[must_use]
    pub fn formatted(&self, json: &str) -> Option<String> {
        self.whitespace
            .map(|whitespace| format_json(json, whitespace))
    }

    pub(crate) fn is_grounded(&self) -> bool {
        self.is_grounded
    }

    pub(crate) fn cascade(&self) -> Option<&Cascade> {
        self.cascade.as_deref()
    }

    pub(crate) fn alternatives(&self) -> usize {
        self.alternatives
    }

    pub(crate) fn has_log_probs(&self) -> bool {
        self.options.log_probs
    }
}

/// How a text is read.
enum Reading {
    /// At once, after this prompt.
    Whole(Vec<TokenId>),
    /// In these windows.
    Windows(Vec<Range<usize>>),
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
            r#"{"zeta":integer 0..255,"alpha"?:string|null,"middle":[integer]}"#
        );
    }
}
