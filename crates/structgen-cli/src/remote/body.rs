//! The body of a request.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// The fields of a request. Schemas are kept as text, so that their numbers stay exact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body(BTreeMap<String, Box<RawValue>>);

impl Body {
    /// Sets a field to a value.
    pub(crate) fn set(&mut self, name: &str, value: impl Serialize) {
        // Values built by the program are always valid JSON.
        if let Ok(value) = to_raw_value(&value) {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Sets a field to a text that is itself JSON.
    ///
    /// # Errors
    /// If it is not JSON.
    pub(crate) fn set_json(&mut self, name: &str, json: String) -> serde_json::Result<()> {
        self.0.insert(name.to_owned(), RawValue::from_string(json)?);
        Ok(())
    }

    pub(crate) fn into_json(self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}
