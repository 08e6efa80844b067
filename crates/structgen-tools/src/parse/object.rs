//! JSON objects that arrive character by character: where they end, and the content of some members.

use serde_json::Value;

use crate::is_space;

/// Tracks JSON far enough to distinguish strings from structure.
#[derive(Clone, Debug, Default)]
pub(super) struct Json {
    pub(super) depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Json {
    /// Whether the next character is part of a string.
    pub(super) fn in_string(&self) -> bool {
        self.in_string
    }

    pub(super) fn push(&mut self, c: char) {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else if c == '\\' {
                self.escaped = true;
            } else if c == '"' {
                self.in_string = false;
            }
            return;
        }
        match c {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// A call that is a JSON object with a name and arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectCall {
    text: String,
    json: Json,
    key: Option<String>,
    /// Where the last string began, which may be a key.
    string: usize,
    /// Where the key's value begins.
    value: Option<usize>,
    pub(super) name: Option<String>,
    /// Arguments that preceded the name, or that are a string so far.
    held: String,
    /// Whether the arguments are a string that is not complete.
    is_string: bool,
}

/// The result of a character of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Whether the name has become known.
    pub(super) named: bool,
    /// More of the arguments.
    pub(super) arguments: String,
    /// Whether the object is complete.
    pub(super) done: bool,
}

impl ObjectCall {
    /// Consumes a character; returns `None` if no object begins.
    pub(super) fn push(
        &mut self,
        c: char,
        name_key: &str,
        arguments_key: &str,
    ) -> Option<Progress> {
        let mut progress = Progress::default();
        if self.text.is_empty() {
            if is_space(c) {
                return Some(progress);
            }
            if c != '{' {
                return None;
            }
        }
        let was_string = self.json.in_string();
        let depth = self.json.depth;
        self.json.push(c);
        let top = depth == 1 && !was_string;
        if top && matches!(c, ',' | '}') {
            self.end_value(name_key, arguments_key, &mut progress);
        } else if let Some(from) = self.value
            && self.key.as_deref() == Some(arguments_key)
            && !(self.text.len() == from && is_space(c))
        {
            if self.text.len() == from {
                self.is_string = c == '"';
            }
            self.held.push(c);
        } else if self.value.is_some_and(|from| self.text.len() == from) && is_space(c) {
            self.value = Some(self.text.len() + c.len_utf8());
        }
        self.text.push(c);
        match c {
            '"' if top && self.value.is_none() => self.string = self.text.len() - 1,
            '"' if depth == 1 && self.value.is_none() && !self.json.in_string() => {
                self.key = serde_json::from_str(&self.text[self.string..]).ok();
            }
            ':' if top && self.value.is_none() => self.value = Some(self.text.len()),
            _ => {}
        }
        if self.name.is_some() && !self.is_string {
            progress.arguments = std::mem::take(&mut self.held);
        }
        progress.done = self.json.depth == 0;
        Some(progress)
    }

    fn end_value(&mut self, name_key: &str, arguments_key: &str, progress: &mut Progress) {
        let (Some(key), Some(from)) = (self.key.take(), self.value.take()) else {
            return;
        };
        // Some models encode the arguments once more. A string that cannot be decoded is an error of the whole call.
        if key == arguments_key
            && std::mem::take(&mut self.is_string)
            && let Ok(decoded) = serde_json::from_str(&self.held)
        {
            self.held = decoded;
        }
        if key == name_key
            && self.name.is_none()
            && let Ok(name) = serde_json::from_str(&self.text[from..])
        {
            self.name = Some(name);
            progress.named = true;
        }
    }

    /// The whole object.
    pub(super) fn value(&self) -> serde_json::Result<Value> {
        serde_json::from_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_arguments_are_found_in_any_order() {
        for text in [
            r#"{"name": "f", "arguments": {"a": "}\"]"}}"#,
            r#" {"arguments" : {"a": "}\"]"}, "x": [{"name": 1}], "n\u0061me":"f" }"#,
        ] {
            let mut call = ObjectCall::default();
            let mut arguments = String::new();
            let mut done = 0;
            for c in text.chars() {
                let progress = call.push(c, "name", "arguments").unwrap();
                arguments.push_str(&progress.arguments);
                done += usize::from(progress.done);
            }
            assert_eq!(done, 1);
            assert_eq!(call.name.as_deref(), Some("f"));
            assert_eq!(arguments, r#"{"a": "}\"]"}"#);
            assert!(call.value().is_ok());
        }
    }

    #[test]
    fn arguments_that_are_a_string_are_decoded_before_they_are_streamed() {
        for text in [
            r#"{"name": "f", "arguments": "{\"a\": [1, \"}\"]}" }"#,
            r#"{"arguments" :"{\"a\": [1, \"}\"]}", "name": "f"}"#,
        ] {
            let mut call = ObjectCall::default();
            let mut arguments = String::new();
            for c in text.chars() {
                arguments.push_str(&call.push(c, "name", "arguments").unwrap().arguments);
            }
            assert_eq!(arguments, r#"{"a": [1, "}"]}"#, "{text}");
        }
    }
}
