//! Options of chat prompts.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use structgen::Model;
use structgen::chat::{ChatMessage, ChatOptions, last_user_text};
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
}

/// How a chat template is rendered: the parameters `chat.`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChatSettings {
    /// A file with a JSON array of objects.
    documents: Option<PathBuf>,
    template: Option<String>,
    variables: Map<String, Value>,
    generation_prompt: bool,
    continue_final_message: bool,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            documents: None,
            template: None,
            variables: Map::new(),
            generation_prompt: true,
            continue_final_message: false,
        }
    }
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

    /// Returns whether there is a system message, which only a chat template reads.
    pub(crate) fn has_system(&self) -> bool {
        self.system.is_some()
    }

    /// Returns whether the prompt is a conversation in a file.
    pub(crate) fn has_messages(&self) -> bool {
        self.messages.is_some()
    }

    /// Reads the prompt. `tools` are passed to the chat template.
    pub(crate) fn read(
        &self,
        text: &TextArgs,
        settings: &ChatSettings,
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
        let is_continued = settings.continue_final_message;
        let options = ChatOptions {
            add_generation_prompt: settings.generation_prompt && !is_continued,
            continue_final_message: is_continued,
            template: settings.template.clone(),
            tools: tools.map(ToolsFile::for_template),
            documents: settings.documents.as_deref().map(read_list).transpose()?,
            variables: settings.variables.clone(),
            ..ChatOptions::default()
        };
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
        last_user_text(messages)
            .context("the conversation has no message of a user with a text to extract from")
    }

    pub(crate) fn encode(&self, model: &Model) -> structgen::Result<Vec<TokenId>> {
        match self {
            Self::Text(text) => model.encode_prompt(text),
            Self::Chat(messages, options) => model.encode_chat(messages, options),
        }
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
