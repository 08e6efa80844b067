//! JSON values, compared by value, and all texts of a value.

mod texts;
mod written;

pub(crate) use texts::ValueText;

use structgen_grammar::Decimal;

use crate::LimitExceeded;

/// A JSON value. Equality ignores how it was written: numbers are exact, members are sorted by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Decimal),
    String(Box<str>),
    Array(Box<[Value]>),
    Object(Box<[(Box<str>, Value)]>),
}

/// The maximum nesting of a value, since functions on values recurse.
pub(crate) const MAX_COMPARED_DEPTH: u32 = 128;

impl Value {
    /// Reads the text of one value, which a machine has accepted.
    ///
    /// # Errors
    /// If it nests too deep.
    pub(crate) fn read(text: &[u8]) -> Result<Self, LimitExceeded> {
        Reader(text).value(0)
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Null | Self::Bool(_) | Self::Number(_) => 0,
                Self::String(text) => text.len(),
                Self::Array(items) => items.iter().map(Self::memory).sum(),
                Self::Object(members) => {
                    let sizes = members
                        .iter()
                        .map(|(key, value)| size_of::<Box<str>>() + key.len() + value.memory());
                    sizes.sum()
                }
            }
    }
}

/// The rest of a text that is known to be JSON.
struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.0.first().copied().unwrap_or(b']')
    }

    fn skip_space(&mut self) {
        while matches!(self.0.first(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.0 = &self.0[1..];
        }
    }

    /// Returns the next byte that is not whitespace.
    fn next(&mut self) -> u8 {
        self.skip_space();
        let byte = self.peek();
        self.0 = self.0.get(1..).unwrap_or_default();
        byte
    }

    fn value(&mut self, depth: u32) -> Result<Value, LimitExceeded> {
        if depth > MAX_COMPARED_DEPTH {
            return Err(LimitExceeded {
                what: "levels of nesting in an item that is compared",
                limit: MAX_COMPARED_DEPTH.into(),
            });
        }
        self.skip_space();
        Ok(match self.peek() {
            b'"' => Value::String(self.string()),
            b'{' => {
                self.next();
                let mut members = Vec::new();
                loop {
                    self.skip_space();
                    if self.peek() != b'"' {
                        // A brace: the object is empty.
                        self.next();
                        break;
                    }
                    let key = self.string();
                    self.next();
                    members.push((key, self.value(depth + 1)?));
                    if self.next() != b',' {
                        break;
                    }
                }
                members.sort();
                Value::Object(members.into())
            }
            b'[' => {
                self.next();
                let mut items = Vec::new();
                self.skip_space();
                if self.peek() == b']' {
                    self.next();
                    return Ok(Value::Array(items.into()));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if self.next() != b',' {
                        break;
                    }
                }
                Value::Array(items.into())
            }
            _ => self.word(),
        })
    }

    fn string(&mut self) -> Box<str> {
        let mut end = 1;
        while self.0.get(end).is_some_and(|&byte| byte != b'"') {
            end += if self.0[end] == b'\\' { 2 } else { 1 };
        }
        let (text, rest) = self.0.split_at((end + 1).min(self.0.len()));
        self.0 = rest;
        serde_json::from_slice(text).unwrap_or_default()
    }

    fn word(&mut self) -> Value {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.0.iter().take_while(is_part).count();
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        match word {
            b"true" => Value::Bool(true),
            b"false" => Value::Bool(false),
            b"null" => Value::Null,
            number => {
                let text = std::str::from_utf8(number).unwrap_or_default();
                text.parse().map_or(Value::Null, Value::Number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        Value::read(text.as_bytes()).expect("not deep")
    }

    #[test]
    fn equal_values_are_equal_however_they_are_written() {
        let written = r#" { "a" : [ 1.0 , true, {} ,[ ] ] , "\u0062": "\"\\" } "#;
        assert_eq!(
            read(written),
            read(r#"{"b":"\u0022\\","a":[10e-1,true,{},[]]}"#)
        );
        assert_ne!(read("[1,2]"), read("[2,1]"));
        assert_ne!(read("null"), read("0"));
        assert_eq!(read("-0"), read("0.0e5"));
    }

    #[test]
    fn depth_is_limited() {
        assert!(Value::read("[".repeat(100_000).as_bytes()).is_err());
    }
}
