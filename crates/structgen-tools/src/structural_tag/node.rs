//! A JSON value with its location, read field by field.

use serde_json::{Map, Value};
use structgen_grammar::TokenTerminal;

use super::StructuralTagError;

/// A value of the document.
#[derive(Clone)]
pub(super) struct Node<'v> {
    pub(super) value: &'v Value,
    /// A JSON Pointer.
    pub(super) pointer: String,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v Value) -> Self {
        Self {
            value,
            pointer: "#".to_owned(),
        }
    }

    pub(super) fn expected(&self, expected: impl Into<String>) -> StructuralTagError {
        StructuralTagError::Expected {
            pointer: self.pointer.clone(),
            expected: expected.into(),
        }
    }

    pub(super) fn unsupported(&self, reason: impl Into<String>) -> StructuralTagError {
        StructuralTagError::Unsupported {
            pointer: self.pointer.clone(),
            reason: reason.into(),
        }
    }

    pub(super) fn text(&self) -> Result<&'v str, StructuralTagError> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    /// A text that must not be empty.
    pub(super) fn some_text(&self) -> Result<&'v str, StructuralTagError> {
        let text = self.text()?;
        match text.is_empty() {
            true => Err(self.expected("a text that is not empty")),
            false => Ok(text),
        }
    }

    pub(super) fn flag(&self) -> Result<bool, StructuralTagError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.expected("true or false"))
    }

    pub(super) fn count(&self) -> Result<u32, StructuralTagError> {
        let count = self.value.as_u64().and_then(|it| u32::try_from(it).ok());
        count.ok_or_else(|| self.expected("a count"))
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, StructuralTagError> {
        let items = self.value.as_array();
        let items = items.ok_or_else(|| self.expected("a list"))?;
        let item = |(index, value)| Self {
            value,
            pointer: format!("{}/{index}", self.pointer),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn texts(&self) -> Result<Vec<&'v str>, StructuralTagError> {
        self.list()?.iter().map(Self::some_text).collect()
    }

    /// A token, by its name or its id.
    pub(super) fn token(&self) -> Result<TokenTerminal, StructuralTagError> {
        match self.value {
            Value::String(name) if !name.is_empty() => Ok(TokenTerminal::Name(name.clone())),
            _ => match self.count() {
                Ok(id) => Ok(TokenTerminal::Id(id)),
                Err(_) => Err(self.expected("the name or the id of a token")),
            },
        }
    }

    /// The fields of an object; fields other than `known` are errors.
    pub(super) fn fields(&self, known: &[&'static str]) -> Result<Fields<'v>, StructuralTagError> {
        let object = self.value.as_object();
        let object = object.ok_or_else(|| self.expected("an object"))?;
        if let Some(unknown) = object.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(StructuralTagError::UnknownField {
                pointer: child(&self.pointer, unknown),
                known: known.to_vec(),
            });
        }
        Ok(Fields {
            object,
            pointer: self.pointer.clone(),
        })
    }
}

/// The fields of an object.
pub(super) struct Fields<'v> {
    object: &'v Map<String, Value>,
    pointer: String,
}

impl<'v> Fields<'v> {
    /// A field that may be missing or null.
    pub(super) fn optional(&self, name: &str) -> Option<Node<'v>> {
        let value = self.object.get(name).filter(|value| !value.is_null())?;
        Some(Node {
            value,
            pointer: child(&self.pointer, name),
        })
    }

    pub(super) fn required(&self, name: &str) -> Result<Node<'v>, StructuralTagError> {
        self.optional(name)
            .ok_or_else(|| StructuralTagError::Expected {
                pointer: self.pointer.clone(),
                expected: format!("a field `{name}`"),
            })
    }

    /// A flag, `false` if missing.
    pub(super) fn flag(&self, name: &str) -> Result<bool, StructuralTagError> {
        self.optional(name).map_or(Ok(false), |node| node.flag())
    }

    /// A list of texts, empty if missing.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'v str>, StructuralTagError> {
        let texts = self.optional(name).map(|node| node.texts());
        texts.unwrap_or_else(|| Ok(Vec::new()))
    }
}

fn child(pointer: &str, key: &str) -> String {
    let key = key.replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{key}")
}
