//! Parses an output into text, reasoning and calls, as a whole or while it arrives.
//!
//! The parser consumes one character after another, so it does not matter how the output was split into pieces.

mod arguments;
mod choose;
mod finder;
mod literal;
mod machine;
mod object;
mod spec;
mod utf8;

use serde_json::Value;
use std::sync::Arc;
use structgen_vocab::{TokenId, Vocabulary};

use self::machine::Machine;
pub(crate) use self::spec::Spec;
use self::utf8::Utf8;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool's name, as written.
    pub name: String,
    /// The arguments: an object. Its numbers are as `serde_json` stores them; for JSON arguments, [`Event::Arguments`]
    /// has them as they were written.
    pub arguments: Value,
    /// The call's id, in formats that have one.
    pub id: Option<String>,
}

/// The content of an output.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// The text, without reasoning and calls.
    pub text: String,
    /// The reasoning; `None` if the output has no place for it.
    pub reasoning: Option<String>,
    /// The calls, in order.
    pub calls: Vec<ToolCall>,
}

/// A part of an output that has become certain.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// More text.
    Text(String),
    /// More reasoning; empty if there is a place for it but no text in it so far.
    Reasoning(String),
    /// A call has begun.
    CallStarted {
        /// The index of the call, from 0.
        index: usize,
        /// The tool's name.
        name: String,
        /// The call's id, if the format has it next to the name.
        id: Option<String>,
    },
    /// More of a call's arguments, as JSON: the pieces, concatenated, are the arguments.
    Arguments {
        /// The index of the call.
        index: usize,
        /// The piece.
        json: String,
    },
    /// A call is complete.
    CallFinished {
        /// The index of the call.
        index: usize,
        /// The call.
        call: ToolCall,
    },
}

/// Why an output is not in the format.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset} of the output: {kind}")]
#[non_exhaustive]
pub struct ParseError {
    /// The number of bytes read before the error.
    pub offset: usize,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

structgen_sentence::debug_as_sentence!(ParseError);

/// What is wrong with an output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A marker of the format is missing.
    #[error("{} is expected", expected.join(" or "))]
    Expected {
        /// The expected markers, without whitespace.
        expected: Vec<String>,
    },
    /// A call has no name.
    #[error("the call has no name")]
    NoName,
    /// A call has no arguments.
    #[error("the call of {name:?} has no arguments that are an object")]
    NoArguments {
        /// The tool.
        name: String,
    },
    /// The arguments are not in the format.
    #[error("the arguments of {name:?} cannot be read: {reason}")]
    Arguments {
        /// The tool.
        name: String,
        /// Why.
        reason: String,
    },
    /// An argument occurs twice.
    #[error("the argument {key:?} of {name:?} comes twice")]
    Twice {
        /// The tool.
        name: String,
        /// The argument.
        key: String,
    },
    /// The output ends within a call.
    #[error("the output ends within a call")]
    Incomplete,
}

/// A parser for one output. It accepts text, bytes or tokens in pieces of any size and returns events as soon as they
/// are certain.
///
/// ```
/// use serde_json::json;
/// use structgen_tools::{Event, Tool, ToolFormat, ToolGrammar, ToolOptions};
///
/// let format = ToolFormat::preset("qwen").expect("it is a preset");
/// let tools = ToolGrammar::new(format, vec![Tool::new("now", json!({}))?], &ToolOptions::new())?;
/// let mut parser = tools.parser();
/// let mut events = Vec::new();
/// for piece in ["One moment.<to", "ol_call>\n{\"name\": \"n", "ow\", \"argum", "ents\": {}}\n</tool_call>"] {
///     parser.push(piece, &mut events)?;
/// }
/// parser.finish(&mut events)?;
/// assert_eq!(events[0], Event::Text("One moment.".to_owned()));
/// assert_eq!(events[1], Event::CallStarted { index: 0, name: "now".to_owned(), id: None });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolParser {
    machine: Machine,
    utf8: Utf8,
    failed: Option<ParseError>,
}

impl ToolParser {
    pub(crate) fn new(spec: Arc<Spec>) -> Self {
        Self {
            machine: Machine::new(spec),
            utf8: Utf8::default(),
            failed: None,
        }
    }

    /// Parses a piece of the output.
    ///
    /// # Errors
    /// If the output is not in the format; later calls return the same error. The events still contain what was certain
    /// before it.
    pub fn push(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), ParseError> {
        self.push_bytes(text.as_bytes(), events)
    }

    /// Parses a piece of the output in bytes, which may end within a character. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// As [`push`](ToolParser::push).
    pub fn push_bytes(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ParseError> {
        self.unless_failed(|machine, utf8| {
            utf8.push(bytes, |c, offset| machine.take(c, offset, events))
        })
    }

    /// Parses a token: its bytes, or the name of a special token, which is how formats write it. End-of-sequence ids
    /// are not part of an output.
    ///
    /// # Errors
    /// As [`push`](ToolParser::push).
    pub fn push_token(
        &mut self,
        vocabulary: &Vocabulary,
        token: TokenId,
        events: &mut Vec<Event>,
    ) -> Result<(), ParseError> {
        let special = vocabulary.is_special(token);
        let name = vocabulary.token_name(token).filter(|_| special);
        let bytes = name.map(str::as_bytes).or(vocabulary.token_bytes(token));
        self.push_bytes(bytes.unwrap_or_default(), events)
    }

    /// Ends the output. Nothing may be pushed afterwards.
    ///
    /// # Errors
    /// If the output ends within a call.
    pub fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ParseError> {
        self.unless_failed(|machine, utf8| {
            let offset = utf8.finish(|c, offset| machine.take(c, offset, events))?;
            machine.finish(offset, events)
        })
    }

    /// Runs an operation unless an earlier one failed; returns that error otherwise.
    fn unless_failed(
        &mut self,
        take: impl FnOnce(&mut Machine, &mut Utf8) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = take(&mut self.machine, &mut self.utf8);
        self.failed = result.clone().err();
        result
    }
}

impl Message {
    /// The message as JSON: `{"text", "reasoning"?, "calls"}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let calls: Vec<Value> = self.calls.iter().map(ToolCall::to_json).collect();
        let mut json = serde_json::json!({"text": self.text, "calls": calls});
        if let Some(reasoning) = &self.reasoning {
            json["reasoning"] = reasoning.as_str().into();
        }
        json
    }

    /// The message that consists of all events of an output.
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Self {
        let mut message = Self::default();
        for event in events {
            match event {
                Event::Text(text) => message.text.push_str(&text),
                Event::Reasoning(text) => message.reasoning.get_or_insert_default().push_str(&text),
                Event::CallFinished { call, .. } => message.calls.push(call),
                Event::CallStarted { .. } | Event::Arguments { .. } => {}
            }
        }
        message
    }
}

impl ToolCall {
    /// The call as JSON: `{"name", "arguments", "id"?}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::json!({"name": self.name, "arguments": self.arguments});
        if let Some(id) = &self.id {
            json["id"] = id.as_str().into();
        }
        json
    }
}
