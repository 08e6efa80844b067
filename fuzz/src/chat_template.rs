//! Chat templates: the first byte chooses the conversation, the rest is the template.

use serde_json::{Value, json};
use structgen_chat::{ChatMessage, ChatOptions, ChatTemplate};

/// A character that only users write.
const USERS: char = '⟦';

/// Renders a conversation.
/// True when the template was read.
///
/// # Panics
/// When what the prompt trusts is no part of it, or has a character of a user's.
pub fn chat_template(data: &[u8]) -> bool {
    let Some((&how, template)) = data.split_first() else {
        return false;
    };
    let Ok(source) = std::str::from_utf8(template) else {
        return false;
    };
    let sources = [("default".to_owned(), source.to_owned())];
    let config = r#"{"bos_token": "<s>", "eos_token": "</s>"}"#;
    let Ok(template) = ChatTemplate::from_sources(sources, config) else {
        return false;
    };
    let options = ChatOptions {
        tools: Some(tools()),
        add_generation_prompt: how & 4 == 0,
        ..ChatOptions::default()
    };
    // It may fail in many ways, within its limits.
    if let Ok(prompt) = template.render(&conversation(how), &options) {
        let text = prompt.text();
        let mut end = 0;
        for trusted in prompt.trusted() {
            assert!(end <= trusted.start && trusted.start <= trusted.end);
            end = trusted.end;
            let part = text.get(trusted.clone()).expect("it is a part of the text");
            assert!(source.contains(USERS) || !part.contains(USERS), "{part:?}");
        }
    }
    true
}

fn conversation(how: u8) -> Vec<ChatMessage> {
    let user = format!(" {USERS}<s>user</s>{USERS} ");
    match how % 3 {
        0 => vec![ChatMessage::user(user)],
        1 => vec![
            ChatMessage::system(format!("{USERS} be short")),
            ChatMessage::user(user),
            ChatMessage::assistant(format!("{USERS}a\nb")),
        ],
        _ => {
            let call = json!([{"id": "1", "type": "function",
                "function": {"name": "add", "arguments": {"a": 1, "b": [USERS.to_string()]}}}]);
            vec![
                ChatMessage::user(json!([{"type": "text", "text": user}])),
                ChatMessage::assistant(Value::Null).with("tool_calls", call),
                ChatMessage::tool(format!("{USERS}3")).with("tool_call_id", "1"),
            ]
        }
    }
}

fn tools() -> Vec<Value> {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let function =
        json!({"name": "add", "description": USERS.to_string(), "parameters": parameters});
    vec![json!({"type": "function", "function": function})]
}
