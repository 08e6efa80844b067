//! The sources of schemas: the SQL itself, names and files.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use structgen::{Constraint, SchemaOptions};

use crate::{Error, Result, RowType};

/// The schemas that functions may refer to by name, and whether they may read files.
///
/// A name is looked up among the registered ones first, and then, unless disabled, as a file. Anything that starts with
/// a brace is a schema itself.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    named: HashMap<String, String>,
    refuses_files: bool,
}

/// A schema that compiles, with the type of its values.
#[derive(Clone)]
pub struct Schema {
    inner: Arc<SchemaParts>,
}

struct SchemaParts {
    text: String,
    value: Value,
    row_type: RowType,
}

impl Schemas {
    /// Creates an empty set of names that allows files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers the text of a schema under a name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, schema: impl Into<String>) -> Self {
        self.named.insert(name.into(), schema.into());
        self
    }

    /// Sets whether a name that is not registered may be that of a file, as by default. Disable this to run untrusted
    /// SQL.
    #[must_use]
    pub fn with_files(mut self, wanted: bool) -> Self {
        self.refuses_files = !wanted;
        self
    }

    fn text_of(&self, source: &str) -> Result<String> {
        if is_inline(source) {
            return Ok(source.to_owned());
        }
        if let Some(text) = self.named.get(source) {
            return Ok(text.clone());
        }
        if self.refuses_files {
            return Err(Error::UnknownSchema(source.to_owned()));
        }
        let path = PathBuf::from(source);
        fs::read_to_string(&path).map_err(|source| Error::SchemaFile { path, source })
    }
}

fn is_inline(source: &str) -> bool {
    source.trim_start().starts_with('{')
}

/// The schemas used so far, each read once.
#[derive(Debug, Default)]
pub(crate) struct ReadSchemas {
    catalog: Schemas,
    read: Mutex<HashMap<String, Schema>>,
}

impl ReadSchemas {
    pub(crate) fn new(catalog: Schemas) -> Self {
        let read = Mutex::default();
        Self { catalog, read }
    }

    pub(crate) fn find(&self, source: &str) -> Result<Schema> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = read.get(source) {
            return Ok(schema.clone());
        }
        let schema = Schema::new(self.catalog.text_of(source)?);
        let schema = schema.map_err(|error| match is_inline(source) {
            true => error,
            false => Error::Schema {
                name: source.to_owned(),
                source: Box::new(error),
            },
        })?;
        read.insert(source.to_owned(), schema.clone());
        Ok(schema)
    }

    /// Returns the texts of the registered schemas and of the files that were read, by name.
    pub(crate) fn named(&self) -> BTreeMap<String, String> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let read = read.iter().filter(|(source, _)| !is_inline(source));
        let read = read.map(|(source, schema)| (source.clone(), schema.text().to_owned()));
        let registered = self.catalog.named.iter();
        let registered = registered.map(|(name, text)| (name.clone(), text.clone()));
        registered.chain(read).collect()
    }
}

impl Schema {
    /// Parses and compiles a schema, so that an invalid one is reported before any row is processed.
    ///
    /// # Errors
    /// [`Error::SchemaJson`], and [`Error::Structgen`] with the keyword and its JSON Pointer.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        let value = serde_json::from_str(&text).map_err(Error::SchemaJson)?;
        Constraint::json_schema_str(&text, &SchemaOptions::new())?;
        let row_type = RowType::of_schema(&value);
        let inner = Arc::new(SchemaParts {
            text,
            value,
            row_type,
        });
        Ok(Self { inner })
    }

    /// Returns the schema's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Returns the parsed schema.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.inner.value
    }

    /// Returns the type of its values.
    #[must_use]
    pub fn row_type(&self) -> &RowType {
        &self.inner.row_type
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.text()).finish()
    }
}
