//! Options of chat prompts.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use structgen::Model;
use structgen::chat::{ChatMessage, ChatOptions};
use structgen::vocab::TokenId;

use crate::input::{Document, TextArgs};

/// What becomes of a prompt before the model sees it.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Chat")]
pub(crate) struct ChatArgs {
    /// Put the prompt through the model's chat template, as the message of a user
    #[arg(long)]
    chat: bool,
    /// A system message before the prompt
    #[arg(long, value_name = "TEXT", requires = "chat")]
    system: Option<String>,
    /// A whole conversation instead of a prompt: a JSON object such as {"role": "user", "content": "Hi"} per line; `-` reads
    /// standard input
    #[arg(
        long,
        value_name = "FILE",
        requires = "chat",
        conflicts_with_all = ["text", "file", "system"]
    )]
    messages: Option<PathBuf>,
    /// Documents for the chat template: a JSON list of objects
    #[arg(long, value_name = "FILE", requires = "chat")]
    documents: Option<PathBuf>,
    /// The chat template to use, where the model has several
    #[arg(long, value_name = "NAME", requires = "chat")]
    chat_template: Option<String>,
    /// A variable of the chat template, such as enable_thinking=false; what is not JSON is text. May be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "chat")]
    chat_set: Vec<String>,
    /// Let the model go on with the last message
    #[arg(long, requires = "messages")]
    continue_final_message: bool,
    /// Leave out what begins the model's answer
    #[arg(long, requires = "chat")]
    no_generation_prompt: bool,
}

/// A prompt that has been read and not yet encoded.
pub(crate) enum Prompt {
    Text(String),
    Chat(Vec<ChatMessage>, Box<ChatOptions>),
}

impl ChatArgs {
    pub(crate) fn is_used(&self) -> bool {
        self.chat
    }

    /// The prompt, and the tools that a chat template is given.
    pub(crate) fn read(&self, text: &TextArgs, tools: Option<&Path>) -> anyhow::Result<Prompt> {
        if !self.chat {
            return Ok(Prompt::Text(text.read()?));
        }
        let messages = match &self.messages {
            Some(path) => read_messages(path)?,
            None => {
                let system = self.system.as_deref().map(ChatMessage::system);
                let user = ChatMessage::user(text.read()?);
                system.into_iter().chain([user]).collect()
            }
        };
        let mut options = ChatOptions {
            add_generation_prompt: !self.no_generation_prompt && !self.continue_final_message,
            continue_final_message: self.continue_final_message,
            template: self.chat_template.clone(),
            tools: tools.map(read_tools).transpose()?,
            documents: self.documents.as_deref().map(read_list).transpose()?,
            ..ChatOptions::default()
        };
        for setting in &self.chat_set {
            let Some((name, value)) = setting.split_once('=') else {
                bail!(
                    "--chat-set takes NAME=VALUE, such as enable_thinking=false, and {setting:?} has no ="
                );
            };
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            options.variables.insert(name.trim().to_owned(), value);
        }
        Ok(Prompt::Chat(messages, Box::new(options)))
    }
}

impl Prompt {
    pub(crate) fn encode(&self, model: &Model) -> structgen::Result<Vec<TokenId>> {
        match self {
            Self::Text(text) => model.encode_prompt(text),
            Self::Chat(messages, options) => model.encode_chat(messages, options),
        }
    }
}

/// A message per line.
fn read_messages(path: &Path) -> anyhow::Result<Vec<ChatMessage>> {
    let Document { name, text } = Document::read(path)?;
    let mut messages = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let message = serde_json::from_str(line)
            .with_context(|| format!("{name}, line {}: this is not a message", index + 1))?;
        messages.push(message);
    }
    if messages.is_empty() {
        bail!("{name} has no message");
    }
    Ok(messages)
}

fn read_list(path: &Path) -> anyhow::Result<Vec<Value>> {
    let Document { name, text } = Document::read_json(path)?;
    serde_json::from_str(&text).with_context(|| format!("{name} is not a list in JSON"))
}

/// The tools of a file, in the form of OpenAI's API, which templates expect.
fn read_tools(path: &Path) -> anyhow::Result<Vec<Value>> {
    let wrapped = |tool: Value| match tool.get("function") {
        Some(_) => tool,
        None => serde_json::json!({"type": "function", "function": tool}),
    };
    Ok(read_list(path)?.into_iter().map(wrapped).collect())
}
