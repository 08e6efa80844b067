//! Options of chat prompts.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use structgen::Model;
use structgen::chat::{ChatMessage, ChatOptions};
use structgen::vocab::TokenId;

use crate::input::{Document, TextArgs};
use crate::tool_args::ToolsFile;

/// How a prompt is prepared for the model.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Chat")]
pub(crate) struct ChatArgs {
    /// Apply the model's chat template, with the prompt as a user message
    #[arg(long)]
    chat: bool,
    /// System message to put before the prompt
    #[arg(
        long,
        value_name = "TEXT",
        requires = "chat",
        allow_hyphen_values = true
    )]
    system: Option<String>,
    /// Read a whole conversation instead of a prompt: one JSON object per line, such as {"role": "user", "content":
    /// "Hi"}; `-` reads standard input
    #[arg(
        long,
        value_name = "FILE",
        requires = "chat",
        conflicts_with_all = ["text", "file", "system"]
    )]
    messages: Option<PathBuf>,
    /// Documents for the chat template: a JSON array of objects
    #[arg(long, value_name = "FILE", requires = "chat")]
    documents: Option<PathBuf>,
    /// Name of the chat template to use, if the model has several
    #[arg(long, value_name = "NAME", requires = "chat")]
    chat_template: Option<String>,
    /// Set a variable of the chat template, such as enable_thinking=false; a value that is not JSON is a string. May be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "chat")]
    chat_set: Vec<String>,
    /// Let the model continue the last message
    #[arg(long, requires = "messages")]
    continue_final_message: bool,
    /// Omit the tokens that start the model's answer
    #[arg(long, requires = "chat")]
    no_generation_prompt: bool,
}

/// A prompt that is not encoded yet.
pub(crate) enum Prompt {
    Text(String),
    Chat(Vec<ChatMessage>, Box<ChatOptions>),
}

impl ChatArgs {
    pub(crate) fn is_used(&self) -> bool {
        self.chat
    }

    /// Returns an option that only matters to a chat template, if one was given.
    pub(crate) fn for_template(&self) -> Option<&'static str> {
        let given = [
            ("--system", self.system.is_some()),
            ("--documents", self.documents.is_some()),
            ("--chat-template", self.chat_template.is_some()),
            ("--chat-set", !self.chat_set.is_empty()),
            ("--continue-final-message", self.continue_final_message),
            ("--no-generation-prompt", self.no_generation_prompt),
        ];
        { given.into_iter() }
            .find(|(_, is_given)| *is_given)
            .map(|(name, _)| name)
    }

    /// Reads the prompt. `tools` are passed to the chat template.
    pub(crate) fn read(
        &self,
        text: &TextArgs,
        tools: Option<&ToolsFile>,
    ) -> anyhow::Result<Prompt> {
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
            tools: tools.map(ToolsFile::for_template),
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
    /// Returns the text to extract from: the prompt, or the last message of a user.
    pub(crate) fn text(&self) -> anyhow::Result<String> {
        let messages = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::Chat(messages, _) => messages,
        };
        { messages.iter().rev() }
            .map(ChatMessage::fields)
            .find(|fields| fields.get("role").is_some_and(|role| role == "user"))
            .and_then(|fields| content_text(fields.get("content")?))
            .context("the conversation has no message of a user with a text to extract from")
    }

    pub(crate) fn encode(&self, model: &Model) -> structgen::Result<Vec<TokenId>> {
        match self {
            Self::Text(text) => model.encode_prompt(text),
            Self::Chat(messages, options) => model.encode_chat(messages, options),
        }
    }
}

/// Returns the text of a message's content, which may be a list of parts.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| part.get("text")?.as_str());
            Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
        }
        _ => None,
    }
}

/// Reads one message per line.
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
