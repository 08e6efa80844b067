//! JSON objects that are read field by field.

use std::borrow::Cow;

use serde_json::Value;
use structgen_vocab::TokenId;

use crate::LoadError;

/// A JSON object of one of the files, read field by field with errors that name file and field.
pub(super) struct Fields<'v> {
    pub(super) file: &'static str,
    pub(super) value: Cow<'v, Value>,
}

impl<'v> Fields<'v> {
    pub(super) fn parse(file: &'static str, text: &str) -> Result<Self, LoadError> {
        let value: Value = serde_json::from_str(text).map_err(|error| LoadError::Config {
            file,
            problem: error.to_string(),
        })?;
        if !value.is_object() {
            return Err(LoadError::Config {
                file,
                problem: "it is no JSON object".into(),
            });
        }
        Ok(Self {
            file,
            value: Cow::Owned(value),
        })
    }

    pub(super) fn wrong(&self, name: &str, wanted: &str, value: &Value) -> LoadError {
        let mut shown = value.to_string();
        if shown.len() > 60 {
            shown = "something else".into();
        }
        LoadError::Config {
            file: self.file,
            problem: format!("{name} must be {wanted}, and is {shown}"),
        }
    }

    pub(super) fn missing(&self, name: &str) -> LoadError {
        LoadError::Config {
            file: self.file,
            problem: format!("{name} is missing"),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, LoadError> {
        // Nothing real has more positions, heads or logits; larger numbers would overflow what is computed of them.
        const LARGEST: u64 = 1 << 31;
        self.get(name)
            .map(|value| {
                let number = value.as_u64().filter(|&n| 0 < n && n <= LARGEST);
                number
                    .map(|n| n as usize)
                    .ok_or_else(|| self.wrong(name, "a number from 1 to 2147483648", value))
            })
            .transpose()
    }

    pub(super) fn ids(&self, name: &str) -> Result<Vec<TokenId>, LoadError> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let id = |item: &Value| {
            item.as_u64()
                .and_then(|n| u32::try_from(n).ok())
                .map(TokenId)
        };
        let ids: Option<Vec<TokenId>> = items.iter().map(id).collect();
        ids.ok_or_else(|| self.wrong(name, "a token id or a list of them", value))
    }

    pub(super) fn string(&self, name: &str) -> Result<Option<String>, LoadError> {
        self.get(name)
            .map(|value| {
                let text = value.as_str().map(str::to_owned);
                text.ok_or_else(|| self.wrong(name, "a string", value))
            })
            .transpose()
    }

    pub(super) fn required_string(&self, name: &str) -> Result<String, LoadError> {
        self.string(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, LoadError> {
        self.get(name)
            .map(|value| {
                let flag = value.as_bool();
                flag.ok_or_else(|| self.wrong(name, "true or false", value))
            })
            .transpose()
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'_>>, LoadError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.is_object() => Ok(Some(Fields {
                file: self.file,
                value: Cow::Borrowed(value),
            })),
            Some(value) => Err(self.wrong(name, "an object", value)),
        }
    }

    pub(super) fn required_object(&self, name: &str) -> Result<Fields<'_>, LoadError> {
        self.object(name)?.ok_or_else(|| self.missing(name))
    }
}
