use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation: a role, a content, and any other fields that the template reads, such as
/// `tool_calls`.
///
/// It is the JSON object of chat APIs, with its fields in order. The content may be a string, a list of parts or null.
///
/// ```
/// use serde_json::json;
/// use structgen_chat::ChatMessage;
///
/// let call = ChatMessage::new("assistant", json!(null)).with(
///     "tool_calls",
///     json!([{"type": "function", "function": {"name": "weather", "arguments": {"city": "Graz"}}}]),
/// );
/// let parts = ChatMessage::user(json!([{"type": "text", "text": "Hello!"}]));
/// # let _ = (call, parts);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChatMessage(Map<String, Value>);

impl ChatMessage {
    /// A message with a role and a content.
    pub fn new(role: impl Into<String>, content: impl Into<Value>) -> Self {
        let mut fields = Map::new();
        fields.insert("role".into(), role.into().into());
        fields.insert("content".into(), content.into());
        Self(fields)
    }

    /// A system message: instructions for the model.
    pub fn system(content: impl Into<Value>) -> Self {
        Self::new("system", content)
    }

    /// A user message.
    pub fn user(content: impl Into<Value>) -> Self {
        Self::new("user", content)
    }

    /// An assistant message: what the model wrote.
    pub fn assistant(content: impl Into<Value>) -> Self {
        Self::new("assistant", content)
    }

    /// A tool message: what a tool returned.
    pub fn tool(content: impl Into<Value>) -> Self {
        Self::new("tool", content)
    }

    /// Adds a field, or replaces its value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The message's fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The text of the content: the content itself, or its parts, which are then all texts, one per line.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self.0.get("content")? {
            Value::String(text) => Some(text.clone()),
            Value::Array(parts) => {
                let texts = parts.iter().map(|part| part.get("text")?.as_str());
                Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
            }
            _ => None,
        }
    }

    /// The text that a model would continue: the content, or its last text part.
    pub(crate) fn last_text_mut(&mut self) -> Option<&mut String> {
        match self.0.get_mut("content")? {
            Value::String(text) => Some(text),
            Value::Array(parts) => {
                { parts.iter_mut().rev() }.find_map(|part| match part.get_mut("text")? {
                    Value::String(text) => Some(text),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// Returns the text of the last user message of a conversation, if it has one: what a model that extracts reads.
///
/// ```
/// use serde_json::json;
/// use structgen_chat::{ChatMessage, last_user_text};
///
/// let parts = json!([{"type": "text", "text": "Ada"}, {"type": "text", "text": "is 36."}]);
/// let conversation = [ChatMessage::user("Hi"), ChatMessage::user(parts), ChatMessage::assistant("Yes?")];
/// assert_eq!(last_user_text(&conversation).as_deref(), Some("Ada\nis 36."));
/// assert_eq!(last_user_text(&conversation[2..]), None);
/// ```
#[must_use]
pub fn last_user_text(messages: &[ChatMessage]) -> Option<String> {
    let is_user = |message: &&ChatMessage| {
        let role = message.fields().get("role");
        role.is_some_and(|role| role == "user")
    };
    messages.iter().rev().find(is_user)?.text()
}

impl From<Map<String, Value>> for ChatMessage {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}
