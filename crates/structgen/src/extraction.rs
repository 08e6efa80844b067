//! What an extraction finds.

use structgen_decode::{Confidence, Output, request::GenerationStats};

use crate::Field;

/// An extracted value, and details of the extraction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extraction<T> {
    /// The value.
    pub value: T,
    /// Its JSON text: the model's output, or the merged answers for the windows of a long text.
    pub json: String,
    /// How probable each value of the JSON was, if the options request [log
    /// probabilities](crate::GenerateOptions::log_probs), and always for long texts. Its spans are of the JSON before
    /// whitespace [was added](crate::SchemaExtractor::with_whitespace).
    pub confidence: Option<Confidence>,
    /// Prompt tokens, forced tokens and times, over all windows.
    pub stats: GenerationStats,
    /// The model's outputs: one, or one per window of a [long text](crate::LongText).
    pub outputs: Vec<Output>,
    /// The leaves of the value, in order: where in the text each is, and the model's confidence in it. Empty if
    /// serde_json cannot represent the value.
    pub fields: Vec<Field>,
    /// The values that should have come from the text but could not, since the text has none that matches, in any of
    /// its windows: JSON Pointers into the schema. They were generated freely.
    pub ungrounded: Vec<String>,
}

impl<T> Extraction<T> {
    /// Returns the number of tokens that the model generated.
    #[must_use]
    pub fn tokens(&self) -> usize {
        let lengths = self
            .outputs
            .iter()
            .map(|output| output.generation.tokens.len());
        lengths.sum()
    }
}
