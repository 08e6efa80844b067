//! From an output back to text, reasoning and calls, whole and while it comes.
//!
//! The parser takes one character after another, so that it cannot matter how the output was cut into pieces.

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
    /// The tool's name, as it was written.
    pub name: String,
    /// The arguments: an object. Its numbers are as `serde_json` keeps them; with JSON arguments, [`Event::Arguments`] has them as they
    /// were written.
    pub arguments: Value,
    /// The call's id, in formats that have one.
    pub id: Option<String>,
}

/// What an output holds.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// What is neither reasoning nor a call.
    pub text: String,
    /// The reasoning; none where there is no place for it.
    pub reasoning: Option<String>,
    /// The calls, in order.
    pub calls: Vec<ToolCall>,
}

/// What became certain about an output.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// More text.
    Text(String),
    /// More reasoning; empty where there is a place for it and nothing in it so far.
    Reasoning(String),
    /// A call has begun.
    CallStarted {
        /// Which one, from 0.
        index: usize,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments, as JSON: all pieces together are the arguments.
    Arguments {
        /// Which call's.
        index: usize,
        /// The piece.
        json: String,
    },
    /// A call is complete.
    CallFinished {
        /// Which one.
        index: usize,
        /// The call.
        call: ToolCall,
    },
}

/// Why an output is not in the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset} of the output: {kind}")]
#[non_exhaustive]
pub struct ParseError {
    /// How many bytes were read before.
    pub offset: usize,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

/// What is wrong about an output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A marker of the format is missing.
    #[error("{} is expected", expected.join(" or "))]
    Expected {
        /// What may stand there, without whitespace.
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
    /// Arguments are not what the format says.
    #[error("the arguments of {name:?} cannot be read: {reason}")]
    Arguments {
        /// The tool.
        name: String,
        /// Why.
        reason: String,
    },
    /// An argument comes twice.
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

/// A parser for one output. It is fed text, bytes or tokens in pieces of any size and hands out what became certain.
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
/// assert_eq!(events[1], Event::CallStarted { index: 0, name: "now".to_owned() });
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

    /// Takes a piece of the output.
    ///
    /// # Errors
    /// When the output is not in the format; the same error from then on. What was certain before it is among the events.
    pub fn push(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), ParseError> {
        self.push_bytes(text.as_bytes(), events)
    }

    /// Takes a piece of the output in bytes, which may end within a character. What is no UTF-8 becomes U+FFFD.
    ///
    /// # Errors
    /// As [`push`](ToolParser::push).
    pub fn push_bytes(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ParseError> {
        self.unless_failed(|machine, utf8| {
            utf8.push(bytes, |c, offset| machine.take(c, offset, events))
        })
    }

    /// Takes a token: its bytes, or for a special token its name, which is how formats write it. End-of-sequence ids belong to no output.
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
    /// When the output ends within a call.
    pub fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), ParseError> {
        self.unless_failed(|machine, utf8| {
            let offset = utf8.finish(|c, offset| machine.take(c, offset, events))?;
            machine.finish(offset, events)
        })
    }

    /// Takes what may fail; once something has, only the error.
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

    /// The message that events are about: all of an output, from its start.
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
