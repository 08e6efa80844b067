//! `structgen extract --jsonl`: many texts, in order.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};

use anyhow::{anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use structgen::SchemaExtractor;

use crate::Outcome;
use crate::error::{DONE, bad_input};
use crate::output::{tell, write_line};

/// A longer line is refused; the rest of the input is read on.
const LONGEST_LINE: usize = 16 << 20;

pub(crate) fn run(mut extractor: SchemaExtractor, input: Box<dyn Read>) -> Outcome {
    let mut lines = BufReader::new(input);
    let progress = progress_bar();
    let mut bad = 0_u64;
    let mut number = 0_u64;
    while let Some(line) = next_line(&mut lines)? {
        number += 1;
        let result = line
            .and_then(text_of)
            .and_then(|text| Ok(extractor.extract(&text)?));
        match result {
            Ok(extraction) => write_line(&extraction.json)?,
            Err(error) => {
                bad += 1;
                let message = format!("{error:#}");
                progress.suspend(|| tell(&format!("line {number}: {message}")));
                write_line(&json!({"error": message, "line": number}).to_string())?;
            }
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if bad > 0 {
        tell(&format!(
            "error: {bad} of {number} lines could not be done; their places in the output say why"
        ));
        return Ok(bad_input());
    }
    Ok(DONE)
}

/// Nothing is drawn where standard error is no terminal.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} texts, {per_sec}, {elapsed}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// The next line without its end; none at the end of the input. The inner error is the line's own.
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

/// A line that begins with a brace is an object with a text; every other line is a text.
fn text_of(line: String) -> anyhow::Result<String> {
    if line.trim().is_empty() {
        bail!("the line is empty");
    }
    if !line.trim_start().starts_with('{') {
        return Ok(line);
    }
    let value: Value = serde_json::from_str(&line)
        .map_err(|error| anyhow!("the line begins with a brace, and is not JSON: {error}"))?;
    match value.get("text") {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => bail!("the member \"text\" is not a string"),
        None => bail!("the object has no member \"text\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_texts_or_objects_with_one() {
        assert_eq!(text_of("a, b".into()).unwrap(), "a, b");
        assert_eq!(
            text_of(r#" {"id": 1, "text": "x\ny"}"#.into()).unwrap(),
            "x\ny"
        );
        for bad in ["", "  ", "{", "{}", r#"{"text": 1}"#] {
            assert!(text_of(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_lose_their_ends_and_a_bad_one_does_not_end_the_rest() {
        let mut input = BufReader::with_capacity(3, &b"one\r\n\xFF\ntwo"[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push(line.ok());
        }
        assert_eq!(lines, [Some("one".into()), None, Some("two".into())]);
    }
}
