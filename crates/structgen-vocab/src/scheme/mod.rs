//! Which bytes a token's string in the file stands for.
//!
//! The decoder of the file decides, because the decoder is what turns tokens into text. Only
//! decoders are understood under which every token has bytes of its own wherever it stands
//! after other text; the rest is refused by name.

mod byte_level;
mod detect;
mod sentencepiece;

use crate::Vocabulary;

pub(crate) use detect::detect;

/// How the strings of a vocabulary spell bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    /// Strings and what stands for them in the text, applied in order, before the bytes.
    replacements: Vec<(String, String)>,
    bytes: ByteSpelling,
}

/// How a string, replacements done, spells bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteSpelling {
    /// One character for each byte, by GPT-2's table.
    ByteLevel,
    /// `<0xHH>` is a byte, any other string is itself.
    ByteFallback,
    /// Every string is itself.
    Utf8,
}

impl Scheme {
    /// The bytes of a token after other text; of a token that is too long, too many bytes.
    pub(crate) fn token_bytes(&self, name: &str) -> Vec<u8> {
        if self.replacements.is_empty() {
            return self.bytes.spell(name);
        }
        let mut text = name.to_owned();
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
            // Replacements can double a text again and again. The caller refuses this one.
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
