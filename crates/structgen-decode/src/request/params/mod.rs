//! A table of all parameters of a request: names, types, ranges, defaults, and a line of help each.

mod defaults;
mod find;
mod table;
#[cfg(test)]
mod tests;

pub use crate::parameter::{Effect, NumberAt, OutOfRange, Parameter, ParameterKind, Place, Range};
pub use find::{ParameterError, find_parameters, set_parameter};
pub use table::PARAMETERS;

use serde::{Deserialize, Serialize};

use super::{GenerateError, GenerateOptions, Strategy};

/// How outputs are generated and searched for: a [`Request`](crate::Request) without its prompt and constraint.
///
/// ```
/// use structgen_decode::request::Params;
///
/// let mut params: Params = serde_json::from_str(r#"{"options": {"max_new_tokens": 20}, "strategy": {"name": "beam"}}"#)?;
/// params.set("width", "8")?;
/// params.set("dry.multiplier", "0.5")?;
/// assert_eq!(params.options.sampling.dry.as_ref().map(|dry| dry.multiplier), Some(0.5));
/// let error = params.set("top_hh", "0.4").unwrap_err();
/// assert_eq!(error.to_string(), r#"there is no parameter "top_hh"; did you mean top_h, contrastive_search.top_k, top_k or top_p?"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How tokens are chosen and when outputs end.
    pub options: GenerateOptions,
    /// How outputs are searched for.
    pub strategy: Strategy,
}

impl Params {
    /// Sets a parameter by name, to a value given as text; see [`set_parameter`].
    ///
    /// # Errors
    /// [`ParameterError`] if the name is unknown or ambiguous, the parameter belongs to another strategy, or the value
    /// has the wrong type or is outside the range.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
        set_parameter(self, PARAMETERS, name, value)
    }

    /// Checks what can be checked without a model: the sampling parameters, and that the strategy honours every option
    /// that is set.
    ///
    /// # Errors
    /// [`GenerateError::Sampling`], [`GenerateError::NotHonoured`].
    pub fn check(&self) -> Result<(), GenerateError> {
        self.options.sampling.validate()?;
        self.strategy.check(&self.options)
    }
}
