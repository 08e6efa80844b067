//! Bounds on the parts of a file that compile: a hostile one must not cost minutes or gigabytes.

use crate::TokenizerError;
use serde_json::Value;

/// The most steps of a normalizer or pre-tokenizer; real ones have up to ten.
const MAX_STEPS: usize = 64;
/// The most bytes of all patterns together; real ones have some hundred.
const MAX_PATTERN_BYTES: usize = 8 << 10;
/// The most bytes of all other strings together, compiled character maps among them.
const MAX_STRING_BYTES: usize = 4 << 20;

/// Refuses a normalizer or pre-tokenizer that is far larger than any real one.
pub(super) fn check(part: &Value, pointer: &'static str) -> Result<(), TokenizerError> {
    let mut size = Size::default();
    size.add(part, false);
    for (what, size, limit) in [
        ("steps", size.steps, MAX_STEPS),
        ("bytes of patterns", size.patterns, MAX_PATTERN_BYTES),
        ("bytes of strings", size.strings, MAX_STRING_BYTES),
    ] {
        if size > limit {
            return Err(TokenizerError::Pipeline {
                pointer,
                message: format!("{size} {what}, and at most {limit} are accepted"),
            });
        }
    }
    Ok(())
}

#[derive(Default)]
struct Size {
    steps: usize,
    patterns: usize,
    strings: usize,
}

impl Size {
    /// Recursion is bounded by the depth that the JSON reader accepts.
    fn add(&mut self, value: &Value, in_pattern: bool) {
        match value {
            Value::String(text) if in_pattern => self.patterns += text.len(),
            Value::String(text) => self.strings += text.len(),
            Value::Array(items) => items.iter().for_each(|item| self.add(item, in_pattern)),
            Value::Object(fields) => {
                self.steps += usize::from(fields.contains_key("type"));
                for (name, field) in fields {
                    self.add(field, in_pattern || name == "pattern");
                }
            }
            _ => {}
        }
    }
}
