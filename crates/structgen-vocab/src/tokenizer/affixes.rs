//! The special tokens that a tokenizer's post-processor adds around a text.

use crate::names::checked_id;
use crate::{TokenId, TokenizerError, Vocabulary};
use serde_json::Value;

/// The maximum number of tokens around a text, and of processors; real tokenizers have a few.
const MAX_TOKENS: usize = 1024;
const MAX_PROCESSORS: usize = 64;

/// The tokens around a single text.
///
/// They are read from the file rather than left to the `tokenizers` crate, which mixes the ids of the file with ids of
/// its own numbering, and panics on a template that names an unknown token.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Affixes {
    pub(super) before: Vec<TokenId>,
    pub(super) after: Vec<TokenId>,
}

impl Affixes {
    /// Reads the part of the file at `/post_processor`.
    pub(super) fn read(part: &Value, vocabulary: &Vocabulary) -> Result<Self, TokenizerError> {
        let mut affixes = Self::default();
        affixes.wrap(part, vocabulary, &mut 0)?;
        Ok(affixes)
    }

    /// Adds the tokens of one processor around those of the earlier ones, and counts the processors.
    fn wrap(
        &mut self,
        part: &Value,
        vocabulary: &Vocabulary,
        processors: &mut usize,
    ) -> Result<(), TokenizerError> {
        if part.is_null() {
            return Ok(());
        }
        *processors += 1;
        if *processors > MAX_PROCESSORS {
            return Err(error(format!(
                "at most {MAX_PROCESSORS} processors are accepted"
            )));
        }
        match part.get("type").and_then(Value::as_str) {
            // Only changes offsets, which are not used here.
            Some("ByteLevel") => Ok(()),
            Some("BertProcessing" | "RobertaProcessing") => {
                let id = |name| {
                    let id = part.get(name).and_then(|token| token.get(1));
                    token_id(id.unwrap_or(&Value::Null), vocabulary)
                };
                self.before.insert(0, id("cls")?);
                self.after.push(id("sep")?);
                Ok(())
            }
            Some("TemplateProcessing") => self.wrap_template(part, vocabulary),
            Some("Sequence") => {
                let list = part.get("processors").and_then(Value::as_array);
                for processor in list.ok_or_else(|| error("a Sequence without processors"))? {
                    self.wrap(processor, vocabulary, processors)?;
                }
                Ok(())
            }
            Some(other) => Err(error(format!(
                "{} is not understood",
                crate::error::shorten(other)
            ))),
            None => Err(error("there is no type")),
        }
    }

    fn wrap_template(
        &mut self,
        part: &Value,
        vocabulary: &Vocabulary,
    ) -> Result<(), TokenizerError> {
        let pieces = part.get("single").and_then(Value::as_array);
        let mut before = Vec::new();
        let mut after = Vec::new();
        let mut behind_text = false;
        for piece in pieces.ok_or_else(|| error("a template without a list `single`"))? {
            if let Some(name) = piece.pointer("/SpecialToken/id").and_then(Value::as_str) {
                let ids = part
                    .get("special_tokens")
                    .and_then(|tokens| tokens.get(name)?.get("ids")?.as_array())
                    .ok_or_else(|| {
                        let name = crate::error::shorten(name);
                        error(format!(
                            "the template names {name:?} without giving its ids"
                        ))
                    })?;
                for id in ids {
                    let id = token_id(id, vocabulary)?;
                    if before.len() + after.len() == MAX_TOKENS {
                        return Err(error(format!(
                            "at most {MAX_TOKENS} tokens around a text are accepted"
                        )));
                    }
                    if behind_text { &mut after } else { &mut before }.push(id);
                }
            } else if piece.pointer("/Sequence/id").and_then(Value::as_str) == Some("A")
                && !behind_text
            {
                behind_text = true;
            } else {
                return Err(error("the template has not exactly one sequence A"));
            }
        }
        if !behind_text {
            return Err(error("the template has not exactly one sequence A"));
        }
        self.before.splice(0..0, before);
        self.after.extend(after);
        Ok(())
    }
}

fn token_id(id: &Value, vocabulary: &Vocabulary) -> Result<TokenId, TokenizerError> {
    let id = id
        .as_u64()
        .ok_or_else(|| error("a token is named without its id"))?;
    let id = checked_id(id)?;
    match vocabulary.token_name(id) {
        Some(_) => Ok(id),
        None => Err(error(format!("the vocabulary has no token {id}"))),
    }
}

fn error(message: impl Into<String>) -> TokenizerError {
    TokenizerError::Pipeline {
        pointer: "/post_processor",
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(part: &Value) -> Result<(Vec<u32>, Vec<u32>), String> {
        let names = ["<s>", "</s>", "<cls>", "<sep>"];
        let specials: Vec<(TokenId, &str)> = (0..).map(TokenId).zip(names).collect();
        let vocabulary = Vocabulary::from_tokens([], &specials).unwrap();
        let affixes = Affixes::read(part, &vocabulary).map_err(|error| error.to_string())?;
        let ids = |list: &[TokenId]| list.iter().map(|id| id.0).collect();
        Ok((ids(&affixes.before), ids(&affixes.after)))
    }

    fn template(single: &Value) -> Value {
        json!({
            "type": "TemplateProcessing",
            "single": single,
            "pair": [],
            "special_tokens": {
                "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                "both": {"id": "both", "ids": [2, 3], "tokens": ["<cls>", "<sep>"]},
                "far": {"id": "far", "ids": [99], "tokens": ["far"]},
            },
        })
    }

    #[test]
    fn processors_put_their_tokens_around_each_other() {
        let a = json!({"Sequence": {"id": "A", "type_id": 0}});
        let s = json!({"SpecialToken": {"id": "<s>", "type_id": 0}});
        let both = json!({"SpecialToken": {"id": "both", "type_id": 0}});
        let inner = template(&json!([s, a, both]));
        assert_eq!(read(&Value::Null), Ok((vec![], vec![])));
        assert_eq!(read(&inner), Ok((vec![0], vec![2, 3])));
        let roberta = json!({"type": "RobertaProcessing", "cls": ["<cls>", 2], "sep": ["</s>", 1]});
        let list = json!({
            "type": "Sequence",
            "processors": [{"type": "ByteLevel"}, inner, roberta],
        });
        assert_eq!(read(&list), Ok((vec![2, 0], vec![2, 3, 1])));
    }

    #[test]
    fn what_is_broken_or_unknown_is_refused() {
        let a = json!({"Sequence": {"id": "A", "type_id": 0}});
        let b = json!({"Sequence": {"id": "B", "type_id": 0}});
        let named = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
        for (part, message) in [
            (template(&json!([named("<s>")])), "exactly one sequence A"),
            (template(&json!([a, a])), "exactly one sequence A"),
            (template(&json!([b])), "exactly one sequence A"),
            (
                template(&json!([named("gone"), a])),
                "without giving its ids",
            ),
            (template(&json!([named("far"), a])), "no token 99"),
            (template(&Value::Null), "without a list"),
            (json!({"type": "Sequence"}), "without processors"),
            (json!({"type": "Other"}), "Other is not understood"),
            (json!({"type": "BertProcessing"}), "without its id"),
            (json!([]), "no type"),
        ] {
            let error = read(&part).unwrap_err();
            assert!(error.contains(message), "{part}: {error}");
        }
    }
}
