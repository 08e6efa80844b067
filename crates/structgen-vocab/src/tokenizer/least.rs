//! A lower bound of the number of tokens of a text, by its length alone.
//!
//! To encode a text takes time and memory in proportion to its length. Whoever only accepts short prompts can refuse
//! one that is far too long without that.

use crate::Vocabulary;
use crate::file::{Merges, Model, TokenizerFile};
use serde_json::Value;

/// What is known of a tokenizer: every counted byte of a text is part of a token, of which none has more than
/// `longest`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastTokens {
    longest: usize,
    counted: Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    All,
    /// Normalisation may shorten other characters: it composes some, and replaces others by shorter ones.
    Ascii,
}

impl LeastTokens {
    /// Returns `None` for a tokenizer with a step that may remove text, or that is not known.
    pub(super) fn of(file: &TokenizerFile<Merges>, vocabulary: &Vocabulary) -> Option<Self> {
        if file.charsmap.is_some() {
            return None;
        }
        let mut steps = Steps::default();
        steps.add(&file.normalizer)?;
        steps.add(&file.pre_tokenizer)?;
        spells_every_byte(&file.model, steps.has_bytes, vocabulary).then_some(())?;
        let counted = match steps.has_bytes && !steps.changes_text {
            true => Counted::All,
            false => Counted::Ascii,
        };
        let mut longest = vocabulary.max_token_len().max(1);
        for token in &file.added_tokens {
            // It would take all whitespace around it.
            if token.lstrip || token.rstrip {
                return None;
            }
            let factor = match counted == Counted::All || token.content.is_ascii() {
                true => 1,
                false => MAX_GROWTH,
            };
            longest = longest.max(token.content.len().saturating_mul(factor));
        }
        Some(Self { longest, counted })
    }

    pub(super) fn count(self, text: &str) -> usize {
        let bytes = match self.counted {
            Counted::All => text.len(),
            Counted::Ascii => text.bytes().filter(u8::is_ascii).count(),
        };
        bytes.div_ceil(self.longest)
    }
}

/// The maximum factor by which a Unicode normal form lengthens a text (UAX #15).
const MAX_GROWTH: usize = 11;

/// What the steps before the model do to a text.
#[derive(Default)]
struct Steps {
    /// Whether every byte becomes a character of the model's alphabet.
    has_bytes: bool,
    changes_text: bool,
}

impl Steps {
    /// Adds a normaliser or pre-tokenizer that keeps every ASCII character as one of its own; `None` for others.
    fn add(&mut self, step: &Value) -> Option<()> {
        if step.is_null() {
            return Some(());
        }
        let is_removing = || step.get("behavior").and_then(Value::as_str) == Some("Removed");
        match step.get("type")?.as_str()? {
            "Sequence" => {
                let steps = { step.get("normalizers") }.or_else(|| step.get("pretokenizers"))?;
                return steps.as_array()?.iter().try_for_each(|step| self.add(step));
            }
            "ByteLevel" => self.has_bytes = true,
            "Split" | "Punctuation" if !is_removing() => {}
            "Digits" => {}
            // ASCII characters have no normal form but themselves, and no two of them compose.
            "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "Prepend" | "Metaspace" => {
                self.changes_text = true;
            }
            "Replace" => {
                let replaced = step.pointer("/pattern/String").and_then(Value::as_str);
                let is_space = replaced == Some(" ");
                (is_space && step.get("content")?.as_str()? == "▁").then_some(())?;
                self.changes_text = true;
            }
            _ => return None,
        }
        Some(())
    }
}

/// Returns whether no character of a text becomes an unknown token, of which one may stand for many characters.
fn spells_every_byte(model: &Model<Merges>, has_bytes: bool, vocabulary: &Vocabulary) -> bool {
    let is_empty = |affix: &Option<String>| affix.as_deref().unwrap_or_default().is_empty();
    let is_in_utf8 = |byte: usize| !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
    let tokens = vocabulary.byte_tokens().iter().enumerate();
    (has_bytes || model.byte_fallback == Some(true))
        && is_empty(&model.continuing_subword_prefix)
        && is_empty(&model.end_of_word_suffix)
        && tokens
            .filter(|(byte, _)| is_in_utf8(*byte))
            .all(|(_, token)| token.is_some())
}
