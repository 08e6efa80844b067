//! A JSON value with its location, read field by field.

use structgen_grammar::TokenTerminal;
use structgen_grammar::json_pointer::escaped;

use super::StructuralTagError;
use super::value::TagValue;

/// A value of the document.
#[derive(Clone)]
pub(super) struct Node<'v> {
    pub(super) value: &'v TagValue<'v>,
    /// A JSON Pointer.
    pub(super) pointer: String,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v TagValue<'v>) -> Self {
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
        self.value.text().ok_or_else(|| self.expected("a text"))
    }

    /// The text of its field `type`, if it is an object that has one.
    pub(super) fn kind(&self) -> Option<&'v str> {
        match self.value {
            TagValue::Object(entries) => field(entries, "type")?.text(),
            _ => None,
        }
    }

    /// The JSON text of a schema.
    pub(super) fn schema(&self) -> Result<&'v str, StructuralTagError> {
        match *self.value {
            TagValue::Schema(text) => Ok(text),
            _ => Err(self.expected("a JSON Schema")),
        }
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
        match *self.value {
            TagValue::Flag(flag) => Ok(flag),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(super) fn count(&self) -> Result<u32, StructuralTagError> {
        match *self.value {
            TagValue::Number(Some(number)) => u32::try_from(number).ok(),
            _ => None,
        }
        .ok_or_else(|| self.expected("a count"))
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, StructuralTagError> {
        let TagValue::List(items) = self.value else {
            return Err(self.expected("a list"));
        };
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
            TagValue::Text(name) if !name.is_empty() => Ok(TokenTerminal::Name(name.clone())),
            _ => match self.count() {
                Ok(id) => Ok(TokenTerminal::Id(id)),
                Err(_) => Err(self.expected("the name or the id of a token")),
            },
        }
    }

    /// The fields of an object; fields other than `known` are errors.
    pub(super) fn fields(&self, known: &[&'static str]) -> Result<Fields<'v>, StructuralTagError> {
        let TagValue::Object(entries) = self.value else {
            return Err(self.expected("an object"));
        };
        let mut keys = entries.iter().map(|(key, _)| key.as_str());
        if let Some(unknown) = keys.find(|key| !known.contains(key)) {
            return Err(StructuralTagError::UnknownField {
                pointer: child(&self.pointer, unknown),
                known: known.to_vec(),
            });
        }
        Ok(Fields {
            entries,
            pointer: self.pointer.clone(),
        })
    }
}

/// The fields of an object.
pub(super) struct Fields<'v> {
    entries: &'v [(String, TagValue<'v>)],
    pointer: String,
}

impl<'v> Fields<'v> {
    /// A field that may be missing or null.
    pub(super) fn optional(&self, name: &str) -> Option<Node<'v>> {
        let value = field(self.entries, name).filter(|value| !value.is_null())?;
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

fn field<'v>(entries: &'v [(String, TagValue<'v>)], name: &str) -> Option<&'v TagValue<'v>> {
    let (_, value) = entries.iter().find(|(key, _)| key == name)?;
    Some(value)
}

fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escaped(key))
}
