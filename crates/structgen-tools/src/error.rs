//! Errors of tools and formats.

use structgen_frontend::json_schema::SchemaError;

/// Why tools are refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The text of the list of tools, or of a tool's schema, is not JSON.
    #[error("the list of tools is not JSON: {reason} (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong at that position.
        reason: String,
    },
    /// The list of tools has an invalid value somewhere.
    #[error("{pointer}: {expected} is expected here")]
    NotATool {
        /// Its JSON Pointer into the list: `#/0/function/name`.
        pointer: String,
        /// What is expected instead.
        expected: &'static str,
    },
    /// A tool has a field that no form of tools has.
    #[error("{pointer}: a tool has no such field")]
    UnknownField {
        /// Its JSON Pointer into the list: `#/0/function/paramters`.
        pointer: String,
    },
    /// A tool's name has a character that some format cannot represent, or is empty or too long.
    #[error("the tool name {name:?} is not usable: 1 to 128 letters, digits and `_-.:/` are")]
    Name {
        /// The name.
        name: String,
    },
    /// Two tools have the same name.
    #[error("there are two tools of the name {name:?}")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The choice names a tool that is not in the list.
    #[error("there is no tool {name:?} to choose; there are: {}", known.join(", "))]
    UnknownTool {
        /// The name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// A call is required, but there is no tool to call.
    #[error("a call is demanded, and there is no tool to call")]
    NoTools,
    /// The schema of a tool's parameters is refused.
    #[error("the parameters of the tool {tool:?} are refused")]
    Schema {
        /// The tool.
        tool: String,
        /// Why, with the JSON Pointer into the parameters.
        #[source]
        source: SchemaError,
    },
    /// The schema of a tool's parameters allows no object.
    #[error("the parameters of the tool {tool:?} allow no object, which arguments are")]
    NoObject {
        /// The tool.
        tool: String,
    },
    /// The format cannot write something that the schema allows or requires.
    #[error("the tool {tool:?}, {pointer}: the format {format} cannot write this: {reason}")]
    Unsupported {
        /// The tool.
        tool: String,
        /// Its JSON Pointer into the parameters.
        pointer: String,
        /// The name of the format.
        format: String,
        /// What is not supported.
        reason: &'static str,
    },
    /// Two schemas require different forms of JSON with `x-structgen`, but one text has one form.
    #[error(
        "the schema of {tool:?} asks for another form of JSON than those before it; one text has one form"
    )]
    Forms {
        /// The tool with the differing schema, or `content`.
        tool: String,
    },
    /// The schema of the content is refused.
    #[error("the schema of the content is refused")]
    Content(#[source] SchemaError),
    /// A call of this format could also be read as the content.
    #[error("a call in the format {format} may begin like the content; ask for one of them only")]
    AmbiguousContent {
        /// The name of the format.
        format: String,
    },
    /// Reasoning is required of a format without reasoning.
    #[error("the format {format} has no reasoning")]
    NoReasoning {
        /// The name of the format.
        format: String,
    },
    /// A search over a regular set exceeded its limit.
    #[error("the tool {tool:?}, {pointer}: {reason}")]
    Limit {
        /// The tool.
        tool: String,
        /// Its JSON Pointer into the parameters.
        pointer: String,
        /// What was exceeded.
        reason: String,
    },
}

structgen_sentence::debug_as_sentence!(ToolError);

impl ToolError {
    pub(crate) fn not_json(error: serde_json::Error) -> Self {
        Self::NotJson {
            line: error.line(),
            column: error.column(),
            reason: error.to_string(),
        }
    }
}

/// Why a format is refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not TOML, or has entries that a format does not have.
    #[error("the format is not usable: {reason}")]
    NotAFormat {
        /// What is wrong, with its position marked.
        reason: String,
    },
    /// An entry contradicts another one, or cannot be distinguished from the text around it.
    #[error("`{entry}`: {reason}")]
    Entry {
        /// The entry, as `call.begin`.
        entry: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

structgen_sentence::debug_as_sentence!(FormatError);

impl FormatError {
    pub(crate) fn entry(entry: &'static str, reason: impl Into<String>) -> Self {
        Self::Entry {
            entry,
            reason: reason.into(),
        }
    }
}
