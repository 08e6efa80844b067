//! The messages of a conversation.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use structgen::chat::{ChatMessage, last_user_text};

use crate::error::{ApiError, Result};
use crate::fields::{Fields, parse};

/// A conversation, in the form of chat templates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<ChatMessage>,
}

/// Maximum number of messages in a conversation, or of the items that it is read from.
pub(crate) const MOST_MESSAGES: usize = 4_096;

impl Conversation {
    /// Reads `messages`.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self> {
        let messages = fields.objects("messages")?;
        let messages = messages.ok_or_else(|| fields.missing("messages"))?;
        if messages.is_empty() || messages.len() > MOST_MESSAGES {
            let message = format!("there must be from 1 to {MOST_MESSAGES} messages");
            return Err(ApiError::invalid("messages", message));
        }
        let mut conversation = Self::default();
        for message in messages {
            conversation.add(message)?;
        }
        Ok(conversation)
    }

    /// Returns the text of the user's last message, from which the embedded model extracts.
    pub(crate) fn last_user_text(&self) -> Option<String> {
        last_user_text(&self.messages)
    }

    /// Adds a message with a role.
    pub(crate) fn push(&mut self, role: &str, text: String) {
        self.messages.push(ChatMessage::new(role, text));
    }

    /// Adds calls to the previous message if that is the assistant's, or else to a new one.
    pub(crate) fn push_calls(&mut self, added: Vec<Value>) {
        if added.is_empty() {
            return;
        }
        let is_open =
            |message: &ChatMessage| message.fields().get("role") == Some(&"assistant".into());
        let message = match self.messages.last().is_some_and(is_open) {
            true => self.messages.pop(),
            false => None,
        };
        let message = message.unwrap_or_else(|| ChatMessage::assistant(Value::Null));
        let calls = message.fields().get("tool_calls").and_then(Value::as_array);
        let mut calls = calls.cloned().unwrap_or_default();
        calls.extend(added);
        self.messages.push(message.with("tool_calls", calls));
    }

    /// Appends the messages of another conversation.
    pub(crate) fn extend(&mut self, other: Self) {
        self.messages.extend(other.messages);
    }

    fn add(&mut self, mut message: Fields<'_>) -> Result<()> {
        let role: String = message.need("role")?;
        let role = match &*role {
            // OpenAI's newer name of the system role, which few templates support.
            "system" | "developer" => "system",
            "user" | "assistant" | "tool" => &*role,
            _ => {
                let path = message.path_of("role");
                let text = format!(
                    "{path} is {role:?}, and must be system, developer, user, assistant or tool"
                );
                return Err(ApiError::invalid(path, text));
            }
        };
        let calls = match role {
            "assistant" => calls(&mut message)?,
            _ => None,
        };
        let path = message.path_of("content");
        let content = match message.raw("content") {
            Some(content) => Some(text(content, &path, message.unread())?),
            None if calls.is_some() => None,
            None => return Err(message.missing("content")),
        };
        let mut made = ChatMessage::new(role, content.map_or(Value::Null, Value::from));
        if let Some(calls) = calls {
            made = made.with("tool_calls", calls);
        }
        if let Some(name) = message.take::<String>("name")? {
            made = made.with("name", name);
        }
        match role {
            "tool" => made = made.with("tool_call_id", message.need::<String>("tool_call_id")?),
            "assistant" => {
                for name in ["reasoning_content", "reasoning"] {
                    if let Some(reasoning) = message.take::<String>(name)? {
                        made = made.with("reasoning_content", reasoning);
                    }
                }
                // A refusal was part of an answer, but is not part of a prompt.
                let _: Option<String> = message.take("refusal")?;
            }
            _ => {}
        }
        self.messages.push(made);
        message.finish()
    }
}

/// Reads a content that is a text, or an array of text parts.
pub(crate) fn text(
    content: &RawValue,
    path: &str,
    unread: &crate::fields::Unread,
) -> Result<String> {
    if content.get().starts_with('"') {
        return parse(content, path);
    }
    let parts: Vec<Box<RawValue>> = parse(content, path)?;
    let mut texts = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut part = Fields::of_value(part, format!("{path}[{index}]"), unread)?;
        let kind: String = part.need("type")?;
        match &*kind {
            "text" | "input_text" | "output_text" => texts.push(part.need::<String>("text")?),
            "refusal" => texts.push(part.need::<String>("refusal")?),
            _ => {
                let path = part.path_of("type");
                let message = format!("{path} is {kind:?}, and only text is supported");
                return Err(ApiError::invalid(path, message));
            }
        }
        if kind == "output_text" {
            // Fields of answers that clients send back.
            let _ = (part.raw("annotations"), part.raw("logprobs"));
        }
        part.finish()?;
    }
    Ok(texts.join("\n"))
}

/// Reads the calls of an assistant's message, with arguments as the objects that templates expect.
fn calls(message: &mut Fields<'_>) -> Result<Option<Vec<Value>>> {
    let Some(calls) = message.objects("tool_calls")? else {
        return Ok(None);
    };
    let mut read = Vec::new();
    for mut call in calls {
        let id: Option<String> = call.take("id")?;
        let _: Option<String> = call.take("type")?;
        let _: Option<u32> = call.take("index")?;
        let Some(mut function) = call.object("function")? else {
            return Err(call.missing("function"));
        };
        let name: String = function.need("name")?;
        let path = function.path_of("arguments");
        let arguments: String = function.need("arguments")?;
        function.finish()?;
        call.finish()?;
        read.push(past_call(id, &name, &arguments, &path)?);
    }
    Ok((!read.is_empty()).then_some(read))
}

/// Returns a call of an earlier answer in the form of templates.
pub(crate) fn past_call(
    id: Option<String>,
    name: &str,
    arguments: &str,
    path: &str,
) -> Result<Value> {
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| {
        ApiError::invalid(
            path,
            format!("{path} must be a text with a JSON object: {error}"),
        )
    })?;
    let mut call = json!({"type": "function", "function": {"name": name, "arguments": arguments}});
    if let Some(id) = id {
        call["id"] = id.into();
    }
    Ok(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_belong_to_the_answer_before_them() {
        let mut conversation = Conversation::default();
        conversation.push("assistant", "a".to_owned());
        conversation.push_calls(vec![json!(1), json!(2)]);
        conversation.push_calls(vec![json!(3)]);
        conversation.push("user", "b".to_owned());
        conversation.push_calls(Vec::new());
        conversation.push_calls(vec![json!(4)]);
        let calls: Vec<_> = { conversation.messages.iter() }
            .map(|message| message.fields().get("tool_calls").cloned())
            .collect();
        assert_eq!(calls, [Some(json!([1, 2, 3])), None, Some(json!([4]))]);
    }
}
