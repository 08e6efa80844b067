//! Arguments that are not a JSON object: between tags, or as Python keywords. They are converted to one, piece by
//! piece.

use serde_json::{Map, Value};

use super::finder::Finder;
use super::literal;
use super::object::Json;
use super::spec::Ends;
use crate::is_space;
use crate::lower::ArgumentKind;

/// The arguments parsed so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub(super) values: Map<String, Value>,
    begun: bool,
}

impl Collected {
    /// The JSON before the value of a key.
    fn key(&mut self, key: &str) -> String {
        let before = if self.begun { ", " } else { "{" };
        self.begun = true;
        format!("{before}{}: ", Value::from(key))
    }

    /// The JSON at the end.
    pub(super) fn end(&self) -> &'static str {
        if self.begun { "}" } else { "{}" }
    }

    /// Inserts a value; returns whether the key is new.
    fn insert(&mut self, key: &str, value: Value) -> bool {
        self.values.insert(key.to_owned(), value).is_none()
    }
}

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Twice(String),
    Unreadable(String),
}

/// The value of an argument between tags.
#[derive(Clone, Debug)]
pub(super) struct TaggedValue {
    key: String,
    kind: ArgumentKind,
    finder: Finder,
    lead: String,
    json: Option<Json>,
    begun: bool,
    text: String,
}

impl TaggedValue {
    pub(super) fn new(
        key: String,
        kind: ArgumentKind,
        ends: &Ends,
        collected: &mut Collected,
        json: &mut String,
    ) -> Self {
        if kind == ArgumentKind::Raw {
            json.push_str(&collected.key(&key));
            json.push('"');
        }
        Self {
            key,
            kind,
            finder: Finder::new(ends.markers.iter().cloned()),
            lead: ends.lead.clone(),
            json: None,
            begun: false,
            text: String::new(),
        }
    }

    /// Consumes a character; returns whether the value is complete. Appends what it adds to the arguments to `json`.
    pub(super) fn push(
        &mut self,
        c: char,
        collected: &mut Collected,
        json: &mut String,
    ) -> Result<bool, Wrong> {
        if strip(&mut self.lead, c) {
            return Ok(false);
        }
        // The first character decides whether a value is JSON.
        if !self.begun && !is_space(c) {
            self.begun = true;
            let is_json = match self.kind {
                ArgumentKind::Raw => false,
                ArgumentKind::Json => true,
                ArgumentKind::Either => matches!(c, '{' | '[' | '"'),
            };
            self.json = is_json.then(Json::default);
        }
        if let Some(state) = &mut self.json {
            let was_string = state.in_string();
            state.push(c);
            if was_string || state.in_string() {
                self.text.push_str(&self.finder.rest());
                self.text.push(c);
                return Ok(false);
            }
        }
        let from = self.text.len();
        let found = self.finder.push(c, &mut self.text);
        if self.kind == ArgumentKind::Raw {
            escape(&self.text[from..], json);
        }
        if found {
            self.finish(collected, json)?;
        }
        Ok(found)
    }

    fn finish(&mut self, collected: &mut Collected, json: &mut String) -> Result<(), Wrong> {
        let text = std::mem::take(&mut self.text);
        let (value, written) = match self.kind {
            ArgumentKind::Raw => {
                json.push('"');
                (Value::String(text), None)
            }
            ArgumentKind::Json => {
                let value = serde_json::from_str(&text).map_err(|error| {
                    Wrong::Unreadable(format!("{:?} is no JSON: {error}", self.key))
                })?;
                (value, Some(text))
            }
            ArgumentKind::Either => match serde_json::from_str(&text) {
                Ok(value) => (value, Some(text)),
                Err(_) => {
                    let value = Value::String(text);
                    let written = value.to_string();
                    (value, Some(written))
                }
            },
        };
        // As it was written, numbers keep all their digits.
        if let Some(written) = written {
            json.push_str(&collected.key(&self.key));
            json.push_str(written.trim_matches(is_space));
        }
        match collected.insert(&self.key, value) {
            true => Ok(()),
            false => Err(Wrong::Twice(std::mem::take(&mut self.key))),
        }
    }
}

/// Consumes whitespace that belongs to the marker before; returns whether `c` does.
pub(super) fn strip(lead: &mut String, c: char) -> bool {
    if lead.starts_with(c) {
        lead.drain(..c.len_utf8());
        return true;
    }
    lead.clear();
    false
}

/// Appends a text as the content of a JSON string.
fn escape(text: &str, json: &mut String) {
    let quoted = Value::from(text).to_string();
    json.push_str(&quoted[1..quoted.len() - 1]);
}

/// Arguments separated by commas, up to the closing bracket.
#[derive(Clone, Debug)]
pub(super) struct ListedArguments {
    argument: String,
    depth: usize,
    /// The current string: its end, and where its content begins.
    string: Option<(String, usize)>,
    escaped: bool,
    /// The format's own quote; `None` for Python.
    quote: Option<String>,
}

impl ListedArguments {
    /// Python keyword arguments.
    pub(super) fn python() -> Self {
        Self {
            argument: String::new(),
            depth: 0,
            string: None,
            escaped: false,
            quote: None,
        }
    }

    /// Arguments whose strings have the format's own quotes.
    pub(super) fn quoted(quote: &str) -> Self {
        Self {
            quote: Some(quote.to_owned()),
            ..Self::python()
        }
    }

    /// Consumes a character; returns whether the arguments are complete.
    pub(super) fn push(
        &mut self,
        c: char,
        collected: &mut Collected,
        json: &mut String,
    ) -> Result<bool, Wrong> {
        let close = if self.quote.is_some() { '}' } else { ')' };
        if self.string.is_none() {
            match c {
                _ if self.depth == 0 && (c == ',' || c == close) => {
                    self.finish(c == close, collected, json)?;
                    return Ok(c == close);
                }
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.argument.push(c);
        let escapes = self.quote.is_none();
        let here = self.argument.len();
        if let Some((end, from)) = &self.string {
            if self.escaped {
                self.escaped = false;
            } else if c == '\\' && escapes {
                self.escaped = true;
            } else if self.argument[*from..].ends_with(end.as_str()) {
                self.string = None;
            }
            return Ok(false);
        }
        match &self.quote {
            Some(quote) if self.argument.ends_with(quote.as_str()) => {
                self.string = Some((quote.clone(), here));
            }
            None if matches!(c, '"' | '\'') => self.string = Some((c.to_string(), here)),
            _ => {}
        }
        Ok(false)
    }

    fn finish(
        &mut self,
        last: bool,
        collected: &mut Collected,
        json: &mut String,
    ) -> Result<(), Wrong> {
        let argument = std::mem::take(&mut self.argument);
        let argument = argument.trim();
        if argument.is_empty() && last {
            return Ok(());
        }
        let between = if self.quote.is_some() { ':' } else { '=' };
        let Some((key, value)) = argument.split_once(between) else {
            let reason = format!("{argument:?} has no key and value with {between:?} between them");
            return Err(Wrong::Unreadable(reason));
        };
        let key = key.trim();
        let literal = value.trim();
        let value = match &self.quote {
            Some(quote) => literal::quoted(literal, quote),
            None => literal::python(literal),
        };
        let value = value.map_err(|error| Wrong::Unreadable(format!("{key:?}: {error}")))?;
        json.push_str(&collected.key(key));
        match value {
            // As it was written, a number keeps all its digits.
            Value::Number(_) => json.push_str(literal),
            _ => json.push_str(&value.to_string()),
        }
        match collected.insert(key, value) {
            true => Ok(()),
            false => Err(Wrong::Twice(key.to_owned())),
        }
    }
}
