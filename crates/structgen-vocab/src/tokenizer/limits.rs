//! Limits on the parts of a file that are compiled: a hostile one must not take minutes or gigabytes.

use crate::TokenizerError;
use serde_json::Value;

/// The maximum number of steps of a normaliser or pre-tokenizer; real ones have up to ten.
const MAX_STEPS: usize = 64;
/// The maximum length of all patterns together, in bytes; real ones have some hundred.
const MAX_PATTERN_BYTES: usize = 8 << 10;
/// The maximum product of all counts of repetitions (the 3 of `{1,3}`): nested ones are copies of copies, and each one
/// in a look-around is an automaton of its own.
const MAX_REPETITIONS: usize = 100_000;
/// The maximum factor by which a normaliser and a pre-tokenizer together may lengthen a text: the factors of successive
/// steps multiply.
const MAX_GROWTH: usize = 4096;
/// The maximum length of all other strings together, in bytes, including compiled character maps.
const MAX_STRING_BYTES: usize = 4 << 20;

/// Refuses a normaliser or pre-tokenizer that is far larger than any real one. Returns the maximum factor by which it
/// may lengthen a text, except by compiled character maps.
pub(super) fn check(part: &Value, pointer: &'static str) -> Result<usize, TokenizerError> {
    let mut size = Size {
        repetitions: 1,
        growth: 1,
        ..Size::default()
    };
    size.add(part, false);
    for (what, size, limit) in [
        ("steps", size.steps, MAX_STEPS),
        ("bytes of patterns", size.patterns, MAX_PATTERN_BYTES),
        (
            "multiplied repetitions of patterns",
            size.repetitions,
            MAX_REPETITIONS,
        ),
        ("bytes of strings", size.strings, MAX_STRING_BYTES),
    ] {
        check_size(size, limit, what, pointer)?;
    }
    check_growth(size.growth, pointer)?;
    Ok(size.growth)
}

/// Refuses a factor by which a text may be lengthened.
pub(super) fn check_growth(growth: usize, pointer: &'static str) -> Result<(), TokenizerError> {
    check_size(growth, MAX_GROWTH, "times the text's length", pointer)
}

fn check_size(
    size: usize,
    limit: usize,
    what: &str,
    pointer: &'static str,
) -> Result<(), TokenizerError> {
    if size <= limit {
        return Ok(());
    }
    Err(TokenizerError::Pipeline {
        pointer,
        message: format!("{size} {what}, and at most {limit} are accepted"),
    })
}

#[derive(Default)]
struct Size {
    steps: usize,
    patterns: usize,
    repetitions: usize,
    growth: usize,
    strings: usize,
}

impl Size {
    /// Recursive: the JSON parser bounds the depth.
    fn add(&mut self, value: &Value, in_pattern: bool) {
        match value {
            Value::String(text) if in_pattern => {
                self.patterns += text.len();
                for count in counts(text) {
                    self.repetitions = self.repetitions.saturating_mul(count.max(1));
                }
            }
            Value::String(text) => self.strings += text.len(),
            Value::Array(items) => items.iter().for_each(|item| self.add(item, in_pattern)),
            Value::Object(fields) => {
                self.steps += usize::from(fields.contains_key("type"));
                self.growth = self.growth.saturating_mul(growth(value));
                for (name, field) in fields {
                    self.add(field, in_pattern || name == "pattern");
                }
            }
            _ => {}
        }
    }
}

/// The maximum factor by which one step lengthens a text in bytes, rounded up. Compiled character maps are not counted
/// here.
fn growth(step: &Value) -> usize {
    let len = |field| step.get(field).and_then(Value::as_str).map_or(0, str::len);
    match step.get("type").and_then(Value::as_str) {
        // Two bytes for each that is not printable, and a space before each piece.
        Some("ByteLevel") => match step.get("add_prefix_space").and_then(Value::as_bool) {
            Some(false) => 2,
            _ => 3,
        },
        // For spaces, and before each piece, which has at least one byte.
        Some("Metaspace") => 1 + len("replacement"),
        Some("Prepend") => 1 + len("prepend"),
        // The factors of Unicode (UAX #15); case mappings turn two bytes into three.
        Some("NFC" | "NFD") => 3,
        Some("NFKC" | "NFKD") => 11,
        Some("Lowercase") => 2,
        // Spaces around Chinese characters, decomposition, and lower case.
        Some("BertNormalizer") => 4,
        _ => replacement_growth(step),
    }
}

/// The factor of a step that replaces a pattern; 1 for all others.
fn replacement_growth(step: &Value) -> usize {
    let content = step.get("content").and_then(Value::as_str);
    let content = content.map_or(0, str::len);
    match step.pointer("/pattern/String").and_then(Value::as_str) {
        Some(pattern) if !pattern.is_empty() => content.div_ceil(pattern.len()).max(1),
        // A regex may match at every position without consuming text.
        _ => content + 1,
    }
}

/// The numbers in braces. Both numbers of `{1,3}` are counted, which overestimates the size. A name as in `\p{L}` is
/// not a number.
fn counts(pattern: &str) -> impl Iterator<Item = usize> {
    pattern
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .flat_map(|(inside, _)| inside.split(','))
        .filter_map(|number| {
            let number = number.trim();
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            // A number too large to parse exceeds the limit.
            digits.then(|| number.parse().unwrap_or(usize::MAX))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(pattern: &str) -> String {
        let part = json!({"type": "Split", "pattern": {"Regex": pattern}});
        check(&part, "/pre_tokenizer").map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn counts_of_repetitions_multiply() {
        assert_eq!(error(r"\p{N}{1,3}|\s{2,}|[{}]"), "");
        assert_eq!(error("a{300}(b{300})?"), "");
        assert!(error("(a{300}){400}").contains("120000 multiplied"));
        assert!(error("(?=a{9})".repeat(40).as_str()).contains("multiplied"));
        assert!(error("a{99999999999999999999999}").contains("multiplied"));
    }

    #[test]
    fn strings_steps_and_patterns_are_counted_apart() {
        let long = "x".repeat(MAX_PATTERN_BYTES + 1);
        assert!(error(&long).contains("bytes of patterns"));
        let map = json!({"type": "Precompiled", "precompiled_charsmap": long});
        assert!(check(&map, "/normalizer").is_ok());
        let space = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
        let steps = |step: &Value, n| json!({"type": "Sequence", "normalizers": vec![step; n]});
        assert!(check(&steps(&space, 7), "/normalizer").is_ok());
        let error = check(&steps(&space, 8), "/normalizer")
            .unwrap_err()
            .to_string();
        assert!(error.contains("6561 times the text's length"), "{error}");
        let steps = steps(&json!({"type": "NFC"}), 64);
        let error = check(&steps, "/normalizer").unwrap_err().to_string();
        assert!(error.contains("65 steps"), "{error}");
    }

    #[test]
    fn every_step_that_lengthens_a_text_is_counted() {
        let growth = |steps: Value| {
            let kind = "Sequence";
            check(&json!({"type": kind, "steps": steps}), "/normalizer").unwrap_or(0)
        };
        let byte_level =
            json!({"type": "ByteLevel", "use_regex": false, "add_prefix_space": false});
        assert_eq!(growth(json!([byte_level])), 2);
        assert_eq!(growth(json!(vec![byte_level.clone(); 12])), 4096);
        assert_eq!(growth(json!(vec![byte_level; 13])), 0);
        assert_eq!(growth(json!([{"type": "ByteLevel"}])), 3);
        let metaspace =
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"});
        assert_eq!(growth(json!([metaspace])), 4);
        assert_eq!(growth(json!([{"type": "Prepend", "prepend": "▁"}])), 4);
        let long = "x".repeat(MAX_GROWTH);
        assert_eq!(growth(json!([{"type": "Prepend", "prepend": long}])), 0);
        assert_eq!(
            growth(json!([{"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"}])),
            22
        );
        assert_eq!(growth(json!([{"type": "Strip"}, {"type": "Nmt"}])), 1);
    }
}
