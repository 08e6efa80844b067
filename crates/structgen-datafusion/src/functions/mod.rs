//! The SQL functions, and their shared state.

mod classify;
mod extract;
mod function;
mod generate;
mod matches;
mod rows;
mod tokens;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionConfig;
use structgen::{GenerateOptions, Model};

use crate::engine::{Counters, LoadedModel, SharedModel};
use crate::schemas::ReadSchemas;
use crate::{ColumnExtractor, ExtraColumns, Result, RowType, Schema, Schemas};
pub(crate) use function::shared_of;
use function::{TextFunction, function};

const ALL: [&dyn TextFunction; 6] = [
    &extract::Extract { as_json: false },
    &extract::Extract { as_json: true },
    &generate::Generate,
    &classify::Classify,
    &matches::Matches,
    &tokens::Tokens,
];

/// Default maximum of a text's bytes: an error in its row is better than a row that takes an hour.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The options of the functions. Start with [`FunctionOptions::new`]; each method sets one option.
#[derive(Clone, Debug)]
pub struct FunctionOptions {
    schemas: Schemas,
    generate: GenerateOptions,
    max_text_bytes: usize,
    model_id: String,
}

impl Default for FunctionOptions {
    fn default() -> Self {
        Self {
            schemas: Schemas::new(),
            generate: GenerateOptions::default(),
            max_text_bytes: MAX_TEXT_BYTES,
            model_id: String::new(),
        }
    }
}

impl FunctionOptions {
    /// Returns the defaults: schemas from files, greedy decoding, texts of at most a mebibyte.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the schemas that functions may refer to by name.
    #[must_use]
    pub fn with_schemas(self, schemas: Schemas) -> Self {
        Self { schemas, ..self }
    }

    /// Sets how outputs are generated. A row's seed is derived from the one given here and the row's text.
    #[must_use]
    pub fn with_generate_options(self, generate: GenerateOptions) -> Self {
        Self { generate, ..self }
    }

    /// Sets the maximum of a text's bytes; a longer one is an error of its row.
    #[must_use]
    pub fn with_max_text_bytes(self, max_text_bytes: usize) -> Self {
        Self {
            max_text_bytes,
            ..self
        }
    }

    /// Sets an id of the model, such as a hash of its files, for the [definition](Functions::definition) that is sent
    /// to other processes. Empty by default.
    #[must_use]
    pub fn with_model_id(self, model_id: impl Into<String>) -> Self {
        let model_id = model_id.into();
        Self { model_id, ..self }
    }
}

/// The functions on a model.
///
/// | function | value |
/// |---|---|
/// | `extract(text, schema [, columns])` | a struct of the schema's properties, or a value of another [`RowType`] |
/// | `extract_json(text, schema [, columns])` | the same as JSON text |
/// | `generate(prompt [, schema])` | text, or JSON text that is valid under the schema |
/// | `classify(text, label, label, …)` | a struct: `label`, `probability`, `probabilities`, `error` |
/// | `matches(text, schema)` | whether the text is JSON that is valid under the schema |
/// | `tokens(text)` | the ids of its tokens |
///
/// A schema is a literal: the schema itself, a [registered name, or a file](Schemas). So is `columns`, a list of
/// [`ExtraColumns`]. The value of NULL is NULL. A row with an error of its text is NULL, and counted. If the model
/// fails, so does the call: [`Error::Interrupted`](crate::Error::Interrupted).
///
/// ```no_run
/// use datafusion::prelude::SessionContext;
/// use structgen::{Model, ModelOptions};
/// use structgen_datafusion::{FunctionOptions, Functions};
///
/// # async fn query() -> Result<(), Box<dyn std::error::Error>> {
/// let functions = Functions::new(|| Model::embedded(&ModelOptions::new()), FunctionOptions::new());
/// let mut context = SessionContext::new_with_config(Functions::session_config());
/// functions.register(&mut context)?;
/// let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
/// let cities = context.sql(&format!("SELECT extract('Three rooms in Graz', '{schema}') AS flat")).await?;
/// cities.show().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Functions {
    shared: Arc<Shared>,
}

/// The state shared by all functions.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) model: Arc<SharedModel>,
    /// The id of the required model; another one is an error.
    pub(crate) model_id: String,
    pub(crate) schemas: ReadSchemas,
    pub(crate) generate: GenerateOptions,
    pub(crate) max_text_bytes: usize,
    pub(crate) counters: Counters,
    extractors: Mutex<HashMap<ExtractorKey, Arc<ColumnExtractor>>>,
}

/// The schema as written in SQL, the columns, and whether values are returned as JSON text.
type ExtractorKey = (String, ExtraColumns, bool);

impl Functions {
    /// Creates functions on a model, which is loaded when the first row needs it.
    ///
    /// To make a row's value independent of concurrent rows, load the model with [one row per
    /// run](structgen::decode::SchedulerLimits::rows), and as many [workers](structgen::ModelOptions::with_workers) as
    /// there are cores.
    pub fn new(
        model: impl Fn() -> structgen::Result<Model> + Send + Sync + 'static,
        options: FunctionOptions,
    ) -> Self {
        let model = SharedModel::new(options.model_id.clone(), model);
        Self::from(Arc::new(Shared::new(Arc::new(model), options)))
    }

    /// Creates functions for plans that other processes run, on a model with the options'
    /// [id](FunctionOptions::with_model_id). Here, everything that needs the model fails with
    /// [`OtherModel`](crate::Error::OtherModel).
    #[must_use]
    pub fn planned(options: FunctionOptions) -> Self {
        let model = Arc::new(SharedModel::absent());
        Self::from(Arc::new(Shared::new(model, options)))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Loads the model now, rather than with the first row.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub fn load_model(&self) -> Result<()> {
        self.shared.model().map(|_| ())
    }

    /// Returns a session configuration with which a call is computed once per required row.
    ///
    /// By default, DataFusion pushes each access to a struct's field down towards the files, together with the call
    /// that creates the struct: `extract(…)['city']` would be computed before a filter, and again for every other
    /// field.
    #[must_use]
    pub fn session_config() -> SessionConfig {
        SessionConfig::new().set_bool(
            "datafusion.optimizer.enable_leaf_expression_pushdown",
            false,
        )
    }

    /// Registers all functions in a session or another registry.
    ///
    /// # Errors
    /// Those of the registry.
    pub fn register(&self, registry: &mut dyn FunctionRegistry) -> datafusion::error::Result<()> {
        for function in self.all() {
            registry.register_udf(Arc::new(function))?;
        }
        Ok(())
    }

    /// Returns all functions.
    #[must_use]
    pub fn all(&self) -> Vec<ScalarUDF> {
        let functions = ALL.iter();
        functions.map(|it| function(*it, &self.shared)).collect()
    }

    /// Returns the type of a function's values, by its name and literals.
    pub(crate) fn row_type(&self, name: &str, literals: &[&str]) -> Result<Option<RowType>> {
        let function = ALL.iter().find(|function| function.name() == name);
        let row_type = function.map(|it| it.row_type(&self.shared, literals));
        row_type.transpose()
    }

    /// Returns an extractor for a schema, given as text, registered name or file, without SQL.
    ///
    /// # Errors
    /// If the schema or the columns are invalid.
    pub fn extractor(&self, schema: &str, columns: ExtraColumns) -> Result<ColumnExtractor> {
        let schema = self.schema(schema)?;
        let values = schema.row_type().clone();
        ColumnExtractor::new(Arc::clone(&self.shared), schema, values, columns)
    }

    /// Like [`extractor`](Self::extractor), for file formats that [cannot nest](RowType::flattened).
    ///
    /// # Errors
    /// As for [`extractor`](Self::extractor).
    pub fn flat_extractor(&self, schema: &str, columns: ExtraColumns) -> Result<ColumnExtractor> {
        let schema = self.schema(schema)?;
        let values = schema.row_type().clone().flattened();
        ColumnExtractor::new(Arc::clone(&self.shared), schema, values, columns)
    }

    /// Returns a schema given as text, registered name or file.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn schema(&self, source: &str) -> Result<Schema> {
        self.shared.schemas.find(source)
    }

    /// Returns how many rows the functions were called with.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.shared.counters.rows()
    }

    /// Returns how many of them failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.shared.counters.errors()
    }
}

impl From<Arc<Shared>> for Functions {
    fn from(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Shared {
    pub(crate) fn new(model: Arc<SharedModel>, options: FunctionOptions) -> Self {
        Self {
            model,
            model_id: options.model_id,
            schemas: ReadSchemas::new(options.schemas),
            generate: options.generate,
            max_text_bytes: options.max_text_bytes,
            counters: Counters::default(),
            extractors: Mutex::default(),
        }
    }

    /// Returns the model, loaded if necessary.
    pub(crate) fn model(&self) -> Result<&LoadedModel> {
        self.model.get(&self.model_id)
    }

    /// Returns the extractor of a call, created once.
    pub(crate) fn extractor(
        self: &Arc<Self>,
        schema: &str,
        columns: ExtraColumns,
        as_json: bool,
    ) -> Result<Arc<ColumnExtractor>> {
        let key = (schema.to_owned(), columns, as_json);
        let mut extractors = { self.extractors.lock() }.unwrap_or_else(PoisonError::into_inner);
        if let Some(extractor) = extractors.get(&key) {
            return Ok(Arc::clone(extractor));
        }
        let schema = self.schemas.find(schema)?;
        let values = match as_json {
            true => RowType::Json,
            false => schema.row_type().clone(),
        };
        let extractor = ColumnExtractor::new(Arc::clone(self), schema, values, columns)?;
        let extractor = Arc::new(extractor);
        extractors.insert(key, Arc::clone(&extractor));
        Ok(extractor)
    }
}
