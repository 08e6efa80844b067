//! The lines of `extract --jsonl`: texts, or objects with a text and an optional id.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use anyhow::{Context, anyhow, bail};
use serde_json::value::RawValue;

/// Longer lines are errors; reading continues after them.
const LONGEST_LINE: usize = 16 << 20;

/// A text, and the id from its line.
#[derive(Debug)]
pub(super) struct Line {
    /// The id as it was written, since it may be a number that no type represents.
    pub(super) id: Option<Box<RawValue>>,
    /// An invalid line is an error of its own, not of the run.
    pub(super) text: Result<String, String>,
}

impl Line {
    /// Reads the next line; returns `None` at the end of the input.
    pub(super) fn read(lines: &mut impl BufRead) -> io::Result<Option<Self>> {
        Ok(next_line(lines)?.map(|line| match line {
            Ok(line) => Self::parse(line),
            Err(error) => Self::bad(None, &error),
        }))
    }

    fn bad(id: Option<Box<RawValue>>, error: &anyhow::Error) -> Self {
        let text = Err(format!("{error:#}"));
        Self { id, text }
    }

    /// Parses a line that starts with a brace as an object with a text; any other line is a text.
    fn parse(line: String) -> Self {
        if line.trim().is_empty() {
            return Self::bad(None, &anyhow!("the line is empty"));
        }
        if !line.trim_start().starts_with('{') {
            let text = Ok(line);
            return Self { id: None, text };
        }
        let mut object: BTreeMap<String, Box<RawValue>> = match serde_json::from_str(&line) {
            Ok(object) => object,
            Err(error) => {
                let error = anyhow!("the line begins with a brace, and is not JSON: {error}");
                return Self::bad(None, &error);
            }
        };
        let id = object.remove("id");
        match text_of(&object) {
            Ok(text) => Self { id, text: Ok(text) },
            Err(error) => Self::bad(id, &error),
        }
    }
}

fn text_of(object: &BTreeMap<String, Box<RawValue>>) -> anyhow::Result<String> {
    match object.get("text").map(|text| text.get()) {
        Some(text) if text.starts_with('"') => {
            serde_json::from_str(text).context("the member \"text\" cannot be read")
        }
        Some(_) => bail!("the member \"text\" is not a string"),
        None => bail!("the object has no member \"text\""),
    }
}

/// Reads the next line without its line break; returns `None` at the end of the input. The inner error is about this
/// line alone.
fn next_line(lines: &mut impl BufRead) -> io::Result<Option<anyhow::Result<String>>> {
    let mut bytes = Vec::new();
    let read = lines
        .by_ref()
        .take(LONGEST_LINE as u64 + 1)
        .read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.len() > LONGEST_LINE && bytes.last() != Some(&b'\n') {
        skip_line(lines)?;
        return Ok(Some(Err(anyhow!(
            "the line is longer than {LONGEST_LINE} bytes"
        ))));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    let text = String::from_utf8(bytes);
    Ok(Some(text.map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("the line is not UTF-8: the byte at offset {at} begins no character")
    })))
}

fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = lines.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        lines.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_texts_or_objects_with_one() {
        let text = |line: &str| Line::parse(line.to_owned());
        assert_eq!(text("a, b").text.unwrap(), "a, b");
        let with_id = text(r#" {"id": 1, "text": "x\ny"}"#);
        assert_eq!(with_id.id.unwrap().get(), "1");
        assert_eq!(with_id.text.unwrap(), "x\ny");
        for bad in ["", "  ", "{", "{}", r#"{"text": 1}"#] {
            assert!(text(bad).text.is_err(), "{bad}");
        }
        // The id is known even if the text is missing.
        assert_eq!(text(r#"{"id": "a"}"#).id.unwrap().get(), "\"a\"");
    }

    #[test]
    fn lines_lose_their_ends_and_a_bad_one_does_not_end_the_rest() {
        let mut input = io::BufReader::with_capacity(3, &b"one\r\n\xFF\ntwo"[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push(line.ok());
        }
        assert_eq!(lines, [Some("one".into()), None, Some("two".into())]);
    }
}
