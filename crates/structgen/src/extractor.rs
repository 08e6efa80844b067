//! From a text to a value of a type.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use structgen_decode::{GenerateOptions, Strategy};
use structgen_frontend::json_schema::{CompileReport, SchemaOptions};

use crate::extract_all::ExtractAll;
use crate::for_type::schema_of;
use crate::partial::ExtractionStream;
use crate::windows::LongText;
use crate::{Constraint, Extraction, ExtractorBuilder, Model, Result, SchemaExtractor};

/// Extracts values of a type from texts.
///
/// An extractor is a handle: clones share the model and the compiled schema, and any number of threads may use it at
/// the same time. The type's schema comes from its `JsonSchema` implementation; outputs match it and deserialise into
/// the type (profile [`Rust`](structgen_frontend::json_schema::Profile::Rust)). A type that accepts less than its
/// schema is refused when the extractor is built ([`Constraint::for_type`]). Keys come in the order of the fields.
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

// Deriving it would require `T: Clone`.
impl<T> Clone for Extractor<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            value: PhantomData,
        }
    }
}

impl<T: JsonSchema + DeserializeOwned> Extractor<T> {
    /// Creates an extractor with the embedded model.
    ///
    /// # Errors
    /// As for [`Constraint::for_type`]; [`Error::Load`](crate::Error::Load) if there is no runtime library.
    pub fn embedded() -> Result<Self> {
        Self::builder().build()
    }

    /// Creates an extractor with the model of a folder.
    ///
    /// # Errors
    /// As for [`embedded`](Self::embedded), and errors in the folder.
    pub fn from_model_dir(folder: impl AsRef<Path>) -> Result<Self> {
        Self::builder().model_dir(folder.as_ref()).build()
    }

    /// Returns a builder with the default options.
    pub fn builder() -> ExtractorBuilder<T> {
        ExtractorBuilder::new()
    }

    /// Creates an extractor with a loaded model.
    ///
    /// # Errors
    /// As for [`Constraint::for_type`].
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

    /// Returns the type's schema for deserialising, in draft 2020-12.
    #[must_use]
    pub fn schema() -> Value {
        schema_of::<T>()
    }

    /// Extracts a value from a text.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate) if prompt and output exceed the model's context, and for errors of
    /// the model; [`Error::Deserialize`](crate::Error::Deserialize) if the type rejects a text so rare that it did not
    /// occur when the type was [tried](Constraint::for_type).
    pub fn extract(&self, text: &str) -> Result<Extraction<T>> {
        self.inner.submit(text)?.wait()
    }

    /// Extracts a value from each text, several in parallel, in order. Texts are taken from the iterator as there is
    /// room; an error takes the place of its text.
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

    /// Extracts a value from a text and yields partial values while it is generated: JSON in which incomplete values
    /// are missing or cut. [`ExtractionStream::finish`] returns the typed value. A text that exceeds the context is an
    /// error here.
    ///
    /// # Errors
    /// Those errors of [`extract`](Self::extract) that are known before anything is generated.
    pub fn extract_stream(&self, text: &str) -> Result<ExtractionStream<T>> {
        Ok(ExtractionStream::new(self.inner.submit_with_events(text)?))
    }

    /// Like [`extract`](Self::extract), for asynchronous code; it needs no runtime of its own.
    ///
    /// # Errors
    /// As for [`extract`](Self::extract).
    #[cfg(feature = "async")]
    pub async fn extract_async(&self, text: &str) -> Result<Extraction<T>> {
        self.inner.submit(text)?.wait_async().await
    }

    /// Sets another strategy, such as beams or speculation; sampling by default.
    #[must_use]
    pub fn with_strategy(mut self, strategy: impl Into<Strategy>) -> Self {
        self.inner = self.inner.with_strategy(strategy);
        self
    }

    /// Sets how to handle texts that exceed the model's context.
    #[must_use]
    pub fn with_long_text(mut self, long_text: LongText) -> Self {
        self.inner = self.inner.with_long_text(long_text);
        self
    }

    /// Also searches for alternatives of each field: see [`SchemaExtractor::with_alternatives`].
    #[must_use]
    pub fn with_alternatives(mut self, most: usize) -> Self {
        self.inner = self.inner.with_alternatives(most);
        self
    }

    /// Returns how each keyword of the type's schema was compiled.
    #[must_use]
    pub fn report(&self) -> &CompileReport {
        self.inner.report()
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.inner.model()
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
