//! Refuses replacements of the empty text at the start of a text. The `tokenizers` crate loses track of where the
//! inserted text comes from, and panics at the next step.

use serde_json::Value;
use tokenizers::utils::SysRegex;

use crate::TokenizerError;
use crate::error::shorten;

/// Refuses a normaliser in which a step inserts text at the start of a text.
pub(super) fn check(normalizer: &Value) -> Result<(), TokenizerError> {
    match inserting(normalizer) {
        None => Ok(()),
        Some(pattern) => Err(TokenizerError::Pipeline {
            pointer: "/normalizer",
            message: format!(
                "the pattern {:?} of a Replace matches the empty text",
                shorten(pattern)
            ),
        }),
    }
}

/// Returns the pattern of such a step. Recursive: the JSON parser bounds the depth.
fn inserting(part: &Value) -> Option<&str> {
    match part {
        Value::Array(steps) => steps.iter().find_map(inserting),
        Value::Object(fields) => match fields.get("content").and_then(Value::as_str) {
            // Nothing is inserted.
            Some("") => None,
            Some(_) => {
                let pattern = |kind| part.pointer(kind).and_then(Value::as_str);
                let string = pattern("/pattern/String").filter(|text| text.is_empty());
                string.or_else(|| pattern("/pattern/Regex").filter(|regex| matches_nothing(regex)))
            }
            None => fields.values().find_map(inserting),
        },
        _ => None,
    }
}

/// Returns whether a regular expression matches the empty text at the start of some text, as far as texts of one
/// character show it. An invalid expression does not.
fn matches_nothing(regex: &str) -> bool {
    let Ok(regex) = SysRegex::new(regex) else {
        return false;
    };
    let characters = ('\0'..='\u{7F}').chain(['\u{A0}', 'é', '▁', '漢']);
    let mut texts = characters.map(String::from);
    texts.any(|text| regex.find_iter(&text).next() == Some((0, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replacements_of_nothing_are_refused() {
        for pattern in [
            json!({"String": ""}),
            json!({"Regex": "x*"}),
            json!({"Regex": r"\b"}),
            json!({"Regex": "(?=b)"}),
        ] {
            let steps = |content: &str| {
                let replace = json!({"type": "Replace", "pattern": pattern, "content": content});
                json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, replace]})
            };
            let error = check(&steps("b")).unwrap_err().to_string();
            assert!(error.starts_with("/normalizer"), "{pattern}: {error}");
            assert!(error.contains("the empty text"), "{pattern}: {error}");
            // What inserts nothing changes nothing.
            assert!(check(&steps("")).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_match_the_empty_text_are_found() {
        for regex in [
            "", "x*", r"\b", "^", "(?m)$", "(?=b)", "(?<!x)", "a|", "(a?)?", r"(?!\S)",
        ] {
            assert!(matches_nothing(regex), "{regex}");
        }
        for regex in [
            " {2,}",
            r"\s+",
            r"\b\w",
            "(?<=a)b",
            r"(?<=\d)(?=\d)",
            "(?!x) +",
            "$",
            "(",
            "``|''",
        ] {
            assert!(!matches_nothing(regex), "{regex}");
        }
    }
}
