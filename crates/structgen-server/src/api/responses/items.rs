//! The items of a response's output, and their events while they are generated.

use serde_json::{Value, json};
use structgen::chat::ChatMessage;

use crate::error::Result;
use crate::generation::{Conversation, Piece, past_call};
use crate::ids::new_id;

/// An event without its sequence number: its type and its fields.
pub(super) type Event = (&'static str, Value);

/// The status of an item that is complete.
pub(super) const COMPLETED: &str = "completed";

/// The status of an item that was cut.
pub(super) const INCOMPLETE: &str = "incomplete";

/// The items of an output so far. The last one may still be open.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    items: Vec<Item>,
    is_open: bool,
}

#[derive(Clone, Debug)]
struct Item {
    id: String,
    kind: Kind,
    /// The text, or the arguments of a call.
    text: String,
    logprobs: Vec<Value>,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Reasoning,
    Message,
    Call { call_id: String, name: String },
}

impl Items {
    /// Adds a part of the answer, and the log probabilities of its tokens.
    pub(super) fn push(&mut self, piece: &Piece, logprobs: Vec<Value>) -> Vec<Event> {
        let mut events = Vec::new();
        match piece {
            Piece::Content(text) => {
                self.open(Kind::Message, &mut events);
                self.extend(text, logprobs, &mut events);
            }
            Piece::Reasoning(text) => {
                self.open(Kind::Reasoning, &mut events);
                self.extend(text, Vec::new(), &mut events);
            }
            Piece::Call { id, name, .. } => {
                let (call_id, name) = (id.clone(), name.clone());
                self.open(Kind::Call { call_id, name }, &mut events);
            }
            Piece::Arguments { json, .. } => self.extend(json, Vec::new(), &mut events),
        }
        events
    }

    /// Returns whether the last item is a message that may go on.
    pub(super) fn is_in_message(&self) -> bool {
        let last = self.items.last();
        self.is_open && last.is_some_and(|item| item.kind == Kind::Message)
    }

    /// Ends the last item, with this status.
    pub(super) fn close(&mut self, status: &'static str) -> Vec<Event> {
        let mut events = Vec::new();
        let index = self.items.len().saturating_sub(1);
        if std::mem::take(&mut self.is_open)
            && let Some(item) = self.items.last_mut()
        {
            item.status = status;
            let place = json!({"item_id": item.id, "output_index": index});
            let at = |fields: Value| joined(&place, fields);
            match &item.kind {
                Kind::Call { name, .. } => {
                    let fields = at(json!({"arguments": item.text, "name": name}));
                    events.push(("response.function_call_arguments.done", fields));
                }
                kind => {
                    let (done, fields) = match kind {
                        Kind::Message => (
                            "response.output_text.done",
                            json!({"content_index": 0, "text": item.text, "logprobs": item.logprobs}),
                        ),
                        _ => (
                            "response.reasoning_text.done",
                            json!({"content_index": 0, "text": item.text}),
                        ),
                    };
                    events.push((done, at(fields)));
                    let part = json!({"content_index": 0, "part": item.part()});
                    events.push(("response.content_part.done", at(part)));
                }
            }
            let item = json!({"output_index": index, "item": item.to_json()});
            events.push(("response.output_item.done", item));
        }
        events
    }

    fn open(&mut self, kind: Kind, events: &mut Vec<Event>) {
        // Each call is an item of its own; text continues the text before it.
        let goes_on = self.items.last().is_some_and(|last| last.kind == kind);
        if self.is_open && goes_on {
            return;
        }
        events.extend(self.close(COMPLETED));
        let prefix = match kind {
            Kind::Reasoning => "rs_",
            Kind::Message => "msg_",
            Kind::Call { .. } => "fc_",
        };
        let item = Item {
            id: new_id(prefix),
            kind,
            text: String::new(),
            logprobs: Vec::new(),
            status: "in_progress",
        };
        let index = self.items.len();
        let mut begun = item.to_json();
        if begun.get("content").is_some() {
            begun["content"] = json!([]);
        }
        let added = json!({"output_index": index, "item": begun});
        events.push(("response.output_item.added", added));
        if !matches!(item.kind, Kind::Call { .. }) {
            let part = json!({"item_id": item.id, "output_index": index, "content_index": 0, "part": item.part()});
            events.push(("response.content_part.added", part));
        }
        self.items.push(item);
        self.is_open = true;
    }

    fn extend(&mut self, text: &str, logprobs: Vec<Value>, events: &mut Vec<Event>) {
        let index = self.items.len().saturating_sub(1);
        let Some(item) = self.items.last_mut() else {
            return;
        };
        item.text.push_str(text);
        let place = json!({"item_id": item.id, "output_index": index, "delta": text});
        let event = match item.kind {
            Kind::Call { .. } => ("response.function_call_arguments.delta", place),
            Kind::Reasoning => (
                "response.reasoning_text.delta",
                joined(&place, json!({"content_index": 0})),
            ),
            Kind::Message => {
                let fields = json!({"content_index": 0, "logprobs": logprobs});
                item.logprobs.extend(logprobs);
                ("response.output_text.delta", joined(&place, fields))
            }
        };
        events.push(event);
    }

    /// Returns the items in the form of a response.
    pub(super) fn to_json(&self) -> Value {
        self.items.iter().map(Item::to_json).collect()
    }

    /// Adds the answer to its conversation, without a call that was cut.
    pub(super) fn add_to(&self, conversation: &mut Conversation) -> Result<()> {
        let mut text = Value::Null;
        let mut calls = Vec::new();
        if !{ self.items.iter() }.any(|item| item.status == COMPLETED) {
            text = "".into();
        }
        for item in &self.items {
            match &item.kind {
                Kind::Reasoning => {}
                Kind::Call { .. } if item.status == INCOMPLETE => {}
                Kind::Message => text = item.text.as_str().into(),
                Kind::Call { call_id, name } => {
                    calls.push(past_call(Some(call_id.clone()), name, &item.text, "input")?);
                }
            }
        }
        let mut message = ChatMessage::assistant(text);
        if !calls.is_empty() {
            message = message.with("tool_calls", calls);
        }
        conversation.messages.push(message);
        Ok(())
    }
}

impl Item {
    /// Returns the content part of a message or of reasoning.
    fn part(&self) -> Value {
        match self.kind {
            Kind::Message => json!({
                "type": "output_text",
                "text": self.text,
                "annotations": [],
                "logprobs": self.logprobs,
            }),
            _ => json!({"type": "reasoning_text", "text": self.text}),
        }
    }

    fn to_json(&self) -> Value {
        let status = self.status;
        match &self.kind {
            Kind::Reasoning => json!({
                "id": self.id, "type": "reasoning", "summary": [], "content": [self.part()], "status": status,
            }),
            Kind::Message => json!({
                "id": self.id, "type": "message", "role": "assistant", "status": status, "content": [self.part()],
            }),
            Kind::Call { call_id, name } => json!({
                "id": self.id, "type": "function_call", "status": status,
                "call_id": call_id, "name": name, "arguments": self.text,
            }),
        }
    }
}

/// Returns an object with the fields of a second one appended.
fn joined(first: &Value, second: Value) -> Value {
    let mut joined = first.clone();
    if let (Value::Object(fields), Value::Object(more)) = (&mut joined, second) {
        fields.extend(more);
    }
    joined
}
