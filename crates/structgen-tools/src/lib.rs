//! Tool calls and structural tags: free text, then a trigger, then arguments valid under a schema, then an end tag.
//!
//! A [`ToolFormat`] describes how a chat model writes its calls. It is data, read from a file: many formats are built
//! in ([`ToolFormat::preset`]), others are parsed by [`ToolFormat::from_toml`]. A format, the [`Tool`]s and
//! [`ToolOptions`] make a [`ToolGrammar`], which is
//!
//! - a grammar of everything that the model may write: its reasoning, free text, and calls with arguments valid under
//!   the tool's schema;
//! - a parser of what it wrote, as a whole ([`ToolGrammar::parse`]) or in pieces ([`ToolGrammar::parser`]).
//!
//! Both are built from the same data, and every text of the grammar parses to the values that it was written for.
//!
//! ```
//! use serde_json::json;
//! use structgen_tools::{Tool, ToolFormat, ToolGrammar, ToolOptions};
//!
//! let weather = Tool::new("get_weather", json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}},
//!     "required": ["city"],
//! }))?;
//! let format = ToolFormat::preset("qwen").expect("it is a preset");
//! let tools = ToolGrammar::new(format, vec![weather], &ToolOptions::default())?;
//!
//! let message = tools.parse(
//!     "I'll look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
//! )?;
//! assert_eq!(message.text, "I'll look.\n");
//! assert_eq!(message.calls[0].name, "get_weather");
//! assert_eq!(message.calls[0].arguments, json!({"city": "Oslo"}));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod format;
mod list;
mod lower;
mod options;
mod parse;
mod structural_tag;
mod tool;
mod tool_grammar;

pub use error::{FormatError, ToolError};
pub use format::{
    Argument, Call, Calls, Enclosed, IdFormat, Marker, Member, MemberContent, Parameter, Position,
    Sample, SampleCall, Text, ToolFormat,
};
pub use options::{Content, Reasoning, ToolChoice, ToolOptions};
pub use parse::{Event, Message, ParseError, ParseErrorKind, ToolCall, ToolParser};
pub use structural_tag::{StructuralTag, StructuralTagError};
pub use tool::Tool;
pub use tool_grammar::ToolGrammar;

/// The whitespace between the markers of a format.
const WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

fn is_space(c: char) -> bool {
    WHITESPACE.contains(&c)
}
