//! A model of the registry.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::RegistryError;

/// A registered model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredModel {
    /// Its name, unique in the registry.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// The type of its weights, such as `float16` or `int4`.
    pub quantization: String,
    /// Its capabilities, such as `chat` or `code`.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// How often it was requested.
    #[serde(default)]
    pub uses: u64,
}

/// How often a model was requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Usage {
    /// The model's name.
    pub name: String,
    /// The number of requests.
    pub uses: u64,
    /// Its share of all requests, from 0 to 1; 0 if there are none.
    pub share: f64,
}

/// The maximum length of a name.
const LONGEST_NAME: usize = 100;

impl RegisteredModel {
    /// Creates a model that was never requested.
    #[must_use]
    pub fn new(name: impl Into<String>, folder: impl Into<PathBuf>, bytes: u64) -> Self {
        Self {
            name: name.into(),
            folder: folder.into(),
            bytes,
            quantization: String::new(),
            capabilities: BTreeSet::new(),
            uses: 0,
        }
    }

    /// Sets the type of the weights.
    #[must_use]
    pub fn with_quantization(mut self, quantization: impl Into<String>) -> Self {
        self.quantization = quantization.into();
        self
    }

    /// Adds capabilities.
    #[must_use]
    pub fn with_capabilities(
        mut self,
        capabilities: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.capabilities
            .extend(capabilities.into_iter().map(Into::into));
        self
    }

    /// Checks that a name cannot be mistaken for a path. [`Registry::add`](crate::Registry::add) does so.
    ///
    /// # Errors
    /// [`RegistryError::Name`].
    pub fn check_name(name: &str) -> Result<(), RegistryError> {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        let reason = match name {
            "" => "it is empty",
            name if name.len() > LONGEST_NAME => "it has more than 100 characters",
            name if name.starts_with(['.', '-']) => "it begins with a dot or a minus sign",
            name if !name.chars().all(is_usual) => {
                "it has other characters than letters, digits and `-`, `_`, `.`, `:`"
            }
            _ => return Ok(()),
        };
        Err(RegistryError::Name {
            name: name.to_owned(),
            reason,
        })
    }
}
