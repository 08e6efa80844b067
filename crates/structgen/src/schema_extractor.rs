//! From a text to a value that is valid against a schema.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use structgen_constraint::CompiledConstraint;
use structgen_decode::{GenerateOptions, Strategy, request::ContextOverflow};
use structgen_frontend::json_schema::{CompileReport, SchemaOptions};
use structgen_grammar::Whitespace;
use structgen_vocab::TokenId;

use crate::cascade::Cascade;
use crate::extract_all::ExtractAll;
use crate::extracting::Extracting;
use crate::formatted::format_json;
use crate::grounding::{Grounding, is_grounded};
use crate::partial::ExtractionStream;
use crate::reader::{Found, Questions, Reader};
use crate::windows::{LongText, windows};
use crate::{Constraint, Extraction, Model, Request, Result, recognized_input};

/// Maximum number of tokens per output, if the caller sets none.
const MAX_NEW_TOKENS: usize = 4_096;

/// The tokens that a document may have for each token of the prompt, and beyond these, if the text lacks a value.
const UNGROUNDED_TOKENS: (usize, usize) = (4, 256);

/// The share of a context that a prompt may take before a text is read in windows: the rest is for the answer.
const PROMPT_SHARE: (usize, usize) = (7, 8);

/// Extracts values that are valid against a schema from texts. Like [`Extractor`](crate::Extractor), it is a handle.
///
/// Strings and numbers come from the text where the schema contains `"x-structgen": {"source": "input"}`, if the
/// options request it for the whole schema ([`SchemaOptions::with_source`]), and by default with the embedded model:
/// see [`Model::extraction_options`] and [`Extraction::fields`].
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
    client: u64,
    cascade: Option<Arc<Cascade>>,
    is_grounded: bool,
    /// The model's reader, and its questions.
    reading: Option<(Arc<Reader>, Arc<Questions>)>,
}

/// The request for a text, the values in the text that may be used, and where a reader found them.
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) grounding: Option<Grounding>,
    pub(crate) found: Option<Found>,
}

impl SchemaExtractor {
    /// Compiles a schema for a model, with [options that suit it](Model::extraction_options): with the embedded model,
    /// strings and numbers come from the text.
    ///
    /// # Errors
    /// [`Error::Schema`](crate::Error::Schema) with the keyword and its JSON Pointer,
    /// [`Error::Compile`](crate::Error::Compile).
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

    /// Creates an extractor with a constraint that was compiled from the schema in another way, such as
    /// [`Constraint::json_schema_str`]. The constraint is used as it is; the model is shown the schema itself.
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
            Some(reader) => { reader.questions(&schema, constraint.report())? }
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
            client: 0,
            cascade: None,
        })
    }

    /// Sets another strategy, such as beams or speculation; sampling by default.
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// Sets how to handle texts that exceed the model's context.
    #[must_use]
    pub fn with_long_text(mut self, long_text: LongText) -> Self {
        self.long_text = long_text;
        self
    }

    /// Sets whose requests its extractions are: see [`Request::client`].
    #[must_use]
    pub fn with_client(mut self, client: u64) -> Self {
        self.client = client;
        self
    }

    /// Sets other generation options.
    #[must_use]
    pub fn with_generate_options(mut self, options: GenerateOptions) -> Self {
        self.options = options;
        self.options.log_probs |= self.alternatives > 0 || self.cascade.is_some();
        self
    }

    /// Makes this extractor the first of a cascade: a field whose [confidence](crate::Field::confidence) is less than
    /// `below` is requested from `larger`, an extractor of the same schema with another model.
    ///
    /// In sequence, such fields get the value that the larger model generates greedily after the part of the document
    /// before them; all other values are kept. An answer is ignored if the document would not be valid with it. After a
    /// value that the larger model may not write, such as one that is not in the text, nothing more is requested.
    /// Missing parts of the document, such as an optional property, are not fields and not requested.
    /// [`Field::is_passed_on`](crate::Field::is_passed_on) reports which fields changed models. The text has to fit
    /// into the larger model's context. The larger model's constraint must allow JSON without whitespace.
    #[must_use]
    pub fn with_larger(mut self, larger: Self, below: f64) -> Self {
        self.options.log_probs = true;
        self.cascade = Some(Arc::new(Cascade { larger, below }));
        self
    }

    /// Sets the whitespace of [`Extraction::json`], for models that generate none ([`Model::extraction_options`]); the
    /// outputs of others are unchanged.
    #[must_use]
    pub fn with_whitespace(mut self, whitespace: Option<Whitespace>) -> Self {
        let is_added =
            |it: &Whitespace| self.model.notation().is_some() && *it != Whitespace::Compact;
        self.whitespace = whitespace.filter(is_added);
        self
    }

    /// Also searches for the `most` most probable alternatives of each field:
    /// [`Field::alternatives`](crate::Field::alternatives). None by default.
    ///
    /// This takes a beam search of `2 * most + 2` beams per field, from the start of its value, given what was
    /// generated before. It costs one model run per token of a field's longest alternative, plus those for the prompt
    /// unless the model caches [prefixes](crate::ModelOptions::with_prefix_cache). Log probabilities are computed as
    /// well. Texts that are read in windows have no alternatives.
    #[must_use]
    pub fn with_alternatives(mut self, most: usize) -> Self {
        self.alternatives = most;
        self.options.log_probs |= most > 0;
        self
    }

    /// Extracts a value from a text.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate), [`Error::Tokenizer`](crate::Error::Tokenizer);
    /// [`Error::Deserialize`](crate::Error::Deserialize) if serde_json cannot represent the value, which is nested more
    /// than 127 deep.
    pub fn extract(&self, text: &str) -> Result<Extraction<Value>> {
        self.submit(text)?.wait()
    }

    /// Extracts a value from each text, several in parallel, in order: see
    /// [`Extractor::extract_all`](crate::Extractor::extract_all).
    pub fn extract_all<I>(&self, texts: I) -> ExtractAll<I::IntoIter, Value>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        self.extract_all_as(texts)
    }

    /// Extracts a value and yields partial values while it is generated: see
    /// [`Extractor::extract_stream`](crate::Extractor::extract_stream).
    ///
    /// # Errors
    /// Those errors of [`extract`](Self::extract) that are known before anything is generated.
    pub fn extract_stream(&self, text: &str) -> Result<ExtractionStream<Value>> {
        Ok(ExtractionStream::new(self.submit_with_events(text)?))
    }

    /// Like [`extract`](Self::extract), for asynchronous code; it needs no runtime of its own.
    ///
    /// # Errors
    /// As for [`extract`](Self::extract).
    #[cfg(feature = "async")]
    pub async fn extract_async(&self, text: &str) -> Result<Extraction<Value>> {
        self.submit(text)?.wait_async().await
    }

    /// Returns the request for a text, which the caller may change or [submit](Model::submit): for several outputs,
    /// tokens and their times, or events.
    ///
    /// # Errors
    /// As for [`Model::extraction_prompt`]; [`Error::Compile`](crate::Error::Compile) if values come from the text, and
    /// a limit is exceeded.
    pub fn request(&self, text: &str) -> Result<Request> {
        Ok(self.request_with_ungrounded(text)?.0)
    }

    /// Like [`request`](Self::request), with the values that the text lacks: see
    /// [`Extraction::ungrounded`](crate::Extraction::ungrounded).
    ///
    /// # Errors
    /// As for [`request`](Self::request).
    pub fn request_with_ungrounded(&self, text: &str) -> Result<(Request, Vec<String>)> {
        let prompt = self.prompt(text)?;
        let prepared = self.prepare(text, prompt)?;
        let ungrounded = prepared.grounding.map(|grounding| grounding.ungrounded);
        Ok((prepared.request, ungrounded.unwrap_or_default()))
    }

    /// Returns the request for a text, and the values in the text that may be used.
    pub(crate) fn prepare(&self, text: &str, prompt: Vec<TokenId>) -> Result<Prepared> {
        let most = self.options.max_new_tokens.unwrap_or(MAX_NEW_TOKENS);
        let room = self.model.room_after(&prompt, most);
        let grounding = { self.is_grounded }
            .then(|| Grounding::of(&self.compiled, text, room))
            .transpose()?;
        let constraint = match &grounding {
            Some(grounding) => grounding.constraint.clone(),
            None => self.compiled.clone(),
        };
        let mut options = self.options.clone();
        if options.max_new_tokens.is_none() {
            let most = match &grounding {
                Some(grounding) if !grounding.ungrounded.is_empty() => {
                    most_ungrounded(&constraint, prompt.len())?
                }
                _ => MAX_NEW_TOKENS,
            };
            options.max_new_tokens = Some(room.min(most));
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
            .with_strategy(self.strategy.clone())
            .with_client(self.client);
        Ok(Prepared {
            request,
            grounding,
            found,
        })
    }

    /// Returns how each keyword of the schema was compiled.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        &self.report
    }

    /// Returns the schema's constraint, compiled for the model.
    #[must_use]
    pub fn compiled(&self) -> &CompiledConstraint {
        &self.compiled
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn extract_all_as<I, T>(&self, texts: I) -> ExtractAll<I::IntoIter, T>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        ExtractAll::new(self.clone(), texts.into_iter())
    }

    /// Starts to extract a value from a text, without waiting for it. The value may be of any type that accepts what
    /// matches the schema. Of a text that is read in windows, only the first one starts before it is waited for.
    ///
    /// # Errors
    /// Those errors of [`extract`](Self::extract) that are known before anything is generated.
    pub fn submit<T>(&self, text: &str) -> Result<Extracting<T>> {
        match self.reading(text)? {
            Reading::Whole(prompt) => Extracting::one(self.clone(), text, prompt, false),
            Reading::Windows(windows) => Extracting::windows(self.clone(), text, windows),
        }
    }

    /// Returns how to read a text.
    fn reading(&self, text: &str) -> Result<Reading> {
        if self.long_text == LongText::Refuse {
            if self.options.overflow == ContextOverflow::Error {
                self.model.check_length(text)?;
            }
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

    /// Returns the prompt for a text.
    pub(crate) fn prompt(&self, text: &str) -> Result<Vec<TokenId>> {
        self.model.extraction_prompt(&self.schema, text)
    }

    pub(crate) fn submit_with_events<T>(&self, text: &str) -> Result<Extracting<T>> {
        let prompt = self.prompt(text)?;
        Extracting::one(self.clone(), text, prompt, true)
    }

    /// Formats a document that the model generated with the requested [whitespace](Self::with_whitespace); returns
    /// `None` if it should be unchanged.
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

/// How to read a text.
enum Reading {
    /// At once, with this prompt.
    Whole(Vec<TokenId>),
    /// In these windows.
    Windows(Vec<Range<usize>>),
}

impl fmt::Debug for SchemaExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaExtractor")
            .field("model", &self.model)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Returns how many tokens a document may have if the text lacks one of its values: that is written freely, and would
/// otherwise go on to the end of the context.
fn most_ungrounded(constraint: &CompiledConstraint, prompt: usize) -> Result<usize> {
    let least = constraint.matcher().completion_cost()?;
    let least = usize::try_from(least).unwrap_or(usize::MAX);
    let (each, more) = UNGROUNDED_TOKENS;
    Ok(least.saturating_add(each * prompt + more))
}
