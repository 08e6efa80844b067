//! From a text to a value.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use structgen_constraint::CompiledConstraint;
use structgen_decode::{Confidence, FinishReason, GenerateOptions, GenerationStats};
use structgen_frontend::json_schema::{CompileReport, SchemaOptions};

use crate::for_type::schema_of;
use crate::{Constraint, Error, ExtractorBuilder, Model, Result};

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
/// let mut flights = Extractor::<Flight>::embedded()?;
/// let found = flights.extract("Flight QR 148 now leaves from gate C04.")?;
/// println!("{:?}, {} tokens", found.value, found.tokens);
/// # Ok::<(), structgen::Error>(())
/// ```
pub struct Extractor<T> {
    inner: SchemaExtractor,
    value: PhantomData<fn() -> T>,
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
    pub fn extract(&mut self, text: &str) -> Result<Extraction<T>> {
        let raw = self.inner.run(text)?;
        match serde_json::from_str(&raw.json) {
            Ok(value) => Ok(raw.map(|()| value)),
            Err(source) => Err(Error::Deserialize {
                type_name: type_name::<T>(),
                json: raw.json,
                source,
            }),
        }
    }

    /// What became of each keyword of the type's schema.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        self.inner.report()
    }

    /// The model, for another extractor.
    #[must_use]
    pub fn into_model(self) -> Model {
        self.inner.into_model()
    }
}

/// Extracts values that fit a schema from texts.
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
/// let mut flats = SchemaExtractor::new(model, schema, &SchemaOptions::new(), GenerateOptions::default())?;
/// println!("{}", flats.extract("Three rooms in Graz, 740 euros")?.json);
/// # Ok::<(), structgen::Error>(())
/// ```
pub struct SchemaExtractor {
    model: Model,
    schema: Value,
    report: CompileReport,
    compiled: CompiledConstraint,
    options: GenerateOptions,
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

    /// With a constraint that was made from the schema in another way, such as
    /// [`Constraint::json_schema_str`]. The schema itself is what the model is shown.
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
            report: constraint.report().clone(),
            model,
            schema,
            options,
        })
    }

    /// Extracts a value from a text.
    ///
    /// # Errors
    /// [`Error::Generate`], [`Error::Tokenizer`]; [`Error::Deserialize`] where serde_json cannot hold the value, which is
    /// nested more than 127 deep.
    pub fn extract(&mut self, text: &str) -> Result<Extraction<Value>> {
        let raw = self.run(text)?;
        match serde_json::from_str(&raw.json) {
            Ok(value) => Ok(raw.map(|()| value)),
            Err(source) => Err(Error::Deserialize {
                type_name: type_name::<Value>(),
                json: raw.json,
                source,
            }),
        }
    }

    /// What became of each keyword of the schema.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        &self.report
    }

    /// The model, for another extractor.
    #[must_use]
    pub fn into_model(self) -> Model {
        self.model
    }

    fn run(&mut self, text: &str) -> Result<Extraction<()>> {
        let prompt = self.model.extraction_prompt(&self.schema, text)?;
        let mut options = self.options.clone();
        if options.max_new_tokens.is_none() {
            options.max_new_tokens = Some(self.model.room_behind(&prompt, MAX_NEW_TOKENS));
        }
        let generation = self
            .model
            .generate(&prompt, Some(&self.compiled), &options)?;
        let confidence = { options.log_probs }.then(|| generation.confidence());
        Ok(Extraction {
            value: (),
            confidence: confidence.transpose()?,
            tokens: generation.tokens.len(),
            json: generation.text,
            finish: generation.finish,
            stats: generation.stats,
        })
    }
}

impl<T> Extraction<T> {
    fn map<U>(self, value: impl FnOnce(T) -> U) -> Extraction<U> {
        Extraction {
            value: value(self.value),
            json: self.json,
            confidence: self.confidence,
            tokens: self.tokens,
            finish: self.finish,
            stats: self.stats,
        }
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
