//! Python literals, and those of formats with quotes of their own, as JSON values.

use serde_json::{Map, Value};

/// The maximum nesting of a literal, as in serde_json.
const DEEPEST: usize = 127;

/// Parses a Python literal: strings, numbers, lists, tuples, dictionaries with string keys, and `True`, `False` and
/// `None`, which may also be written as in JSON.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn python(text: &str) -> Result<Value, String> {
    read(Reader {
        rest: text,
        quote: None,
    })
}

/// Parses a literal whose strings are between these quotes, and whose keys need none.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn quoted(text: &str, quote: &str) -> Result<Value, String> {
    read(Reader {
        rest: text,
        quote: Some(quote),
    })
}

fn read(mut reader: Reader<'_>) -> Result<Value, String> {
    let value = reader.value(0)?;
    reader.space();
    match reader.rest.chars().next() {
        None => Ok(value),
        Some(c) => Err(format!("{c:?} is not expected behind a value")),
    }
}

struct Reader<'t> {
    rest: &'t str,
    quote: Option<&'t str>,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, c: char) -> bool {
        self.space();
        let found = self.rest.strip_prefix(c);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// Recursive, up to the maximum depth.
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err("it nests too deeply".to_owned());
        }
        self.space();
        if self.at_string() {
            return self.string().map(Value::String);
        }
        match self.rest.chars().next() {
            Some('[') => self.items(']', depth),
            Some('(') => self.items(')', depth),
            Some('{') => self.dictionary(depth),
            _ => self.word(),
        }
    }

    fn items(&mut self, close: char, depth: usize) -> Result<Value, String> {
        self.next();
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.take(',') && !self.rest.starts_with(close) {
                return Err(format!("a comma or {close:?} is missing"));
            }
        }
    }

    fn dictionary(&mut self, depth: usize) -> Result<Value, String> {
        self.next();
        let mut members = Map::new();
        loop {
            if self.take('}') {
                return Ok(Value::Object(members));
            }
            let key = if self.at_string() {
                self.string()?
            } else if self.quote.is_some() {
                self.bare_key()?
            } else {
                return Err("a key is no string".to_owned());
            };
            if !self.take(':') {
                return Err("a colon is missing".to_owned());
            }
            members.insert(key, self.value(depth + 1)?);
            if !self.take(',') && !self.rest.starts_with('}') {
                return Err("a comma or '}' is missing".to_owned());
            }
        }
    }

    fn word(&mut self) -> Result<Value, String> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || "+-._".contains(c)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match word {
            "True" | "true" => Ok(Value::Bool(true)),
            "False" | "false" => Ok(Value::Bool(false)),
            "None" | "null" => Ok(Value::Null),
            _ => match serde_json::from_str(word) {
                Ok(Value::Number(number)) => Ok(Value::Number(number)),
                _ => Err(format!("{word:?} is no literal")),
            },
        }
    }

    fn at_string(&self) -> bool {
        match self.quote {
            Some(quote) => self.rest.starts_with(quote),
            None => self.rest.starts_with(['"', '\'']),
        }
    }

    fn bare_key(&mut self) -> Result<String, String> {
        let at = self.rest.find(':').ok_or("a colon is missing")?;
        let (key, rest) = self.rest.split_at(at);
        self.rest = rest;
        Ok(key.trim().to_owned())
    }

    /// Resolves Python's escapes; unknown ones stay as they are.
    fn string(&mut self) -> Result<String, String> {
        if let Some(quote) = self.quote {
            let content = self.rest.strip_prefix(quote).unwrap_or(self.rest);
            let parts = content.split_once(quote).ok_or("a string does not end")?;
            self.rest = parts.1;
            return Ok(parts.0.to_owned());
        }
        let quote = self.next();
        let mut text = String::new();
        loop {
            let c = self.next().ok_or("a string does not end")?;
            if Some(c) == quote {
                return Ok(text);
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            match self.next().ok_or("a string does not end")? {
                '\n' => {}
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{C}'),
                'a' => text.push('\u{7}'),
                'v' => text.push('\u{B}'),
                '0' => text.push('\0'),
                c @ ('\\' | '\'' | '"') => text.push(c),
                'x' => text.push(self.code(2)?),
                'u' => text.push(self.code(4)?),
                'U' => text.push(self.code(8)?),
                other => text.extend(['\\', other]),
            }
        }
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let code = self.rest.get(..digits).ok_or("an escape does not end")?;
        self.rest = &self.rest[digits..];
        let is_hex = code.chars().all(|c| c.is_ascii_hexdigit());
        let value = u32::from_str_radix(code, 16).ok().filter(|_| is_hex);
        let c = value.and_then(char::from_u32);
        c.ok_or_else(|| format!("{code:?} is the code of no character"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_are_read_as_python_reads_them() {
        for (text, value) in [
            (r#"'it\'s "so"'"#, json!("it's \"so\"")),
            (r#""a\n\t\x41\u00e9\U0001F600\d""#, json!("a\n\tAé😀\\d")),
            (
                "[1, -2.5, 1e3, (), [True, False, None,],]",
                json!([1, -2.5, 1e3, [], [true, false, null]]),
            ),
            ("{'a': {\"b\": (1, 2)}, }", json!({"a": {"b": [1, 2]}})),
        ] {
            assert_eq!(python(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn strings_may_have_quotes_of_their_own() {
        let text = "{a:<|\"|>it's \"\\n\"<|\"|>,<|\"|>b c<|\"|>:[1,true,<|\"|><|\"|>]}";
        let value = json!({"a": "it's \"\\n\"", "b c": [1, true, ""]});
        assert_eq!(quoted(text, "<|\"|>"), Ok(value));
        assert!(quoted("<|\"|>a", "<|\"|>").is_err());
        assert!(quoted("'a'", "<|\"|>").is_err());
    }

    #[test]
    fn what_is_no_literal_is_an_error_however_deep() {
        for text in [
            "",
            "x",
            "[1 2]",
            "{1: 2}",
            "{'a' 1}",
            "'a",
            r"'\x4'",
            r"'\ud800'",
            "1 2",
            "01",
        ] {
            assert!(python(text).is_err(), "{text}");
        }
        assert!(python(&"[".repeat(100_000)).unwrap_err().contains("deep"));
    }
}
