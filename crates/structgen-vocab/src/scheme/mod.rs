//! Maps the strings of tokens in a file to bytes.
//!
//! The decoder in the file determines this, since it turns tokens into text. A decoder is supported only if every token
//! has the same bytes at any position after other text; all others are refused by name.

mod byte_level;
mod detect;
mod sentencepiece;

use crate::Vocabulary;

pub(crate) use detect::detect;

/// How the strings of a vocabulary spell bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    /// Replacements in a string, applied in order before its bytes are read.
    replacements: Vec<(String, String)>,
    bytes: ByteSpelling,
}

/// How a string spells bytes, after replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteSpelling {
    /// One character for each byte, by GPT-2's table.
    ByteLevel,
    /// `<0xHH>` is a byte; any other string stands for itself.
    ByteFallback,
    /// Every string stands for itself.
    Utf8,
}

impl Scheme {
    /// The bytes of a token after other text; for a token that is too long, more than the maximum number of bytes.
    pub(crate) fn token_bytes(&self, name: &str) -> Vec<u8> {
        if self.replacements.is_empty() {
            return self.bytes.spell(name);
        }
        let mut text = name.to_owned();
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
            // Replacements can double a text repeatedly. The caller rejects a text of this size.
            if text.len() > Vocabulary::MAX_TOKEN_BYTES {
                return text.into_bytes();
            }
        }
        self.bytes.spell(&text)
    }
}

impl ByteSpelling {
    fn spell(self, text: &str) -> Vec<u8> {
        match self {
            Self::ByteLevel => byte_level::bytes(text),
            Self::ByteFallback => match sentencepiece::fallback_byte(text) {
                Some(byte) => vec![byte],
                None => text.as_bytes().to_vec(),
            },
            Self::Utf8 => text.as_bytes().to_vec(),
        }
    }
}
