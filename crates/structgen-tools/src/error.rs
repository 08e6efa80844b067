//! Why tools, or a format for them, are refused.

use structgen_frontend::json_schema::SchemaError;

/// Why tools are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The text of the list of tools is not JSON.
    #[error("the list of tools is not JSON: {reason} (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The list of tools has something at a place that does not belong there.
    #[error("{pointer}: {expected} is expected here")]
    NotATool {
        /// Where, as a JSON Pointer into the list: `#/0/function/name`.
        pointer: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A tool's name has a character that some format could not carry, or is empty or too long.
    #[error("the tool name {name:?} is not usable: 1 to 128 letters, digits and `_-.:/` are")]
    Name {
        /// The name.
        name: String,
    },
    /// Two tools have one name.
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
        /// The names that there are.
        known: Vec<String>,
    },
    /// A call is demanded, and there is no tool to call.
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
    /// The format has no way to write something that the schema asks for.
    #[error("the tool {tool:?}, {pointer}: the format {format} cannot write this: {reason}")]
    Unsupported {
        /// The tool.
        tool: String,
        /// Where in the parameters, as a JSON Pointer.
        pointer: String,
        /// The name of the format.
        format: String,
        /// What about it.
        reason: &'static str,
    },
    /// Two schemas ask for JSON that is written in different ways, with `x-structgen`; one text has one form.
    #[error(
        "the schema of {tool:?} asks for another form of JSON than those before it; one text has one form"
    )]
    Forms {
        /// The tool whose schema differs, or `content`.
        tool: String,
    },
    /// The schema of the content is refused.
    #[error("the schema of the content is refused")]
    Content(#[source] SchemaError),
    /// A call of this format could be read as the content, too.
    #[error("a call in the format {format} may begin like the content; ask for one of them only")]
    AmbiguousContent {
        /// The name of the format.
        format: String,
    },
    /// Reasoning is demanded from a format that says nothing of it.
    #[error("the format {format} has no reasoning")]
    NoReasoning {
        /// The name of the format.
        format: String,
    },
    /// A search over a regular set went over its limit.
    #[error("the tool {tool:?}, {pointer}: {reason}")]
    Limit {
        /// The tool.
        tool: String,
        /// Where in the parameters, as a JSON Pointer.
        pointer: String,
        /// What was exceeded.
        reason: String,
    },
}

/// Why a format is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not TOML, or has entries that a format does not have.
    #[error("the format is not usable: {reason}")]
    NotAFormat {
        /// What is wrong, with the place marked.
        reason: String,
    },
    /// An entry contradicts another one, or could not be told from the text around it.
    #[error("`{entry}`: {reason}")]
    Entry {
        /// The entry, as `call.begin`.
        entry: &'static str,
        /// What is wrong about it.
        reason: String,
    },
}

impl FormatError {
    pub(crate) fn entry(entry: &'static str, reason: impl Into<String>) -> Self {
        Self::Entry {
            entry,
            reason: reason.into(),
        }
    }
}
