//! Determines the scheme of a tokenizer file's strings, or refuses the file.

use super::{ByteSpelling, Scheme};
use crate::VocabularyError;
use crate::error::check_size;
use crate::file::{Model, Pieces, TokenizerFile};
use serde_json::Value;

const MAX_REPLACEMENT_BYTES: usize = 64;
/// The maximum number of steps of a decoder, each of which is applied to every token; real ones have up to five.
const MAX_STEPS: usize = 16;

/// The scheme of a file.
pub(crate) fn detect<M>(file: &TokenizerFile<M>) -> Result<Scheme, VocabularyError> {
    check_model(&file.model)?;
    let mut reader = DecoderReader::default();
    reader.step(&file.decoder, "/decoder")?;
    let scheme = Scheme {
        replacements: reader.replacements,
        bytes: reader.bytes.unwrap_or(ByteSpelling::Utf8),
    };
    let encodes_bytes = has_type(&file.pre_tokenizer, "pretokenizers", "ByteLevel")
        || has_type(&file.normalizer, "normalizers", "ByteLevel");
    match scheme.bytes {
        ByteSpelling::ByteLevel if !encodes_bytes => Err(VocabularyError::unsupported(
            "/pre_tokenizer",
            type_name(&file.pre_tokenizer),
            "the decoder is ByteLevel, and nothing on the way in is",
        )),
        ByteSpelling::ByteLevel => Ok(scheme),
        _ if encodes_bytes => Err(VocabularyError::unsupported(
            "/decoder",
            type_name(&file.decoder),
            "the way in is ByteLevel, and the decoder is not",
        )),
        ByteSpelling::Utf8 if file.model.byte_fallback == Some(true) => {
            Err(VocabularyError::unsupported(
                "/decoder",
                type_name(&file.decoder),
                "the model falls back to bytes, and the decoder has no ByteFallback",
            ))
        }
        _ if !scheme.replacements.iter().any(|(_, to)| to == " ") => {
            Err(VocabularyError::unsupported(
                "/decoder",
                type_name(&file.decoder),
                "neither ByteLevel nor SentencePiece's way with spaces (Metaspace, or Replace by a space)",
            ))
        }
        _ => Ok(scheme),
    }
}

/// Refuses models whose strings mean something else at other positions in a word.
fn check_model<M>(model: &Model<M>) -> Result<(), VocabularyError> {
    let known = "only BPE and Unigram models are understood";
    match (model.kind.as_deref(), &model.vocab) {
        (Some("BPE" | "Unigram"), Pieces::Missing) => Err(VocabularyError::unsupported(
            "/model/vocab",
            "missing",
            known,
        )),
        (Some("BPE"), Pieces::Ids(_)) if model.merges.is_some() => Ok(()),
        (Some("BPE"), Pieces::Ids(_)) => Err(VocabularyError::unsupported(
            "/model/merges",
            "missing",
            "a BPE model has merges",
        )),
        (Some("BPE"), Pieces::Scores(_)) => Err(VocabularyError::unsupported(
            "/model/vocab",
            "a list",
            "a BPE model maps tokens to ids",
        )),
        (Some("Unigram"), Pieces::Scores(_)) => Ok(()),
        (Some("Unigram"), Pieces::Ids(_)) => Err(VocabularyError::unsupported(
            "/model/vocab",
            "a map",
            "a Unigram model lists tokens with scores",
        )),
        (Some(other), _) => Err(VocabularyError::unsupported("/model/type", other, known)),
        // Old files do not name the type; only BPE has merges, and only Unigram has scores.
        (None, Pieces::Ids(_)) if model.merges.is_some() => Ok(()),
        (None, Pieces::Scores(_)) if model.merges.is_none() => Ok(()),
        (None, _) => Err(VocabularyError::unsupported(
            "/model/type",
            "missing",
            known,
        )),
    }?;
    for (name, value) in [
        (
            "/model/continuing_subword_prefix",
            &model.continuing_subword_prefix,
        ),
        ("/model/end_of_word_suffix", &model.end_of_word_suffix),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            return Err(VocabularyError::unsupported(
                name,
                format_args!("{value:?}"),
                "tokens that mark their place in a word have no bytes of their own",
            ));
        }
    }
    Ok(())
}

/// Reads the steps of a decoder in order.
#[derive(Default)]
struct DecoderReader {
    steps: usize,
    replacements: Vec<(String, String)>,
    bytes: Option<ByteSpelling>,
    /// Whether the following steps see the joined text, not tokens.
    joined: bool,
}

impl DecoderReader {
    fn step(&mut self, step: &Value, pointer: &str) -> Result<(), VocabularyError> {
        let refuse = |reason| {
            Err(VocabularyError::unsupported(
                pointer,
                type_name(step),
                reason,
            ))
        };
        self.steps += 1;
        check_size("the number of the decoder's steps", self.steps, MAX_STEPS)?;
        match step.get("type").and_then(Value::as_str) {
            Some("Sequence") => {
                let Some(steps) = step.get("decoders").and_then(Value::as_array) else {
                    return refuse("a Sequence has a list of decoders");
                };
                for (index, step) in steps.iter().enumerate() {
                    self.step(step, &format!("{pointer}/decoders/{index}"))?;
                }
                Ok(())
            }
            Some("ByteLevel") => self.spell(ByteSpelling::ByteLevel, step, pointer),
            Some("ByteFallback") => self.spell(ByteSpelling::ByteFallback, step, pointer),
            Some("Replace") => {
                let pattern = step.pointer("/pattern/String").and_then(Value::as_str);
                let content = step.get("content").and_then(Value::as_str);
                let (Some(pattern), Some(content)) = (pattern, content) else {
                    return refuse("only a Replace of a string by a string is understood");
                };
                if pattern.is_empty() {
                    return refuse("a Replace of nothing has no meaning here");
                }
                self.replace(pattern, content, step, pointer)
            }
            Some("Metaspace") => {
                let replacement = step.get("replacement").and_then(Value::as_str);
                match replacement.filter(|text| text.chars().count() == 1) {
                    Some(text) => self.replace(text, " ", step, pointer),
                    None => refuse("a Metaspace has one character as its replacement"),
                }
            }
            Some("Fuse") => {
                self.joined = true;
                Ok(())
            }
            // Stripping the start of the text does not affect tokens after other text.
            Some("Strip") if !self.joined => {
                refuse("a Strip of every token, instead of the text, is not understood")
            }
            Some("Strip") if step.get("stop").and_then(Value::as_u64) != Some(0) => {
                refuse("a Strip at the end of the text takes bytes from its last tokens")
            }
            Some("Strip") => Ok(()),
            Some(_) => refuse("this decoder is not understood"),
            None if step.is_null() => refuse("a tokenizer without a decoder is not understood"),
            None => refuse("a decoder without a type is not understood"),
        }
    }

    fn spell(
        &mut self,
        bytes: ByteSpelling,
        step: &Value,
        pointer: &str,
    ) -> Result<(), VocabularyError> {
        self.check_before_bytes(step, pointer)?;
        self.bytes = Some(bytes);
        // ByteLevel decodes all tokens into one string.
        self.joined = bytes == ByteSpelling::ByteLevel;
        Ok(())
    }

    fn replace(
        &mut self,
        from: &str,
        to: &str,
        step: &Value,
        pointer: &str,
    ) -> Result<(), VocabularyError> {
        self.check_before_bytes(step, pointer)?;
        // Real ones are one character long; a long one would make every token large.
        if to.len() > MAX_REPLACEMENT_BYTES {
            return Err(VocabularyError::TooLarge {
                what: "a decoder's replacement in bytes",
                size: to.len() as u64,
                limit: MAX_REPLACEMENT_BYTES as u64,
            });
        }
        self.replacements.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    /// After bytes or joined text, a step would look across token boundaries.
    fn check_before_bytes(&self, step: &Value, pointer: &str) -> Result<(), VocabularyError> {
        if self.bytes.is_none() && !self.joined {
            return Ok(());
        }
        Err(VocabularyError::unsupported(
            pointer,
            type_name(step),
            "this decoder behind a ByteFallback, ByteLevel or Fuse is not understood",
        ))
    }
}

/// Whether a part, or an element of its sequence, has this type.
fn has_type(part: &Value, list: &str, name: &str) -> bool {
    part.get("type").and_then(Value::as_str) == Some(name)
        || part
            .get(list)
            .and_then(Value::as_array)
            .is_some_and(|parts| parts.iter().any(|part| has_type(part, list, name)))
}

fn type_name(part: &Value) -> String {
    match part.get("type").and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None => part.to_string(),
    }
}
