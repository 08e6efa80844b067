use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation: a role, a content, and whatever else the template reads, such as `tool_calls`.
///
/// It is the JSON object that chat APIs take, fields in their order. A content may be a string, a list of parts or
/// null.
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
    /// A message of a role.
    pub fn new(role: impl Into<String>, content: impl Into<Value>) -> Self {
        let mut fields = Map::new();
        fields.insert("role".into(), role.into().into());
        fields.insert("content".into(), content.into());
        Self(fields)
    }

    /// What the model is told about its task.
    pub fn system(content: impl Into<Value>) -> Self {
        Self::new("system", content)
    }

    /// What the user says.
    pub fn user(content: impl Into<Value>) -> Self {
        Self::new("user", content)
    }

    /// What the model said.
    pub fn assistant(content: impl Into<Value>) -> Self {
        Self::new("assistant", content)
    }

    /// What a tool returned.
    pub fn tool(content: impl Into<Value>) -> Self {
        Self::new("tool", content)
    }

    /// With one more field, or another value of it.
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

    /// The text that a model would go on with: the content, or its last part of text.
    pub(crate) fn last_text(&self) -> Option<&str> {
        match self.0.get("content")? {
            Value::String(text) => Some(text),
            Value::Array(parts) => parts
                .iter()
                .rev()
                .find_map(|part| part.get("text")?.as_str()),
            _ => None,
        }
    }
}

impl From<Map<String, Value>> for ChatMessage {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}
