//! Converts YAML to JSON, by the core schema of YAML 1.2, in which every value has a JSON form.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use anyhow::{anyhow, bail};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

/// Maximum size of a document as JSON, in bytes. Aliases repeat what they name, so a few nested lines of them could
/// exceed any memory.
const MOST_BYTES: usize = 64 << 20;

/// Maximum nesting, which equals that of the JSON reader.
const DEEPEST: usize = 127;

/// Converts a document to JSON, on one line. Numbers are kept as written, except for signs, zeros and points that JSON
/// does not allow.
///
/// # Errors
/// With line and column, for a document that is not YAML, has no JSON form, or is too large.
pub(crate) fn to_json(text: &str) -> anyhow::Result<String> {
    let mut writer = Writer::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| at(error.marker(), error.info()))?;
        writer
            .event(event)
            .map_err(|error| at(&span.start, &error.to_string()))?;
    }
    if writer.documents == 0 {
        bail!("it is empty");
    }
    Ok(writer.json)
}

fn at(place: &Marker, what: &str) -> anyhow::Error {
    anyhow!("line {}, column {}: {what}", place.line(), place.col() + 1)
}

#[derive(Default)]
struct Writer {
    json: String,
    documents: usize,
    open: Vec<Collection>,
    /// The JSON of each complete anchored value, by the anchor's number.
    anchored: HashMap<usize, Range<usize>>,
}

/// A mapping or sequence that is not complete yet.
struct Collection {
    start: usize,
    anchor: usize,
    is_empty: bool,
    mapping: Option<Mapping>,
}

#[derive(Default)]
struct Mapping {
    keys: HashSet<String>,
    has_key: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) -> anyhow::Result<()> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    bail!("another document begins here, and only one is read");
                }
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "map")?;
                self.begin(anchor, Some(Mapping::default()))?;
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "seq")?;
                self.begin(anchor, None)?;
            }
            Event::MappingEnd | Event::SequenceEnd => self.end(),
            Event::Scalar(text, style, anchor, tag) => {
                if self.is_key_next() {
                    self.key(&text, style)?;
                } else {
                    self.separate();
                    let start = self.json.len();
                    let value = scalar(&text, style, tag.as_deref())?;
                    self.json.push_str(&value);
                    self.anchored.insert(anchor, start..self.json.len());
                }
            }
            Event::Alias(anchor) => {
                if self.is_key_next() {
                    bail!("an alias cannot be a key");
                }
                self.separate();
                let Some(named) = self.anchored.get(&anchor).cloned() else {
                    bail!("the alias names a value that it is part of");
                };
                self.check_size(named.len())?;
                self.json.extend_from_within(named);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        self.check_size(0)
    }

    fn check_size(&self, more: usize) -> anyhow::Result<()> {
        match self.json.len() + more > MOST_BYTES {
            true => bail!(
                "as JSON it is larger than {MOST_BYTES} bytes, which is the most that is read"
            ),
            false => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, mapping: Option<Mapping>) -> anyhow::Result<()> {
        if self.is_key_next() {
            bail!("a key has to be a scalar in JSON");
        }
        if self.open.len() == DEEPEST {
            bail!("it nests more than {DEEPEST} levels deep");
        }
        self.separate();
        let start = self.json.len();
        self.json.push(if mapping.is_some() { '{' } else { '[' });
        self.open.push(Collection {
            start,
            anchor,
            is_empty: true,
            mapping,
        });
        Ok(())
    }

    fn end(&mut self) {
        let Some(collection) = self.open.pop() else {
            return;
        };
        let is_mapping = collection.mapping.is_some();
        self.json.push(if is_mapping { '}' } else { ']' });
        let whole = collection.start..self.json.len();
        self.anchored.insert(collection.anchor, whole);
    }

    fn is_key_next(&self) -> bool {
        let innermost = self.open.last();
        let mapping = innermost.and_then(|collection| collection.mapping.as_ref());
        mapping.is_some_and(|mapping| !mapping.has_key)
    }

    fn key(&mut self, text: &str, style: ScalarStyle) -> anyhow::Result<()> {
        if text == "<<" && style == ScalarStyle::Plain {
            bail!("merge keys (<<) are not supported");
        }
        let Some(Collection {
            is_empty,
            mapping: Some(mapping),
            ..
        }) = self.open.last_mut()
        else {
            return Ok(());
        };
        if !mapping.keys.insert(text.to_owned()) {
            bail!("the key {text:?} is there twice");
        }
        mapping.has_key = true;
        if !std::mem::take(is_empty) {
            self.json.push_str(", ");
        }
        self.json.push_str(&serde_json::to_string(text)?);
        self.json.push_str(": ");
        Ok(())
    }

    /// Writes what comes before a value: a comma in a sequence. In a mapping, the key has written it already.
    fn separate(&mut self) {
        let Some(collection) = self.open.last_mut() else {
            return;
        };
        if let Some(mapping) = &mut collection.mapping {
            mapping.has_key = false;
        } else if !std::mem::take(&mut collection.is_empty) {
            self.json.push_str(", ");
        }
    }
}

fn check_tag(tag: Option<&Tag>, expected: &str) -> anyhow::Result<()> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == expected) => {
            bail!("the tag {tag} has no meaning in JSON")
        }
        _ => Ok(()),
    }
}

/// Converts a scalar to JSON; a plain one by the core schema.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> anyhow::Result<String> {
    let string = || Ok(serde_json::to_string(text)?);
    let resolved = match tag {
        None if style != ScalarStyle::Plain => return string(),
        None => resolve(text)?,
        Some(tag) if tag.is_yaml_core_schema() => match &*tag.suffix {
            "str" => return string(),
            "null" | "bool" | "int" | "float" => {
                let resolved = resolve(text)?;
                if resolved.is_none() {
                    bail!("{text:?} is no {}", tag.suffix);
                }
                resolved
            }
            _ => bail!("the tag {tag} has no meaning in JSON"),
        },
        Some(tag) => bail!("the tag {tag} has no meaning in JSON"),
    };
    resolved.map_or_else(string, Ok)
}

/// Returns the value of a plain scalar, unless it is a string.
fn resolve(text: &str) -> anyhow::Result<Option<String>> {
    Ok(Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        _ => match radix(text)? {
            Some(integer) => integer,
            None => return number(text),
        },
    }))
}

/// Parses a number in octal or hexadecimal notation.
fn radix(text: &str) -> anyhow::Result<Option<String>> {
    let (digits, radix) = if let Some(digits) = text.strip_prefix("0o") {
        (digits, 8)
    } else if let Some(digits) = text.strip_prefix("0x") {
        (digits, 16)
    } else {
        return Ok(None);
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(None);
    }
    match u128::from_str_radix(digits, radix) {
        Ok(number) => Ok(Some(number.to_string())),
        Err(_) => bail!("the number {text} is too large"),
    }
}

/// Rewrites a decimal number in JSON's notation.
fn number(text: &str) -> anyhow::Result<Option<String>> {
    let (sign, unsigned) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    };
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        bail!("JSON has no number {text}");
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => unsigned.split_at(at),
        None => (unsigned, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.get(1..).unwrap_or_default();
    let power = power.strip_prefix(['+', '-']).unwrap_or(power);
    let is_number = are_digits(whole)
        && are_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && are_digits(power)
        && exponent.is_empty() == power.is_empty();
    if !is_number {
        return Ok(None);
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Ok(Some(format!("{sign}{whole}{point}{fraction}{exponent}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_core_schema() {
        for (yaml, json) in [
            (
                "a: 1\nb: [x, 'y', \"z\\n\"]\n",
                r#"{"a": 1, "b": ["x", "y", "z\n"]}"#,
            ),
            (
                "- ~\n- null\n-\n- 'null'\n",
                r#"[null, null, null, "null"]"#,
            ),
            (
                "[true, False, yes, on, NO]",
                r#"[true, false, "yes", "on", "NO"]"#,
            ),
            (
                "[0o17, 0xFF, +3, -0, 007, 1.50, .5, 5., 1e3, -1.E-2]",
                "[15, 255, 3, -0, 7, 1.50, 0.5, 5, 1e3, -1E-2]",
            ),
            (
                "[12e03, 1_000, 1.2.3, e5, 0b1, 2024-05-12, '1', .]",
                r#"[12e03, "1_000", "1.2.3", "e5", "0b1", "2024-05-12", "1", "."]"#,
            ),
            (
                "12345678901234567890.12345678901234567890",
                "12345678901234567890.12345678901234567890",
            ),
            ("200: ok\ntrue: 1\n", r#"{"200": "ok", "true": 1}"#),
            (
                "a: &x {b: [1]}\nc: *x\nd: &y 3\ne: *y\n",
                r#"{"a": {"b": [1]}, "c": {"b": [1]}, "d": 3, "e": 3}"#,
            ),
            (
                "a: |\n  x\n  y\nb: >\n  x\n  y\n",
                r#"{"a": "x\ny\n", "b": "x y\n"}"#,
            ),
            ("!!str 5", "\"5\""),
            ("!!float '5'", "5"),
            ("{}", "{}"),
            ("---\n[]\n...\n", "[]"),
            ("{\"type\": \"object\"}", r#"{"type": "object"}"#),
        ] {
            assert_eq!(to_json(yaml).unwrap(), json, "{yaml}");
            let read: Result<serde_json::Value, _> = serde_json::from_str(json);
            assert!(read.is_ok(), "{json}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_refused_by_its_place() {
        for (yaml, says) in [
            ("", "it is empty"),
            ("# only a comment\n", "it is empty"),
            (
                "a: 1\na: 2\n",
                "line 2, column 1: the key \"a\" is there twice",
            ),
            ("a: [1\nb: 2\n", "line 2"),
            ("a: .inf", "line 1, column 4: JSON has no number .inf"),
            ("[1]: 2", "a key has to be a scalar"),
            ("a: 1\n---\nb: 2\n", "another document"),
            ("a: !Ref x", "no meaning in JSON"),
            ("!!int x", "\"x\" is no int"),
            ("a: &x [*x]", "the alias names a value that it is part of"),
            ("a: *x", "line 1"),
            ("a: &x {b: 1}\nc:\n  <<: *x\n", "merge keys"),
        ] {
            let error = to_json(yaml).unwrap_err().to_string();
            assert!(error.contains(says), "{yaml:?}: {error}");
        }
    }

    #[test]
    fn aliases_that_explode_and_deep_nesting_are_answered() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let alias = format!("*a{}", level - 1);
            bomb.push_str(&format!(
                "a{level}: &a{level} [{}]\n",
                [&*alias; 10].join(", ")
            ));
        }
        let error = to_json(&bomb).unwrap_err().to_string();
        assert!(error.contains("larger than"), "{error}");
        let error = to_json(&"- ".repeat(200)).unwrap_err().to_string();
        assert!(error.contains("levels deep"), "{error}");
        assert!(to_json(&"[".repeat(100_000)).is_err());
        assert!(to_json(&"- ".repeat(100_000)).is_err());
    }
}
