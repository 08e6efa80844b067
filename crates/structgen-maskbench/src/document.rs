//! JSON as Python's `json.dumps(data, ensure_ascii=False)` writes what `json.loads` reads.

use std::fmt::{self, Write};

/// The depth at which serde_json stops. It does not enter a `RawValue`, which may have any.
const DEPTH: usize = 128;

/// A JSON value with its scalars as Python writes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Document {
    Scalar(String),
    Array(Vec<Document>),
    Object(Vec<(String, Document)>),
}

impl Document {
    /// Reads JSON that is known to be well-formed; `None` where a string is not text, or where it is nested [`DEPTH`]
    /// levels deep.
    pub(crate) fn parse(json: &str) -> Option<Self> {
        let mut reader = Reader {
            rest: json,
            depth: 0,
        };
        let document = reader.value()?;
        reader.rest.trim_start().is_empty().then_some(document)
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(text) => f.write_str(text),
            Self::Array(items) => {
                f.write_char('[')?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
                }
                f.write_char(']')
            }
            Self::Object(members) => {
                f.write_char('{')?;
                for (at, (key, value)) in members.iter().enumerate() {
                    let separator = if at == 0 { "" } else { ", " };
                    write!(f, "{separator}{}: {value}", python_string(key))?;
                }
                f.write_char('}')
            }
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    /// The number of arrays and objects that are open.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Option<Document> {
        self.rest = self.rest.trim_start();
        match self.rest.as_bytes().first()? {
            b'{' => {
                let mut members: Vec<(String, Document)> = Vec::new();
                self.items(b'}', |reader| {
                    let key = reader.string()?;
                    reader.eat(b':')?;
                    let value = reader.value()?;
                    // A dictionary keeps the first place and the last value of a key.
                    match members.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, known)) => *known = value,
                        None => members.push((key, value)),
                    }
                    Some(())
                })?;
                Some(Document::Object(members))
            }
            b'[' => {
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value()?);
                    Some(())
                })?;
                Some(Document::Array(items))
            }
            b'"' => Some(Document::Scalar(python_string(&self.string()?))),
            _ => {
                let end = self
                    .rest
                    .find(|c: char| ",]}".contains(c) || c.is_ascii_whitespace());
                let token = self.take(end.unwrap_or(self.rest.len()));
                Some(Document::Scalar(match token {
                    "true" | "false" | "null" => token.to_owned(),
                    number => python_number(number)?,
                }))
            }
        }
    }

    fn items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(1);
        self.depth += 1;
        if self.depth == DEPTH {
            return None;
        }
        if self.eat(close).is_none() {
            item(self)?;
            while self.eat(close).is_none() {
                self.eat(b',')?;
                item(self)?;
            }
        }
        self.depth -= 1;
        Some(())
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        let rest = self.rest.trim_start();
        if rest.as_bytes().first() != Some(&byte) {
            return None;
        }
        self.rest = &rest[1..];
        Some(())
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }

    fn string(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let bytes = self.rest.as_bytes();
        let mut end = 1;
        while *bytes.get(end)? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        serde_json::from_str(self.take(end + 1)).ok()
    }
}

fn python_string(text: &str) -> String {
    // serde_json escapes what Python escapes, and in the same way.
    serde_json::Value::from(text).to_string()
}

/// An integer of any size as it is, everything else as `repr` of a float.
fn python_number(number: &str) -> Option<String> {
    if !number.contains(['.', 'e', 'E']) {
        return Some(if number == "-0" {
            "0".to_owned()
        } else {
            number.to_owned()
        });
    }
    let value: f64 = number.parse().ok()?;
    if !value.is_finite() {
        return Some(if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned());
    }
    // Rust writes the shortest digits, as `repr` does; the exponent says where the point goes.
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        return Some(if plain.contains('.') {
            plain
        } else {
            format!("{plain}.0")
        });
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    Some(format!("{mantissa}e{sign}{:02}", exponent.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_as_deep_as_serde_json_reads_them() {
        let array = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let object = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        for text in [array(127), object(127), format!("[{0},{0}]", array(126))] {
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
            assert!(Document::parse(&text).is_some(), "{text}");
        }
        for text in [array(128), object(128), array(100_000), object(100_000)] {
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
            assert!(Document::parse(&text).is_none());
        }
    }

    #[test]
    fn documents_are_written_as_python_writes_them() {
        let check = |json: &str, expected: &str| {
            assert_eq!(Document::parse(json).unwrap().to_string(), expected);
        };
        check(
            "{\"a\" : [1,2 ,{}],\n\"b\":[ ],\"c\": null}",
            r#"{"a": [1, 2, {}], "b": [], "c": null}"#,
        );
        check(
            r#""\u00e9\/\u0001\u007f\n\"""#,
            "\"é/\\u0001\u{7f}\\n\\\"\"",
        );
        check(r#"{"a": 1, "b": 2, "a": 3}"#, r#"{"a": 3, "b": 2}"#);
        check(
            "[-0, -0.0, 1e2, 123456789012345678901234567890]",
            "[0, -0.0, 100.0, 123456789012345678901234567890]",
        );
        check(
            "[1e15, 1e16, 1.5e300, 1e-4, 1.25e-5, 0.1]",
            "[1000000000000000.0, 1e+16, 1.5e+300, 0.0001, 1.25e-05, 0.1]",
        );
        check("12345678901234567.0", "1.2345678901234568e+16");
    }
}
