//! What can go wrong, from the schema to the last token.

use std::error::Error as _;
use std::fmt;
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

/// Why there is no output. The sources that an error has say more.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The schema is refused.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The schema of a Rust type is refused.
    #[error("the schema of the type {type_name} is refused")]
    TypeSchema {
        /// The type.
        type_name: &'static str,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// A Rust type refuses texts that fit its schema, so that no constraint of the schema can be one of the type.
    #[error(
        "{pointer}: the type {type_name} refuses {json}, which fits its schema; say in the schema what it takes, with \
         #[schemars(regex(pattern = \"…\"))], #[schemars(extend(…))] or #[schemars(with = \"…\")] on the field"
    )]
    TypeRefuses {
        /// The type.
        type_name: &'static str,
        /// The JSON Pointer of the schema of the value that is refused, or of one that it is in.
        pointer: String,
        /// A text that fits the schema.
        json: String,
        /// What the type says.
        #[source]
        source: serde_json::Error,
    },
    /// The regular expression is refused.
    #[error(transparent)]
    Regex(#[from] RegexError),
    /// The grammar is refused.
    #[error(transparent)]
    Gbnf(#[from] GbnfError),
    /// The tools are refused.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    Tools(#[from] ToolError),
    /// The format of tool calls is refused.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    ToolFormat(#[from] FormatError),
    /// An output is not in the format of its tool calls.
    #[cfg(feature = "tools")]
    #[error(transparent)]
    ToolOutput(#[from] ParseError),
    /// A list of choices without a choice.
    #[error("there is no choice to choose from")]
    NoChoices,
    /// A list of choices that is too large.
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
        /// Why.
        #[source]
        source: TokenizerError,
    },
    /// A text cannot be turned into tokens.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// An extraction model of the embedded kind that was trained on another version of the prompt.
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
    /// The `calibration.json` of a model cannot be used.
    #[cfg(feature = "ort")]
    #[error("the model's calibration.json cannot be used")]
    Calibration(#[source] serde_json::Error),
    /// The chat template is missing or fails.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// The chat template leaves out a message that it was given, or writes it in another way.
    #[cfg(feature = "ort")]
    #[error(
        "the model's chat template leaves out the message that it was given, or changes it, so that the model would not see it"
    )]
    TemplateDropsText,
    /// Generation failed, or was cut before the output was complete.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The parts of an output cannot be told.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Events(#[from] EventError),
    /// There is no confidence of an output's values.
    #[cfg(feature = "ort")]
    #[error(transparent)]
    Confidence(#[from] ConfidenceError),
    /// The output fits the schema and does not deserialise: the type refuses more than its schema says.
    #[error("the output fits the schema, but the type {type_name} refuses it: {json}")]
    Deserialize {
        /// The type.
        type_name: &'static str,
        /// The output.
        json: String,
        /// What the type says.
        #[source]
        source: serde_json::Error,
    },
}

/// As a sentence, sources included: what `fn main() -> Result<(), structgen::Error>` prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = self.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(feature = "ort")]
impl From<structgen_ort::RuntimeError> for Error {
    fn from(error: structgen_ort::RuntimeError) -> Self {
        Self::Load(error.into())
    }
}
