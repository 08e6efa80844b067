//! What another process needs to make the same functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;
use serde::{Deserialize, Serialize};
use structgen::GenerateOptions;

use crate::functions::Shared;
use crate::{FunctionOptions, Functions, Schemas};

/// All that the values of functions depend on besides their arguments, for a plan that is run in other processes.
///
/// It has the texts of schemas that were registered or read from files, so that the other processes read no files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Definition {
    /// What [identifies](FunctionOptions::with_model_id) the model.
    pub model: String,
    /// The texts of schemas, by their names.
    pub schemas: BTreeMap<String, String>,
    /// How outputs are generated.
    pub generate: GenerateOptions,
    /// The most bytes of a text.
    pub max_text_bytes: usize,
}

impl Functions {
    /// The functions that one of a plan belongs to; none where it is not of this crate.
    #[must_use]
    pub fn of(function: &ScalarUDF) -> Option<Self> {
        crate::functions::shared_of(function).map(Self::from)
    }

    /// The definition of these functions. Of schemas in files it has those that were used so far, which a call that is
    /// planned has.
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

    /// Functions of a definition, on the model of these. Where the definition is of another model, whatever needs the
    /// model fails with [`Error::OtherModel`](crate::Error::OtherModel).
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
