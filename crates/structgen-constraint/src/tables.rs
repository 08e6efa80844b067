//! What every grammar shares of one vocabulary: what its tokens are inside a JSON string.

use std::sync::Arc;

use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

/// A vocabulary's tokens by what they are inside a JSON string.
///
/// Within a string that may hold anything, most tokens need no walk: plain text is allowed by its length alone, and of a token that
/// closes the string only what follows the quote matters. Tokens with a control byte in the string, or with bytes that are no
/// UTF-8, are never allowed there.
#[derive(Debug)]
pub struct VocabularyTables {
    vocabulary: Arc<Vocabulary>,
    /// By `n`: the tokens of at most `n` code points that are plain text; the last entry has them all. A part of a character
    /// at the end counts as one.
    plain: Vec<TokenMask>,
    /// Tokens with a closing quote behind plain text.
    closing: TokenTrie,
    /// The same tokens by what follows the quote.
    remainders: TokenTrie,
    /// Those of them that end with the quote.
    at_quote: Vec<TokenId>,
    /// Tokens with an escape in the string.
    escaped: TokenTrie,
}

/// What a token is inside a JSON string.
enum Inside {
    /// Plain text of so many code points.
    Plain(usize),
    /// Plain text, and a closing quote at this offset.
    Closing(usize),
    /// Something with a backslash.
    Escaped,
    /// Nothing that can stand there.
    Never,
}

impl VocabularyTables {
    /// Sorts a vocabulary's tokens. To be done once per tokenizer.
    #[must_use]
    pub fn new(vocabulary: Arc<Vocabulary>) -> Self {
        let mut plain: Vec<Vec<TokenId>> = vec![Vec::new()];
        let mut closing: Vec<(TokenId, &[u8])> = Vec::new();
        let mut remainders: Vec<(TokenId, &[u8])> = Vec::new();
        let mut at_quote = Vec::new();
        let mut escaped: Vec<(TokenId, &[u8])> = Vec::new();
        for (id, bytes) in vocabulary.tokens() {
            match inside(bytes) {
                Inside::Plain(length) => {
                    if plain.len() <= length {
                        plain.resize_with(length + 1, Vec::new);
                    }
                    plain[length].push(id);
                }
                Inside::Closing(quote) => {
                    closing.push((id, bytes));
                    match &bytes[quote + 1..] {
                        [] => at_quote.push(id),
                        remainder => remainders.push((id, remainder)),
                    }
                }
                Inside::Escaped => escaped.push((id, bytes)),
                Inside::Never => {}
            }
        }
        let mut so_far = TokenMask::new(vocabulary.len());
        let up_to = |tokens: &Vec<TokenId>| {
            so_far.allow_all(tokens);
            so_far.clone()
        };
        let plain = plain.iter().map(up_to).collect();
        let closing = TokenTrie::from_tokens(closing);
        let remainders = TokenTrie::from_tokens(remainders);
        let escaped = TokenTrie::from_tokens(escaped);
        Self {
            vocabulary,
            plain,
            closing,
            remainders,
            at_quote,
            escaped,
        }
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The tokens that are plain text of at most so many code points.
    #[must_use]
    pub fn plain(&self, code_points: u32) -> &TokenMask {
        &self.plain[(code_points as usize).min(self.plain.len() - 1)]
    }

    /// The tokens with a closing quote behind plain text.
    #[must_use]
    pub fn closing(&self) -> &TokenTrie {
        &self.closing
    }

    /// The tokens of [`closing`](VocabularyTables::closing) that go on behind the quote, by what follows it.
    #[must_use]
    pub fn remainders(&self) -> &TokenTrie {
        &self.remainders
    }

    /// The tokens of [`closing`](VocabularyTables::closing) that end with the quote.
    #[must_use]
    pub fn at_quote(&self) -> &[TokenId] {
        &self.at_quote
    }

    /// The tokens with an escape in the string.
    #[must_use]
    pub fn escaped(&self) -> &TokenTrie {
        &self.escaped
    }

    /// About how many bytes the tables take beside the vocabulary.
    #[must_use]
    pub fn memory(&self) -> usize {
        let masks: usize = self.plain.iter().map(|mask| mask.words().len() * 8).sum();
        let tries = self.closing.len() + self.remainders.len() + self.escaped.len();
        masks + tries * 12
    }
}

fn inside(bytes: &[u8]) -> Inside {
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let end = bytes.iter().position(special).unwrap_or(bytes.len());
    let (text, is_partial) = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => (text, false),
        Err(error) => {
            // Only the token's end can be in the middle of a character.
            let is_cut_off = error.error_len().is_none() && end == bytes.len();
            match std::str::from_utf8(&bytes[..error.valid_up_to()]) {
                Ok(text) if is_cut_off => (text, true),
                _ => return Inside::Never,
            }
        }
    };
    match bytes.get(end) {
        None => Inside::Plain(text.chars().count() + usize::from(is_partial)),
        Some(b'"') => Inside::Closing(end),
        Some(b'\\') => Inside::Escaped,
        Some(_) => Inside::Never,
    }
}
