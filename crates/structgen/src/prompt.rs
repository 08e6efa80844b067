//! The prompt of an extraction.

use std::path::Path;

use serde_json::Value;
use structgen_chat::{ChatError, ChatMessage};
use structgen_frontend::json_schema::{SchemaOptions, Source};
use structgen_grammar::Whitespace;
use structgen_ort::read_config;
use structgen_vocab::{TokenId, Vocabulary};

use crate::notation::PROMPT_VERSION;
use crate::{Error, Model, Result, compact_notation};

/// The special tokens of the embedded model's prompt: `<schema>NOTATION<text>TEXT<json>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotationTokens {
    schema: TokenId,
    text: TokenId,
    json: TokenId,
}

const INSTRUCTION: &str = "Extract from the text what the JSON Schema asks for. Answer with one JSON value that fits the \
     schema and with nothing else. Use only what the text says.";

impl NotationTokens {
    /// Returns the tokens if the vocabulary has all of them: then the model was trained like the embedded one, on the
    /// version of the prompt that its `tokenizer_config.json` names.
    pub(crate) fn of(vocabulary: &Vocabulary, tokenizer_config: &str) -> Result<Option<Self>> {
        let names = ["<schema>", "<text>", "<json>"];
        let [Some(schema), Some(text), Some(json)] =
            names.map(|name| vocabulary.special_token(name))
        else {
            return Ok(None);
        };
        let config = serde_json::from_str(tokenizer_config).unwrap_or(Value::Null);
        match config.get("structgen_prompt").and_then(Value::as_u64) {
            Some(PROMPT_VERSION) => Ok(Some(Self { schema, text, json })),
            found => Err(Error::PromptVersion {
                found: found.unwrap_or(1),
                written: PROMPT_VERSION,
            }),
        }
    }
}

/// Reads a model folder's `tokenizer_config.json`.
pub(crate) fn tokenizer_config(folder: &Path) -> Result<String> {
    Ok(read(&folder.join("tokenizer_config.json"))?.unwrap_or_else(|| "{}".to_owned()))
}

/// Reads a file of a model folder; returns `None` if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    Ok(read_config(path)?)
}

impl Model {
    /// Returns the options with which an extractor compiles a schema for this model: the given ones, completed by what
    /// suits the model.
    ///
    /// - A model with the prompt of the embedded one generates no whitespace, whatever the options: it was trained to,
    ///   and every choice it need not make saves a run of the model. The requested whitespace is [added
    ///   afterwards](crate::SchemaExtractor::with_whitespace).
    /// - The embedded model's values come from the text ([`Source::Input`]), unless the options set a source or the
    ///   schema names one at its root. A node below the root that names a source always keeps it.
    /// - Other models may generate any values.
    #[must_use]
    pub fn extraction_options(&self, schema: &Value, options: &SchemaOptions) -> SchemaOptions {
        let mut options = options.clone();
        if self.notation().is_some() {
            options.whitespace = Some(Whitespace::Compact);
        }
        let is_named = options.sets_source() || schema.pointer("/x-structgen/source").is_some();
        match self.is_embedded() && !is_named {
            true => options.with_source(Source::Input),
            false => options,
        }
    }

    /// Returns the prompt for an extraction: in the embedded model's notation, through the model's chat template, or as
    /// plain text if the model has neither.
    ///
    /// Schema and text are not trusted: names of special tokens in them are encoded as text.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] if the tokenizer lacks a character, [`Error::Chat`] if the template fails.
    pub fn extraction_prompt(&self, schema: &Value, text: &str) -> Result<Vec<TokenId>> {
        if let Some(special) = self.notation() {
            let mut tokens = vec![special.schema];
            tokens.extend(self.tokenizer().encode(&compact_notation(schema))?);
            tokens.push(special.text);
            tokens.extend(self.tokenizer().encode(text)?);
            tokens.push(special.json);
            return Ok(tokens);
        }
        let request = format!("{INSTRUCTION}\n\nJSON Schema:\n{schema}\n\nText:\n{text}");
        match self.chat() {
            Ok(_) => self.encode_whole(&[ChatMessage::user(request)]),
            Err(ChatError::NoTemplate) => {
                // The tokenizer's start tokens.
                let mut tokens = self.encode_prompt("")?;
                tokens.extend(self.tokenizer().encode(&format!("{request}\n\nJSON:\n"))?);
                Ok(tokens)
            }
            Err(error) => Err(error.clone().into()),
        }
    }

    /// Describes in words how [`extraction_prompt`](Model::extraction_prompt) asks.
    #[must_use]
    pub fn prompt_style(&self) -> &'static str {
        match (self.notation(), self.chat()) {
            (Some(_), _) => "the compact notation of the embedded model",
            (None, Ok(_)) => "the model's chat template",
            (None, Err(ChatError::NoTemplate)) => "plain text: the model has no chat template",
            (None, Err(_)) => "none: the model's chat template cannot be used",
        }
    }
}
