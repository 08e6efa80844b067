//! Locates the values of a document in an input.

use std::ops::Range;

use serde_json::Value;
use structgen_constraint::Input;
use structgen_grammar::json_pointer::escaped;

/// A string or number of a document, and its positions in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocatedValue {
    /// The JSON Pointer of the value.
    pub pointer: String,
    /// The spans of the input, in bytes; empty if the input does not contain the value.
    pub bytes: Vec<Range<usize>>,
    /// The same spans in characters.
    pub characters: Vec<Range<usize>>,
}

/// Finds each string and number of a document in the input, in the order of the document.
///
/// A value is found wherever it occurs in the input, not just where a model may have read it.
///
/// ```
/// use serde_json::json;
/// use structgen::constraint::Input;
///
/// let input = Input::new("Zoë Ray\nis 36, not 37")?;
/// let located = structgen::locate(&json!({"name": "Zoë Ray", "ages": [36, 38]}), &input);
/// let found: Vec<_> = located.iter().map(|it| (&*it.pointer, it.bytes.len())).collect();
/// assert_eq!(found, [("/name", 1), ("/ages/0", 1), ("/ages/1", 0)]);
/// assert_eq!((&located[1].bytes[0], &located[1].characters[0]), (&(12..14), &(11..13)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn locate(document: &Value, input: &Input) -> Vec<LocatedValue> {
    let mut located = Vec::new();
    each_leaf(document, |pointer, value| {
        if let Some(bytes) = spans(value, input) {
            located.push(LocatedValue {
                characters: bytes.iter().map(|span| input.in_characters(span)).collect(),
                pointer,
                bytes,
            });
        }
    });
    located
}

/// Returns the spans of the input with a string or number; `None` for other values.
pub(crate) fn spans(value: &Value, input: &Input) -> Option<Vec<Range<usize>>> {
    match value {
        Value::String(text) => Some(input.sources_of_string(text)),
        Value::Number(number) => Some(match number.to_string().parse() {
            Ok(number) => input.sources_of_number(&number),
            Err(_) => Vec::new(),
        }),
        _ => None,
    }
}

/// Calls `on_leaf` with the values of a document that contain no others, and their pointers, in order. These include
/// empty arrays and objects.
pub(crate) fn each_leaf<'v>(document: &'v Value, mut on_leaf: impl FnMut(String, &'v Value)) {
    let mut open = vec![(String::new(), document)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().enumerate().rev();
                open.extend(items.map(|(index, item)| (format!("{pointer}/{index}"), item)));
            }
            Value::Object(members) if !members.is_empty() => {
                let members = members.iter().rev();
                open.extend(
                    members.map(|(key, value)| (format!("{pointer}/{}", escaped(key)), value)),
                );
            }
            _ => on_leaf(pointer, value),
        }
    }
}
