//! What every grammar shares of one vocabulary: the tokens that are nothing but the inside of a JSON string.

use std::sync::Arc;

use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

/// A vocabulary's tokens, split into those that are plain string text and the rest.
///
/// Within a string that may hold anything, the plain tokens are allowed by their length in code points alone, and only the
/// others have to be walked: those with quotes, escapes, control bytes, or parts of characters.
#[derive(Debug)]
pub struct VocabularyTables {
    vocabulary: Arc<Vocabulary>,
    /// By `n`: the plain tokens of at most `n` code points; the last entry has them all.
    plain: Vec<TokenMask>,
    others: TokenTrie,
}

impl VocabularyTables {
    /// Splits a vocabulary. A walk over all of its tokens; to be done once per tokenizer.
    #[must_use]
    pub fn new(vocabulary: Arc<Vocabulary>) -> Self {
        let mut by_length: Vec<Vec<TokenId>> = Vec::new();
        let mut others: Vec<(TokenId, &[u8])> = Vec::new();
        for (id, bytes) in vocabulary.tokens() {
            match plain_length(bytes) {
                Some(length) => {
                    if by_length.len() <= length {
                        by_length.resize_with(length + 1, Vec::new);
                    }
                    by_length[length].push(id);
                }
                None => others.push((id, bytes)),
            }
        }
        let mut so_far = TokenMask::new(vocabulary.len());
        let mut plain = Vec::with_capacity(by_length.len().max(1));
        for tokens in &by_length {
            so_far.allow_all(tokens);
            plain.push(so_far.clone());
        }
        if plain.is_empty() {
            plain.push(so_far);
        }
        let others = TokenTrie::from_tokens(others);
        Self {
            vocabulary,
            plain,
            others,
        }
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The plain tokens of at most so many code points.
    #[must_use]
    pub fn plain(&self, code_points: u32) -> &TokenMask {
        &self.plain[(code_points as usize).min(self.plain.len() - 1)]
    }

    /// The tokens that are not plain.
    #[must_use]
    pub fn others(&self) -> &TokenTrie {
        &self.others
    }

    /// About how many bytes the tables take beside the vocabulary.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.plain
            .iter()
            .map(|mask| mask.words().len() * 8)
            .sum::<usize>()
            + self.others.len() * 12
    }
}

/// How many code points the bytes are, if they are whole characters that a JSON string takes as they are.
fn plain_length(bytes: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    (!bytes.is_empty() && bytes.iter().all(|&byte| is_plain(byte))).then(|| text.chars().count())
}
