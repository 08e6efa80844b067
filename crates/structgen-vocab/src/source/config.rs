//! The files next to a tokenizer's file: its class, and the tokens that its configuration adds or names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::VocabularyError;
use crate::file::{AddedToken, read_limited};

/// The contents of these files.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// `tokenizer_config.json`.
    tokenizer: Value,
    /// `special_tokens_map.json`.
    special: Value,
    /// `added_tokens.json`.
    added: Value,
    /// `model_type` of `config.json`.
    model_type: Option<String>,
}

/// Names of the fields with one special token each.
const TOKENS: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

impl Config {
    /// Reads the files next to this one. Missing ones count as empty.
    pub(super) fn beside(path: &Path) -> Result<Self, VocabularyError> {
        let read = |name| read(path, name);
        let model = read("config.json")?;
        Ok(Self {
            tokenizer: read("tokenizer_config.json")?,
            special: read("special_tokens_map.json")?,
            added: read("added_tokens.json")?,
            model_type: model
                .get("model_type")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }

    /// The class of the tokenizer, without the suffix of those that read a `tokenizer.json`.
    pub(super) fn class(&self) -> Option<&str> {
        let class = self.tokenizer.get("tokenizer_class")?.as_str()?;
        Some(class.strip_suffix("Fast").unwrap_or(class))
    }

    pub(super) fn model_type(&self) -> Option<&str> {
        self.model_type.as_deref()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.tokenizer.get(name)?.as_bool()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.tokenizer.get(name)?.as_u64()
    }

    /// The name of a special token, such as `bos_token`.
    pub(super) fn token(&self, name: &str) -> Option<&str> {
        let found = [&self.tokenizer, &self.special]
            .into_iter()
            .find_map(|file| file.get(name));
        found.and_then(content)
    }

    /// Whether the configuration lists its added tokens with their ids.
    pub(super) fn lists_added(&self) -> bool {
        self.tokenizer.get("added_tokens_decoder").is_some() || self.added.is_object()
    }

    /// The added tokens with their ids, and the model's tokens that the configuration names as special.
    pub(super) fn added_tokens(
        &self,
        id_of: impl Fn(&str) -> Option<u64>,
    ) -> Result<Vec<AddedToken>, VocabularyError> {
        let mut tokens: BTreeMap<u64, AddedToken> = BTreeMap::new();
        let named = { TOKENS.iter() }
            .filter_map(|name| self.token(name))
            .chain(self.additional());
        let named: BTreeSet<&str> = named.collect();
        if let Some(added) = self.added.as_object() {
            for (content, id) in added {
                let id = id
                    .as_u64()
                    .ok_or_else(|| wrong("/added_tokens.json", "an id is no number"))?;
                tokens.insert(id, plain(id, content, named.contains(&**content)));
            }
        }
        let listed = self
            .tokenizer
            .get("added_tokens_decoder")
            .and_then(Value::as_object);
        for (id, token) in listed.into_iter().flatten() {
            let pointer = "/added_tokens_decoder";
            let id = id
                .parse()
                .map_err(|_| wrong(pointer, "an id is no number"))?;
            let content = content(token).ok_or_else(|| wrong(pointer, "a token has no content"))?;
            let flag = |name: &str| token.get(name).and_then(Value::as_bool).unwrap_or(false);
            let token = AddedToken {
                id,
                content: content.to_owned(),
                single_word: flag("single_word"),
                lstrip: flag("lstrip"),
                rstrip: flag("rstrip"),
                normalized: flag("normalized"),
                special: flag("special"),
            };
            tokens.insert(id, token);
        }
        for name in named {
            let Some(id) = id_of(name) else {
                // Tokens without an id in the model.
                continue;
            };
            tokens
                .entry(id)
                .or_insert_with(|| plain(id, name, true))
                .special = true;
        }
        Ok(tokens.into_values().collect())
    }

    fn additional(&self) -> impl Iterator<Item = &str> {
        let files = [&self.tokenizer, &self.special].into_iter();
        let lists = files.filter_map(|file| file.get("additional_special_tokens")?.as_array());
        lists.flatten().filter_map(content)
    }
}

/// An added token that is matched exactly as it is.
pub(super) fn plain(id: u64, content: &str, special: bool) -> AddedToken {
    AddedToken {
        id,
        content: content.to_owned(),
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special,
    }
}

/// A token as a string, or as an object with its content.
fn content(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

fn wrong(pointer: &str, reason: &'static str) -> VocabularyError {
    VocabularyError::unsupported(pointer, "not a list of tokens", reason)
}

/// The contents of a JSON file next to another file; null if there is none.
fn read(path: &Path, name: &'static str) -> Result<Value, VocabularyError> {
    match read_limited(&path.with_file_name(name)) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|error| VocabularyError::configuration(name, &error)),
        Err(VocabularyError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    }
}
