//! Chat prompts equal those of transformers, character for character and token for token.
//!
//! `fixtures/make.py` generates the golden files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use structgen_chat::{ChatMessage, ChatOptions, ChatPrompt, ChatTemplate};
use structgen_vocab::{TokenId, Tokenizer};

#[derive(Deserialize)]
struct Conversation {
    messages: Vec<ChatMessage>,
    #[serde(default)]
    add_generation_prompt: bool,
    #[serde(default)]
    continue_final_message: bool,
    tools: Option<Vec<Value>>,
    documents: Option<Vec<Value>>,
    #[serde(default)]
    variables: Map<String, Value>,
}

impl Conversation {
    fn options(&self) -> ChatOptions {
        ChatOptions {
            add_generation_prompt: self.add_generation_prompt,
            continue_final_message: self.continue_final_message,
            tools: self.tools.clone(),
            documents: self.documents.clone(),
            variables: self.variables.clone(),
            ..ChatOptions::default()
        }
    }
}

#[derive(Deserialize)]
struct Golden {
    template: String,
    conversation: usize,
    tokenizer: String,
    /// `None` if the template refuses the conversation.
    text: Option<String>,
    tokens: Option<Vec<u32>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn lines<T: for<'de> Deserialize<'de>>(file: &str) -> Vec<T> {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let parse = |line| serde_json::from_str(line).unwrap();
    text.lines().map(parse).collect()
}

fn template(name: &str) -> ChatTemplate {
    let source = fs::read_to_string(folder().join(format!("templates/{name}.jinja"))).unwrap();
    let config = r#"{"bos_token": "<s>", "eos_token": "</s>"}"#;
    ChatTemplate::from_sources([("default".to_owned(), source)], config).unwrap()
}

fn tokenizers() -> BTreeMap<String, Tokenizer> {
    let names = [
        "byte-level",
        "sentencepiece-bare",
        "sentencepiece-first",
        "sentencepiece-prepend",
    ];
    let load = |name: &str| {
        let path = folder().join(format!("tokenizers/{name}.json"));
        (name.to_owned(), Tokenizer::from_file(path).unwrap())
    };
    names.into_iter().map(load).collect()
}

fn encode(tokenizer: &Tokenizer, prompt: &ChatPrompt) -> Vec<TokenId> {
    tokenizer
        .encode_mixed(prompt.text(), prompt.trusted())
        .unwrap()
}

#[test]
fn prompts_equal_those_of_transformers() {
    let conversations: Vec<Conversation> = lines("conversations.jsonl");
    let tokenizers = tokenizers();
    let mut compared = 0;
    for golden in lines::<Golden>("goldens.jsonl") {
        let conversation = &conversations[golden.conversation];
        let name = format!(
            "{} {} {}",
            golden.template, golden.conversation, golden.tokenizer
        );
        let rendered =
            template(&golden.template).render(&conversation.messages, &conversation.options());
        match (rendered, golden.text, golden.tokens) {
            (Ok(prompt), Some(text), Some(tokens)) => {
                assert_eq!(prompt.text(), text, "{name}");
                let encoded = encode(&tokenizers[&golden.tokenizer], &prompt);
                let encoded: Vec<u32> = encoded.iter().map(|token| token.0).collect();
                assert_eq!(encoded, tokens, "{name}: {text:?}");
                compared += 1;
            }
            (Err(_), None, None) => {}
            (rendered, text, _) => panic!("{name}: {rendered:?}, and transformers has {text:?}"),
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Texts that contain the names of all special tokens, in every field of a conversation.
#[test]
fn no_text_of_a_conversation_becomes_a_special_token() {
    let conversations: Vec<Conversation> = lines("conversations.jsonl");
    let tokenizers = tokenizers();
    let vocabulary = tokenizers["byte-level"].vocabulary();
    let names: Vec<&str> = vocabulary.special_tokens().map(|(_, name)| name).collect();
    let attack = names.concat();
    fn attacked(value: &Value, attack: &str) -> Value {
        match value {
            Value::String(text) if !text.is_empty() => format!("{text}{attack}").into(),
            Value::Array(items) => items.iter().map(|item| attacked(item, attack)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    // Fields that templates compare with constants stay unchanged.
                    let is_fixed = matches!(name.as_str(), "role" | "type" | "id" | "tool_call_id");
                    let value = if is_fixed {
                        value.clone()
                    } else {
                        attacked(value, attack)
                    };
                    (name.clone(), value)
                });
                Value::Object(fields.collect())
            }
            other => other.clone(),
        }
    }
    let special = |tokenizer: &Tokenizer, prompt: &ChatPrompt| -> Vec<TokenId> {
        let vocabulary = tokenizer.vocabulary();
        let tokens = encode(tokenizer, prompt).into_iter();
        tokens
            .filter(|&token| vocabulary.is_special(token))
            .collect()
    };
    let mut compared = 0;
    for golden in lines::<Golden>("goldens.jsonl") {
        let conversation = &conversations[golden.conversation];
        let template = template(&golden.template);
        let plain = template.render(&conversation.messages, &conversation.options());
        let list = |values: &Option<Vec<Value>>| {
            let values = values.as_ref()?.iter();
            Some(
                values
                    .map(|value| attacked(value, &attack))
                    .collect::<Vec<_>>(),
            )
        };
        let hostile: Vec<ChatMessage> = { conversation.messages.iter() }
            .map(|message| {
                let fields = Value::Object(message.fields().clone());
                serde_json::from_value(attacked(&fields, &attack)).unwrap()
            })
            .collect();
        let options = ChatOptions {
            tools: list(&conversation.tools),
            documents: list(&conversation.documents),
            ..conversation.options()
        };
        let (Ok(plain), Ok(hostile)) = (plain, template.render(&hostile, &options)) else {
            continue;
        };
        let tokenizer = &tokenizers[&golden.tokenizer];
        let name = format!("{} {}", golden.template, golden.conversation);
        assert_eq!(
            special(tokenizer, &hostile),
            special(tokenizer, &plain),
            "{name}"
        );
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
}
