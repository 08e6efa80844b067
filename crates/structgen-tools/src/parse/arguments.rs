//! Arguments that are no JSON object: between tags, or as keywords of Python. Out of them comes one, piece by piece.

use serde_json::{Map, Value};

use super::finder::Finder;
use super::object::Json;
use super::python;
use super::spec::Ends;
use crate::is_space;
use crate::lower::ArgumentKind;

/// Arguments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    pub(super) values: Map<String, Value>,
    begun: bool,
}

impl Collected {
    /// What stands before a key's value.
    fn key(&mut self, key: &str) -> String {
        let before = if self.begun { ", " } else { "{" };
        self.begun = true;
        format!("{before}{}: ", Value::from(key))
    }

    /// What stands at the end.
    pub(super) fn end(&self) -> &'static str {
        if self.begun { "}" } else { "{}" }
    }

    /// Whether the key is new.
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

    /// Takes a character and says whether the value is complete. What it adds to the arguments goes into `json`.
    pub(super) fn push(
        &mut self,
        c: char,
        collected: &mut Collected,
        json: &mut String,
    ) -> Result<bool, Wrong> {
        if strip(&mut self.lead, c) {
            return Ok(false);
        }
        // Whether a value is JSON is said by its first character.
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
        let value = match self.kind {
            ArgumentKind::Raw => {
                json.push('"');
                Value::String(text)
            }
            ArgumentKind::Json => serde_json::from_str(&text).map_err(|error| {
                Wrong::Unreadable(format!("{:?} is no JSON: {error}", self.key))
            })?,
            ArgumentKind::Either => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        };
        if self.kind != ArgumentKind::Raw {
            json.push_str(&collected.key(&self.key));
            json.push_str(&value.to_string());
        }
        match collected.insert(&self.key, value) {
            true => Ok(()),
            false => Err(Wrong::Twice(std::mem::take(&mut self.key))),
        }
    }
}

/// Whether the character belongs to the whitespace that a marker ends with.
pub(super) fn strip(lead: &mut String, c: char) -> bool {
    if lead.starts_with(c) {
        lead.drain(..c.len_utf8());
        return true;
    }
    lead.clear();
    false
}

/// The text within a JSON string.
fn escape(text: &str, json: &mut String) {
    let quoted = Value::from(text).to_string();
    json.push_str(&quoted[1..quoted.len() - 1]);
}

/// Keyword arguments of Python, up to the closing parenthesis.
#[derive(Clone, Debug, Default)]
pub(super) struct PythonArguments {
    argument: String,
    depth: usize,
    quote: Option<char>,
    escaped: bool,
}

impl PythonArguments {
    /// Takes a character and says whether the arguments are complete.
    pub(super) fn push(
        &mut self,
        c: char,
        collected: &mut Collected,
        json: &mut String,
    ) -> Result<bool, Wrong> {
        if let Some(quote) = self.quote {
            if self.escaped {
                self.escaped = false;
            } else if c == '\\' {
                self.escaped = true;
            } else if c == quote {
                self.quote = None;
            }
        } else {
            match c {
                ',' | ')' if self.depth == 0 => {
                    self.finish(c == ')', collected, json)?;
                    return Ok(c == ')');
                }
                '"' | '\'' => self.quote = Some(c),
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.argument.push(c);
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
        let Some((key, value)) = argument.split_once('=') else {
            return Err(Wrong::Unreadable(format!(
                "{argument:?} is no keyword argument"
            )));
        };
        let key = key.trim();
        let value = python::literal(value)
            .map_err(|error| Wrong::Unreadable(format!("{key:?}: {error}")))?;
        json.push_str(&collected.key(key));
        json.push_str(&value.to_string());
        match collected.insert(key, value) {
            true => Ok(()),
            false => Err(Wrong::Twice(key.to_owned())),
        }
    }
}
