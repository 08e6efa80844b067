//! Chat prompts of a model.

use std::fs;
use std::path::Path;

use serde_json::Value;
use structgen_chat::{ChatError, ChatMessage, ChatOptions, ChatPrompt, ChatTemplate};
use structgen_vocab::TokenId;

use crate::prompt::read;
use crate::{Error, Model, Result};

/// The most templates of one folder.
const MAX_TEMPLATES: usize = 64;

/// The chat templates of a model folder; why there are none is reported when one is asked for.
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

/// The templates in files of their own, by name.
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
    /// The model's chat templates.
    ///
    /// # Errors
    /// [`Error::Chat`] when the model has none, or its files cannot be used.
    pub fn chat_template(&self) -> Result<&ChatTemplate> {
        Ok(self.chat().as_ref().map_err(Clone::clone)?)
    }

    /// The prompt of a conversation, through the model's chat template: the tokens that `apply_chat_template` of
    /// transformers returns for the same conversation, unless its texts have names of special tokens in them. Those stay
    /// text: neither messages nor tools nor documents are trusted.
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
    /// [`Error::Chat`] when the model has no template, or the template fails; [`Error::Tokenizer`] when the tokenizer lacks
    /// a character.
    pub fn encode_chat(
        &self,
        messages: &[ChatMessage],
        options: &ChatOptions,
    ) -> Result<Vec<TokenId>> {
        self.encode_rendered(&self.chat_template()?.render(messages, options)?)
    }

    /// The prompt of a conversation of one turn, as [`encode_chat`](Self::encode_chat).
    ///
    /// # Errors
    /// As [`encode_chat`](Self::encode_chat), and [`Error::TemplateDropsText`].
    pub fn chat_prompt(&self, system: Option<&str>, text: &str) -> Result<Vec<TokenId>> {
        let system = system.map(ChatMessage::system);
        let messages: Vec<_> = system
            .into_iter()
            .chain([ChatMessage::user(text)])
            .collect();
        self.encode_whole(&messages)
    }

    /// Encodes messages whose contents are texts that all have to be in the prompt.
    pub(crate) fn encode_whole(&self, messages: &[ChatMessage]) -> Result<Vec<TokenId>> {
        let prompt = self
            .chat_template()?
            .render(messages, &ChatOptions::default())?;
        for message in messages {
            let content = message.fields().get("content").and_then(Value::as_str);
            // Most templates trim.
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
