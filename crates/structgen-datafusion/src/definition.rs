//! The definition of functions, for recreating them in another process.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;
use serde::{Deserialize, Serialize};
use structgen::GenerateOptions;

use crate::functions::Shared;
use crate::{FunctionOptions, Functions, Schemas};

/// Everything that the values of functions depend on besides their arguments, for a plan that runs in other processes.
///
/// It contains the texts of schemas that were registered or read from files, so that the other processes read no files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Definition {
    /// The [id](FunctionOptions::with_model_id) of the model.
    pub model: String,
    /// The texts of schemas, by name.
    pub schemas: BTreeMap<String, String>,
    /// How outputs are generated.
    pub generate: GenerateOptions,
    /// Maximum bytes of a text.
    pub max_text_bytes: usize,
}

impl Functions {
    /// Returns the functions that a function of a plan belongs to, or `None` if it is not from this crate.
    #[must_use]
    pub fn of(function: &ScalarUDF) -> Option<Self> {
        crate::functions::shared_of(function).map(Self::from)
    }

    /// Returns the definition of these functions. It contains the files' schemas that were used so far, which includes
    /// those of every planned call.
    #[must_use]
    pub fn definition(&self) -> Definition {
        let shared = self.shared();
        Definition {
            model: shared.model_id.clone(),
            schemas: shared.schemas.named(),
            generate: shared.generate.clone(),
            max_text_bytes: shared.max_text_bytes,
        }
    }

    /// Returns the functions of a definition, on this model. If the definition is for another model, everything that
    /// needs the model fails with [`Error::OtherModel`](crate::Error::OtherModel).
    #[must_use]
    pub fn defined(&self, definition: &Definition) -> Self {
        let mut schemas = Schemas::new().with_files(false);
        for (name, text) in &definition.schemas {
            schemas = schemas.with(name, text);
        }
        let options = FunctionOptions::new()
            .with_schemas(schemas)
            .with_generate_options(definition.generate.clone())
            .with_max_text_bytes(definition.max_text_bytes)
            .with_model_id(&definition.model);
        let model = Arc::clone(&self.shared().model);
        Self::from(Arc::new(Shared::new(model, options)))
    }
}
