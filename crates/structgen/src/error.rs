//! Errors, from the schema to the last token.

use std::path::PathBuf;

#[cfg(feature = "ort")]
use structgen_chat::ChatError;
use structgen_constraint::{CompileError, MatcherError};
#[cfg(feature = "ort")]
use structgen_decode::{GenerateError, confidence::ConfidenceError, events::EventError};
use structgen_frontend::gbnf::GbnfError;
use structgen_frontend::json_schema::SchemaError;
use structgen_frontend::regex::RegexError;
use structgen_grammar::LiteralsTooLarge;
#[cfg(feature = "ort")]
use structgen_ort::LoadError;
#[cfg(feature = "tools")]
use structgen_tools::{FormatError, ParseError, ToolError};
use structgen_vocab::TokenizerError;

/// Why there is no output. The sources of an error have details.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The schema is invalid or not supported.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The schema of a Rust type is invalid or not supported.
    #[error("the schema of the type {type_name} is refused")]
    TypeSchema {
        /// The type.
        type_name: &'static str,
        /// The reason.
        #[source]
        source: Box<Error>,
    },
    /// A Rust type rejects texts that match its schema, so the schema's constraint cannot guarantee that outputs
    /// deserialise.
    #[error(
        "{pointer}: the type {type_name} refuses {json}, which fits its schema; say in the schema what it takes, with \
         #[schemars(regex(pattern = \"…\"))], #[schemars(extend(…))] or #[schemars(with = \"…\")] on the field"
    )]
    TypeRefuses {
        /// The type.
        type_name: &'static str,
        /// The JSON Pointer of the schema of the rejected value, or of one that contains it.
        pointer: String,
        /// A text that matches the schema.
        json: String,
        /// The type's error.
        #[source]
        source: serde_json::Error,
    },
    /// The regular expression is invalid or not supported.
    #[error(transparent)]
    Regex(#[from] RegexError),
    /// The grammar is invalid.
    #[error(transparent)]
    Gbnf(#[from] GbnfError),
    /// The tools are invalid.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// The format of tool calls is invalid.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    ToolFormat(#[from] FormatError),
    /// An output does not have the format of its tool calls.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    ToolOutput(#[from] ParseError),
    /// The list of choices is empty.
    #[error("there is no choice to choose from")]
    NoChoices,
    /// The list of choices is too large.
    #[error(transparent)]
    Choices(#[from] LiteralsTooLarge),
    /// The constraint cannot be compiled, for this vocabulary or at all.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A matcher exceeded a limit.
    #[error(transparent)]
    Matcher(#[from] MatcherError),
    /// The model, or the runtime library, cannot be loaded.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The tokenizer cannot be loaded.
    #[error("{} is not a usable tokenizer", path.display())]
    TokenizerFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: TokenizerError,
    },
    /// A text cannot be tokenized.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// An option of models in folders was set for the embedded model.
    #[cfg(feature = "embedded")]
    #[error(
        "the embedded model does not support the option `{option}`, which is for models in folders"
    )]
    EmbeddedModel {
        /// The name of the option.
        option: &'static str,
    },
    /// A model of the embedded kind was trained on another version of the extraction prompt.
    #[cfg(feature = "ort")]
    #[error(
        "the model was trained on version {found} of structgen's prompt, and this library writes version {written}; use a \
         library of the model's version, or train the model again"
    )]
    PromptVersion {
        /// The model's version.
        found: u64,
        /// This library's.
        written: u64,
    },
    /// The `calibration.json` of a model is invalid.
    #[cfg(feature = "ort")]
    #[error("the model's calibration.json cannot be used")]
    Calibration(#[source] serde_json::Error),
    /// The chat template is missing or fails.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// The chat template drops or changes a message that it was given.
    #[cfg(feature = "ort")]
    #[error(
        "the model's chat template leaves out the message that it was given, or changes it, so that the model would not see it"
    )]
    TemplateDropsText,
    /// Generation failed, or was cut before the output was complete.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The events of an output cannot be determined.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Events(#[from] EventError),
    /// The confidence in an output's values is not available.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Confidence(#[from] ConfidenceError),
    /// The output matches the schema but does not deserialise: the type rejects more than its schema says.
    #[error("the output fits the schema, but the type {type_name} refuses it: {json}")]
    Deserialize {
        /// The type.
        type_name: &'static str,
        /// The output.
        json: String,
        /// The type's error.
        #[source]
        source: serde_json::Error,
    },
}

structgen_sentence::debug_as_sentence!(Error);

#[cfg(feature = "ort")]
impl Error {
    /// Returns whether a request was refused only because too many others wait.
    pub(crate) fn is_queue_full(&self) -> bool {
        matches!(self, Self::Generate(GenerateError::QueueFull { .. }))
    }
}

#[cfg(feature = "ort")]
impl From<structgen_ort::RuntimeError> for Error {
    fn from(error: structgen_ort::RuntimeError) -> Self {
        Self::Load(error.into())
    }
}
