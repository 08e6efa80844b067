//! Chat prompts of a model.

use std::fs;
use std::path::Path;

use serde_json::Value;
use structgen_chat::{ChatError, ChatMessage, ChatOptions, ChatPrompt, ChatTemplate};
use structgen_vocab::TokenId;

use crate::prompt::read;
use crate::{Error, Model, Result};

/// Maximum number of templates in a folder.
const MAX_TEMPLATES: usize = 64;

/// Reads the chat templates of a model folder. The reason why there are none is reported when one is requested.
pub(crate) fn chat_template(
    folder: &Path,
    tokenizer_config: &str,
) -> Result<std::result::Result<ChatTemplate, ChatError>> {
    let sources = sources(folder)?;
    let map = read(&folder.join("special_tokens_map.json"))?;
    let template = match sources {
        Ok(sources) => ChatTemplate::from_sources(sources, tokenizer_config),
        Err(error) => Err(error),
    };
    Ok(match map {
        Some(map) => template.and_then(|template| template.with_special_tokens_map(&map)),
        None => template,
    })
}

/// Reads the templates in files of their own, by name.
fn sources(folder: &Path) -> Result<std::result::Result<Vec<(String, String)>, ChatError>> {
    let mut sources = Vec::new();
    if let Some(source) = read(&folder.join("chat_template.jinja"))? {
        sources.push(("default".to_owned(), source));
    } else if let Some(json) = read(&folder.join("chat_template.json"))? {
        let parsed: serde_json::Result<Value> = serde_json::from_str(&json);
        let problem = match parsed {
            Ok(value) => match value.get("chat_template").and_then(Value::as_str) {
                Some(source) => {
                    sources.push(("default".to_owned(), source.to_owned()));
                    None
                }
                None => Some("there is no string chat_template in it".to_owned()),
            },
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            let file = "chat_template.json";
            return Ok(Err(ChatError::Config { file, problem }));
        }
    }
    let Ok(entries) = fs::read_dir(folder.join("additional_chat_templates")) else {
        return Ok(Ok(sources));
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = { paths }
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jinja")
        })
        .take(MAX_TEMPLATES)
        .collect();
    paths.sort();
    for path in paths {
        if let (Some(name), Some(source)) = (
            path.file_stem().and_then(|stem| stem.to_str()),
            read(&path)?,
        ) {
            sources.push((name.to_owned(), source));
        }
    }
    Ok(Ok(sources))
}

impl Model {
    /// Returns the model's chat templates.
    ///
    /// # Errors
    /// [`Error::Chat`] if the model has none, or its files are invalid.
    pub fn chat_template(&self) -> Result<&ChatTemplate> {
        Ok(self.chat().as_ref().map_err(Clone::clone)?)
    }

    /// Encodes a conversation with the model's chat template. The tokens are those that `apply_chat_template` of
    /// transformers returns for the same conversation, except that names of special tokens in messages, tools and
    /// documents are encoded as text, since these are not trusted.
    ///
    /// ```no_run
    /// use structgen::chat::{ChatMessage, ChatOptions};
    /// use structgen::{Model, ModelOptions};
    ///
    /// let model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let conversation = [
    ///     ChatMessage::system("Be brief."),
    ///     ChatMessage::user("What is the capital of France?"),
    /// ];
    /// let prompt = model.encode_chat(&conversation, &ChatOptions::default())?;
    /// # let _ = prompt;
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Chat`] if the model has no template, or the template fails; [`Error::Tokenizer`] if the tokenizer lacks
    /// a character.
    pub fn encode_chat(
        &self,
        messages: &[ChatMessage],
        options: &ChatOptions,
    ) -> Result<Vec<TokenId>> {
        self.encode_rendered(&self.chat_template()?.render(messages, options)?)
    }

    /// Encodes a conversation of one turn, like [`encode_chat`](Self::encode_chat).
    ///
    /// # Errors
    /// As for [`encode_chat`](Self::encode_chat), and [`Error::TemplateDropsText`].
    pub fn chat_prompt(&self, system: Option<&str>, text: &str) -> Result<Vec<TokenId>> {
        let system = system.map(ChatMessage::system);
        let messages: Vec<_> = system
            .into_iter()
            .chain([ChatMessage::user(text)])
            .collect();
        self.encode_whole(&messages)
    }

    /// Encodes messages, all of whose contents must be in the prompt.
    pub(crate) fn encode_whole(&self, messages: &[ChatMessage]) -> Result<Vec<TokenId>> {
        let prompt = self
            .chat_template()?
            .render(messages, &ChatOptions::default())?;
        for message in messages {
            let content = message.fields().get("content").and_then(Value::as_str);
            // Most templates trim the text.
            if content.is_some_and(|content| !prompt.text().contains(content.trim())) {
                return Err(Error::TemplateDropsText);
            }
        }
        self.encode_rendered(&prompt)
    }

    fn encode_rendered(&self, prompt: &ChatPrompt) -> Result<Vec<TokenId>> {
        Ok(self
            .tokenizer()
            .encode_mixed(prompt.text(), prompt.trusted())?)
    }
}
