//! Extraction in one call.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use structgen_decode::GenerateOptions;

use crate::{Extractor, Model, ModelOptions, Result};

/// The embedded model, cached between calls.
static MODEL: Mutex<Option<Model>> = Mutex::new(None);

/// Extracts a value from a text with the embedded model.
///
/// The model is loaded by the first call and cached. The type's schema is compiled by every call: for many texts,
/// create one [`Extractor`] for all of them.
///
/// ```no_run
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Debug, JsonSchema, Deserialize)]
/// struct Meeting {
///     day: String,
///     room: String,
/// }
///
/// let meeting: Meeting = structgen::extract("We meet on Monday at 9:30 in room Atlas.")?;
/// println!("{meeting:?}");
/// # Ok::<(), structgen::Error>(())
/// ```
///
/// # Errors
/// As for [`Extractor::embedded`] and [`Extractor::extract`].
pub fn extract<T: JsonSchema + DeserializeOwned>(text: &str) -> Result<T> {
    let model = {
        let mut kept = MODEL.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(model) => model.clone(),
            None => kept.insert(Model::embedded(&ModelOptions::new())?).clone(),
        }
    };
    let extractor = Extractor::<T>::with_model(model, GenerateOptions::default())?;
    Ok(extractor.extract(text)?.value)
}
