//! What the public tests of vLLM's and llama.cpp's servers check, as tests of this one: one per test function.
//! `docs/serving.md` lists where the outcome differs, and why.

mod llama_chat;
mod vllm_chat;
mod vllm_completion;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::model::chat_model;
use crate::support::{Running, serve_with};

/// Starts a server with a chat model; also returns its folder.
fn serve_chat() -> (TempDir, Running) {
    let (folder, spec) = chat_model();
    (folder, serve_with(|config| config.models = vec![spec]))
}

const CHAT: &str = "/v1/chat/completions";

/// Returns a short conversation, with other fields.
fn chat(fields: Value) -> Value {
    let messages = json!([
        {"role": "system", "content": "You help people."},
        {"role": "user", "content": "What is one and one?"},
    ]);
    with(json!({"messages": messages, "temperature": 0}), fields)
}

fn with(mut body: Value, fields: Value) -> Value {
    let fields = fields.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

fn content(reply: &Value) -> &str {
    reply["choices"][0]["message"]["content"].as_str().unwrap()
}

/// Returns the field for which a request is refused.
fn refused(server: &Running, path: &str, body: &Value) -> String {
    let error = server.post(path, body).expect(400);
    error["error"]["param"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the texts of a stream, by the index of their output; and how many chunks contain a finish reason.
fn texts(chunks: &[Value], outputs: usize) -> (Vec<String>, usize) {
    let mut texts = vec![String::new(); outputs];
    let mut ended = 0;
    for choice in chunks
        .iter()
        .flat_map(|chunk| chunk["choices"].as_array().unwrap())
    {
        let index = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
        let text = choice.get("text").unwrap_or(&choice["delta"]["content"]);
        texts[index].push_str(text.as_str().unwrap_or_default());
        ended += usize::from(!choice["finish_reason"].is_null());
    }
    (texts, ended)
}

fn is_sum(usage: &Value) -> bool {
    let number = |name: &str| usage[name].as_u64().unwrap();
    number("prompt_tokens") > 0
        && number("total_tokens") == number("prompt_tokens") + number("completion_tokens")
}
