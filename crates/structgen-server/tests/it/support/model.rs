//! A model folder with the embedded model's weights and a chat template, which is served like a chat model.

use std::fs;
use std::path::Path;

use serde_json::Value;
use structgen_server::ModelSpec;
use tempfile::TempDir;

/// Messages between markers that are not in the vocabulary, preceded by tools, as in Qwen's template.
const TEMPLATE: &str = "{% if tools %}tools: {% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}\
    {% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}\n{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

/// Creates the folder, which is deleted when dropped, and its spec, named `chat`.
pub(crate) fn chat_model() -> (TempDir, ModelSpec) {
    model_with("chat", TEMPLATE, &[])
}

/// Messages as in Qwen's models, and an answer that the template starts: within reasoning, after it, or at its start.
const QWEN: &str = "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>{% endif %}\
    {% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>\
    {% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n\
    {% elif opens is defined %}<think>\n{% endif %}";

/// A model that reasons between `<think>` and `</think>`, and calls between `<tool_call>`s.
pub(crate) fn thinking_model() -> (TempDir, ModelSpec) {
    let tokens = ["<think>", "</think>", "<tool_call>", "</tool_call>"];
    model_with("thinking", QWEN, &tokens)
}

const HARMONY: &str = "<|start|>system<|message|>Reasoning: {{ reasoning_effort }}<|end|>\
    {% if tools %}<|start|>developer<|message|>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|end|>{% endif %}\
    {% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}<|start|>assistant";

/// A model that uses Harmony's channels.
pub(crate) fn harmony_model() -> (TempDir, ModelSpec) {
    let names = [
        "start",
        "end",
        "message",
        "channel",
        "constrain",
        "return",
        "call",
    ];
    let tokens = names.map(|name| format!("<|{name}|>"));
    model_with("harmony", HARMONY, &tokens.each_ref().map(String::as_str))
}

/// Returns the embedded model's weights with a chat template, and with special tokens in place of rare ones.
fn model_with(name: &str, template: &str, special: &[&str]) -> (TempDir, ModelSpec) {
    let folder = TempDir::new().unwrap();
    write(folder.path(), template, special);
    let mut spec = ModelSpec::folder(folder.path());
    spec.name = name.to_owned();
    (folder, spec)
}

fn write(folder: &Path, template: &str, special: &[&str]) {
    let assets = structgen_model::MAIN;
    let mut config: Value = serde_json::from_str(assets.tokenizer_config).unwrap();
    config["chat_template"] = template.into();
    let mut tokenizer: Value = serde_json::from_slice(assets.tokenizer).unwrap();
    special
        .iter()
        .for_each(|text| replace_token(&mut tokenizer, text));
    for (name, bytes) in [
        ("model.onnx", assets.model),
        ("tokenizer.json", tokenizer.to_string().as_bytes()),
        ("tokenizer_config.json", config.to_string().as_bytes()),
        ("config.json", assets.config.as_bytes()),
        (
            "generation_config.json",
            assets.generation_config.as_bytes(),
        ),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Assigns the id of the last token that no other is composed of to a special token.
fn replace_token(tokenizer: &mut Value, special: &str) {
    let merges = tokenizer["model"]["merges"].as_array_mut().unwrap();
    let last = merges.pop().unwrap();
    let whole: String = { last.as_array().unwrap().iter() }
        .map(|part| part.as_str().unwrap())
        .collect();
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    let id = vocabulary.remove(&whole).unwrap();
    vocabulary.insert(special.to_owned(), id.clone());
    let added = serde_json::json!({
        "id": id, "content": special, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true,
    });
    tokenizer["added_tokens"]
        .as_array_mut()
        .unwrap()
        .push(added);
}
