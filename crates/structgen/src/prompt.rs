//! The prompt of an extraction, and chat prompts.

use std::path::Path;

use serde_json::Value;
use structgen_decode::{
    ChatTemplate,
    chat::{ChatError, ChatMessage, ChatOptions},
};
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

/// Stand for untrusted texts while a chat template is rendered; private characters, which no template has.
const SCHEMA_MARK: &str = "\u{F8FF}schema\u{F8FF}";
const TEXT_MARK: &str = "\u{F8FF}text\u{F8FF}";

impl NotationTokens {
    /// The tokens, if the vocabulary has all of them: then the model was trained like the embedded one, on the version of the
    /// prompt that its `tokenizer_config.json` names.
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

/// The text of a model folder's `tokenizer_config.json`.
pub(crate) fn tokenizer_config(folder: &Path) -> Result<String> {
    Ok(read(&folder.join("tokenizer_config.json"))?.unwrap_or_else(|| "{}".to_owned()))
}

/// The chat template of a model folder; why there is none is reported when one is asked for.
pub(crate) fn chat_template(
    folder: &Path,
    tokenizer_config: &str,
) -> Result<Result<ChatTemplate, ChatError>> {
    Ok(match read(&folder.join("chat_template.jinja"))? {
        Some(source) => ChatTemplate::from_source(&source, tokenizer_config),
        None => ChatTemplate::from_tokenizer_config(tokenizer_config, None),
    })
}

/// The text of a file of a model folder, none if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    Ok(read_config(path)?)
}

impl Model {
    /// The options with which an extractor compiles a schema for this model: the given ones, and where they leave it open,
    /// what suits the model.
    ///
    /// - A model with the prompt of the embedded one writes no whitespace, whatever the options want: it was trained to, and
    ///   every choice less is a run of the model less. What is wanted is
    ///   [written afterwards](crate::SchemaExtractor::with_whitespace).
    /// - What the embedded model itself writes comes from the text ([`Source::Input`]), unless the options set a source or
    ///   the schema names one at its root. A node below the root that names a source keeps it in any case.
    /// - Other models are free to write what they like.
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

    /// The prompt that asks for an extraction: in the embedded model's notation, through the model's chat template, or as
    /// plain text where the model has neither.
    ///
    /// Schema and text are not trusted: names of special tokens in them stay text.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the tokenizer lacks a character, [`Error::Chat`] when the template fails.
    pub fn extraction_prompt(&self, schema: &Value, text: &str) -> Result<Vec<TokenId>> {
        if let Some(special) = self.notation() {
            let mut tokens = vec![special.schema];
            tokens.extend(self.tokenizer().encode(&compact_notation(schema))?);
            tokens.push(special.text);
            tokens.extend(self.tokenizer().encode(text)?);
            tokens.push(special.json);
            return Ok(tokens);
        }
        let schema = schema.to_string();
        let marks = [(SCHEMA_MARK, schema.as_str()), (TEXT_MARK, text)];
        let request = format!("{INSTRUCTION}\n\nJSON Schema:\n{SCHEMA_MARK}\n\nText:\n{TEXT_MARK}");
        match self.chat() {
            Ok(template) => {
                let rendered =
                    template.render(&[ChatMessage::user(request)], &ChatOptions::default())?;
                self.encode_marked(&rendered, &marks)
            }
            Err(ChatError::NoTemplate) => {
                // What the tokenizer puts before a text, such as its start token.
                let mut tokens = self.encode_prompt("")?;
                tokens.extend(self.encode_marked(&format!("{request}\n\nJSON:\n"), &marks)?);
                Ok(tokens)
            }
            Err(error) => Err(error.clone().into()),
        }
    }

    /// The prompt of a conversation of one turn, through the model's chat template. System message and text are not trusted:
    /// names of special tokens in them stay text.
    ///
    /// # Errors
    /// [`Error::Chat`] when the model has no template, or the template fails.
    pub fn chat_prompt(&self, system: Option<&str>, text: &str) -> Result<Vec<TokenId>> {
        let template = self.chat().as_ref().map_err(Clone::clone)?;
        let mut messages = Vec::new();
        let mut marks = Vec::new();
        if let Some(system) = system {
            messages.push(ChatMessage::system(SCHEMA_MARK));
            marks.push((SCHEMA_MARK, system));
        }
        messages.push(ChatMessage::user(TEXT_MARK));
        marks.push((TEXT_MARK, text));
        let rendered = template.render(&messages, &ChatOptions::default())?;
        self.encode_marked(&rendered, &marks)
    }

    /// How [`extraction_prompt`](Model::extraction_prompt) asks, in words.
    #[must_use]
    pub fn prompt_style(&self) -> &'static str {
        match (self.notation(), self.chat()) {
            (Some(_), _) => "the compact notation of the embedded model",
            (None, Ok(_)) => "the model's chat template",
            (None, Err(ChatError::NoTemplate)) => "plain text: the model has no chat template",
            (None, Err(_)) => "none: the model's chat template cannot be used",
        }
    }

    /// Encodes a trusted text with untrusted ones in the places of their marks.
    fn encode_marked(&self, text: &str, marks: &[(&'static str, &str)]) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::new();
        let mut rest = text;
        let mut placed = vec![false; marks.len()];
        loop {
            let next = marks
                .iter()
                .enumerate()
                .filter_map(|(i, (mark, _))| Some((rest.find(mark)?, i)));
            let Some((at, i)) = next.min() else { break };
            let (mark, untrusted) = marks[i];
            tokens.extend(self.tokenizer().encode_prompt(&rest[..at], false)?);
            tokens.extend(self.tokenizer().encode(untrusted)?);
            placed[i] = true;
            rest = &rest[at + mark.len()..];
        }
        if placed.contains(&false) {
            return Err(Error::TemplateDropsText);
        }
        tokens.extend(self.tokenizer().encode_prompt(rest, false)?);
        Ok(tokens)
    }
}
