//! Splits the tokens of an output into the parts of an answer: content, reasoning, calls.

use structgen::decode::GeneratedToken;
use structgen::tools::{Event, ToolGrammar, ToolParser};
use structgen::vocab::{TokenId, Vocabulary};

use super::plan::{How, Plan, Writes};
use crate::error::{ApiError, Result};
use crate::ids::new_id;

/// How the ids of calls begin.
const CALL: &str = "call_";

/// A part of an answer, as it is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Content(String),
    Reasoning(String),
    /// A call has started.
    Call {
        index: usize,
        id: String,
        name: String,
    },
    /// More of a call's arguments, as JSON.
    Arguments {
        index: usize,
        json: String,
    },
}

/// Splits one output while it is generated.
pub(crate) struct Pieces {
    kind: Kind,
    /// The reasoning so far.
    reasoning: String,
}

enum Kind {
    Content,
    /// The arguments of a tool call, and the tool's name until the call was announced.
    Arguments(Option<String>),
    /// The JSON of a whole call, so far.
    Call(String),
    Parsed(Box<Parsed>),
}

/// The input of a parser of the model's format: final text, and the names of special tokens in between.
struct Parsed {
    parser: ToolParser,
    /// Whether the format is one of Mistral's, whose chat templates accept ids of nine letters and digits only.
    is_mistral: bool,
    text: String,
    /// How much of the text was passed to the parser.
    fed: usize,
    /// Special tokens that were not passed on yet, each with its position in the text.
    special: std::collections::VecDeque<(TokenId, usize)>,
}

impl Pieces {
    pub(crate) fn new(plan: &Plan) -> Self {
        let kind = match &plan.how {
            How::Free | How::Constrained(_) => Kind::Content,
            How::Calls { grammar, .. } => Kind::Parsed(Box::new(Parsed::new(grammar))),
            How::Extraction { writes, .. } => match writes {
                Writes::Content => Kind::Content,
                Writes::Arguments(name) => Kind::Arguments(Some(name.clone())),
                Writes::Call => Kind::Call(String::new()),
            },
        };
        Self {
            kind,
            reasoning: String::new(),
        }
    }

    /// Returns how many of the output's tokens are reasoning, in whole or in part. Special tokens are markers around
    /// it.
    pub(crate) fn reasoning_tokens(
        &self,
        tokens: &[GeneratedToken],
        vocabulary: &Vocabulary,
    ) -> usize {
        let Kind::Parsed(parsed) = &self.kind else {
            return 0;
        };
        // The text before it, if any, belongs to a marker.
        let start = parsed.text.find(&self.reasoning).unwrap_or(0);
        let end = start + self.reasoning.len();
        let is_reasoning = |token: &&GeneratedToken| {
            let is_within = token.span.start < end && token.span.end > start;
            is_within && !vocabulary.is_special(token.id)
        };
        tokens.iter().filter(is_reasoning).count()
    }

    /// Adds more of an output.
    pub(crate) fn push(
        &mut self,
        text: &str,
        tokens: &[GeneratedToken],
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Piece>> {
        let pieces = self.take(text, tokens, vocabulary)?;
        self.count(&pieces);
        Ok(pieces)
    }

    fn count(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            if let Piece::Reasoning(text) = piece {
                self.reasoning.push_str(text);
            }
        }
    }

    fn take(
        &mut self,
        text: &str,
        tokens: &[GeneratedToken],
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Piece>> {
        match &mut self.kind {
            Kind::Content if text.is_empty() => Ok(Vec::new()),
            Kind::Content => Ok(vec![Piece::Content(text.to_owned())]),
            Kind::Arguments(_) if text.is_empty() => Ok(Vec::new()),
            Kind::Arguments(name) => {
                let call = name.take().map(|name| Piece::Call {
                    index: 0,
                    id: new_id(CALL),
                    name,
                });
                let json = text.to_owned();
                let arguments = Piece::Arguments { index: 0, json };
                Ok(call.into_iter().chain([arguments]).collect())
            }
            Kind::Call(json) => {
                json.push_str(text);
                Ok(Vec::new())
            }
            Kind::Parsed(parsed) => parsed.push(text, tokens, vocabulary),
        }
    }

    /// Ends a complete output.
    pub(crate) fn finish(&mut self, vocabulary: &Vocabulary) -> Result<Vec<Piece>> {
        let pieces = match &mut self.kind {
            Kind::Content | Kind::Arguments(_) => Vec::new(),
            Kind::Call(json) => whole_call(json)?,
            Kind::Parsed(parsed) => parsed.finish(vocabulary)?,
        };
        self.count(&pieces);
        Ok(pieces)
    }
}

impl Parsed {
    fn new(grammar: &ToolGrammar) -> Self {
        Self {
            parser: grammar.parser(),
            is_mistral: grammar.format().name.starts_with("mistral"),
            text: String::new(),
            fed: 0,
            special: std::collections::VecDeque::new(),
        }
    }

    fn push(
        &mut self,
        text: &str,
        tokens: &[GeneratedToken],
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Piece>> {
        self.text.push_str(text);
        let special = tokens
            .iter()
            .filter(|token| vocabulary.is_special(token.id));
        let placed = special.map(|token| (token.id, token.span.start));
        self.special.extend(placed);
        let mut events = Vec::new();
        self.feed(vocabulary, false, &mut events)?;
        Ok(self.pieces(events))
    }

    fn finish(&mut self, vocabulary: &Vocabulary) -> Result<Vec<Piece>> {
        let mut events = Vec::new();
        self.feed(vocabulary, true, &mut events)?;
        self.parser.finish(&mut events).map_err(not_in_format)?;
        Ok(self.pieces(events))
    }

    fn feed(
        &mut self,
        vocabulary: &Vocabulary,
        is_last: bool,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let end = self.text.len();
        while let Some(&(token, place)) = self.special.front() {
            // The text before it is not final yet.
            if place > end && !is_last {
                break;
            }
            self.feed_text(place.min(end), events)?;
            self.special.pop_front();
            { self.parser.push_token(vocabulary, token, events) }.map_err(not_in_format)?;
        }
        self.feed_text(end, events)
    }

    fn feed_text(&mut self, to: usize, events: &mut Vec<Event>) -> Result<()> {
        if to > self.fed {
            let bytes = &self.text.as_bytes()[self.fed..to];
            { self.parser.push_bytes(bytes, events) }.map_err(not_in_format)?;
            self.fed = to;
        }
        Ok(())
    }

    fn pieces(&self, events: Vec<Event>) -> Vec<Piece> {
        let piece = |event| match event {
            Event::Text(text) => Some(Piece::Content(text)),
            Event::Reasoning(text) => Some(Piece::Reasoning(text)),
            Event::CallStarted { index, name, id } => Some(Piece::Call {
                index,
                // The template prints the model's own id in the next turn.
                id: id.unwrap_or_else(|| self.new_call_id()),
                name,
            }),
            Event::Arguments { index, json } => Some(Piece::Arguments { index, json }),
            _ => None,
        };
        events.into_iter().filter_map(piece).collect()
    }

    fn new_call_id(&self) -> String {
        match self.is_mistral {
            true => new_id("").chars().take(9).collect(),
            false => new_id(CALL),
        }
    }
}

fn not_in_format(error: structgen::tools::ParseError) -> ApiError {
    ApiError::internal(format!("the output cannot be read: {error}"))
}

/// Parses an object with a name and arguments as a call.
fn whole_call(json: &str) -> Result<Vec<Piece>> {
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        name: String,
        #[serde(borrow)]
        arguments: &'a serde_json::value::RawValue,
    }
    let call: Call<'_> = serde_json::from_str(json)
        .map_err(|error| ApiError::internal(format!("the call cannot be read: {error}")))?;
    Ok(vec![
        Piece::Call {
            index: 0,
            id: new_id(CALL),
            name: call.name,
        },
        Piece::Arguments {
            index: 0,
            json: call.arguments.get().to_owned(),
        },
    ])
}

/// An answer, assembled from its pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) content: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) calls: Vec<AnswerCall>,
}

#[derive(Clone, Debug)]
pub(crate) struct AnswerCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Answer {
    pub(crate) fn add(&mut self, piece: &Piece) {
        match piece {
            Piece::Content(text) => self.content.get_or_insert_default().push_str(text),
            Piece::Reasoning(text) => self.reasoning.get_or_insert_default().push_str(text),
            Piece::Call { id, name, .. } => self.calls.push(AnswerCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
            }),
            Piece::Arguments { index, json } => {
                if let Some(call) = self.calls.get_mut(*index) {
                    call.arguments.push_str(json);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use structgen::tools::{Tool, ToolFormat, ToolOptions};

    use super::*;

    /// Returns the ids of the calls of an output.
    fn ids(format: &str, output: &str) -> Vec<String> {
        let tools = Tool::list(r#"[{"name": "ping"}]"#).unwrap();
        let format = ToolFormat::preset(format).unwrap();
        let grammar = ToolGrammar::new(format, tools, &ToolOptions::new()).unwrap();
        let mut parsed = Parsed::new(&grammar);
        parsed.text.push_str(output);
        let mut events = Vec::new();
        parsed.feed_text(output.len(), &mut events).unwrap();
        let calls = parsed.pieces(events).into_iter();
        calls
            .filter_map(|piece| match piece {
                Piece::Call { id, .. } => Some(id),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_call_keeps_the_id_that_the_model_writes_beside_its_name() {
        let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:3\
            <|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>";
        assert_eq!(ids("kimi", kimi), ["functions.ping:3"]);
        let mistral = "[TOOL_CALLS]ping[CALL_ID]abcDEF123[ARGS]{}";
        assert_eq!(ids("mistral-v11", mistral), ["abcDEF123"]);
    }

    #[test]
    fn a_new_id_is_one_that_the_chat_template_accepts() {
        let list = r#"[TOOL_CALLS] [{"name": "ping", "arguments": {}}]"#;
        for (format, output) in [
            ("mistral", "[TOOL_CALLS]ping[ARGS]{}"),
            ("mistral-v3", list),
        ] {
            let ids = ids(format, output);
            assert_eq!((ids.len(), ids[0].len()), (1, 9), "{ids:?}");
            assert!(ids[0].chars().all(|c| c.is_ascii_alphanumeric()), "{ids:?}");
        }
        let qwen = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";
        assert!(ids("qwen", qwen)[0].starts_with("call_"));
    }
}
