//! Where in an input the values of a document are.

use std::ops::Range;

use serde_json::Value;
use structgen_constraint::Input;

/// A string or number of a document, and where in an input it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocatedValue {
    /// The JSON Pointer of the value.
    pub pointer: String,
    /// The spans of the input, in bytes; none where the value is not in it.
    pub bytes: Vec<Range<usize>>,
    /// The same spans in characters.
    pub characters: Vec<Range<usize>>,
}

/// Finds each string and number of a document in the input, in the order of the document.
///
/// A value is found wherever the input has it, and not only where a model may have read it.
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
    let mut open = vec![(String::new(), document)];
    while let Some((pointer, value)) = open.pop() {
        let bytes = match value {
            Value::String(text) => input.sources_of_string(text),
            Value::Number(number) => match number.to_string().parse() {
                Ok(number) => input.sources_of_number(&number),
                Err(_) => Vec::new(),
            },
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(
                    items
                        .rev()
                        .map(|(index, item)| (format!("{pointer}/{index}"), item)),
                );
                continue;
            }
            Value::Object(members) => {
                for (key, value) in members.iter().rev() {
                    open.push((format!("{pointer}/{}", escaped(key)), value));
                }
                continue;
            }
            Value::Null | Value::Bool(_) => continue,
        };
        let characters = bytes.iter().map(|span| input.in_characters(span)).collect();
        located.push(LocatedValue {
            pointer,
            bytes,
            characters,
        });
    }
    located
}

/// A key as a part of a JSON Pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
