//! What every grammar shares of one vocabulary: what its tokens are made of, and what they are inside a JSON string.

use std::sync::Arc;

use structgen_vocab::{TokenId, TokenTrie, Vocabulary};

use crate::signs::Signs;
use crate::texts::Texts;

/// What a vocabulary's tokens are made of, found out once per tokenizer and shared by all grammars.
///
/// Most masks are those of a place inside a string, and most of their tokens need no walk: text of the right characters is allowed by
/// what it is made of and by its length alone, and of a token that closes the string mostly only what follows the quote matters. Tokens
/// with a control byte in the string, or with bytes that are no UTF-8, are never allowed there.
#[derive(Debug)]
pub struct VocabularyTables {
    vocabulary: Arc<Vocabulary>,
    /// What the subtrees of the vocabulary's trie are made of.
    signs: Signs,
    texts: Texts,
    /// Tokens with a closing quote behind plain text.
    closing: SignedTrie,
    /// The same tokens by what follows the quote.
    remainders: SignedTrie,
    /// Those of them that end with the quote.
    at_quote: Vec<TokenId>,
    /// Tokens with an escape in the string.
    escaped: SignedTrie,
}

/// A trie with what its subtrees are made of.
#[derive(Debug)]
pub(crate) struct SignedTrie {
    pub(crate) trie: TokenTrie,
    pub(crate) signs: Signs,
}

impl SignedTrie {
    fn new(tokens: Vec<(TokenId, &[u8])>) -> Self {
        let trie = TokenTrie::from_tokens(tokens);
        let signs = Signs::new(&trie);
        Self { trie, signs }
    }

    fn memory(&self) -> usize {
        self.trie.len() * 12 + self.signs.memory()
    }
}

/// What a token is inside a JSON string.
enum Inside {
    /// Plain text, and a closing quote at this offset.
    Closing(usize),
    /// Something with a backslash.
    Escaped,
    /// Plain text, or nothing that can stand there.
    Other,
}

impl VocabularyTables {
    /// Sorts a vocabulary's tokens. To be done once per tokenizer.
    #[must_use]
    pub fn new(vocabulary: Arc<Vocabulary>) -> Self {
        let strings = || {
            let mut closing: Vec<(TokenId, &[u8])> = Vec::new();
            let mut remainders: Vec<(TokenId, &[u8])> = Vec::new();
            let mut at_quote = Vec::new();
            let mut escaped: Vec<(TokenId, &[u8])> = Vec::new();
            for (id, bytes) in vocabulary.tokens() {
                match inside(bytes) {
                    Inside::Closing(quote) => {
                        closing.push((id, bytes));
                        match &bytes[quote + 1..] {
                            [] => at_quote.push(id),
                            remainder => remainders.push((id, remainder)),
                        }
                    }
                    Inside::Escaped => escaped.push((id, bytes)),
                    Inside::Other => {}
                }
            }
            let closing = SignedTrie::new(closing);
            let remainders = SignedTrie::new(remainders);
            (closing, remainders, at_quote, SignedTrie::new(escaped))
        };
        let ((texts, signs), (closing, remainders, at_quote, escaped)) = rayon::join(
            || rayon::join(|| Texts::new(&vocabulary), || Signs::new(vocabulary.trie())),
            strings,
        );
        Self {
            vocabulary,
            signs,
            texts,
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

    /// What the subtrees of the vocabulary's trie are made of.
    pub(crate) fn signs(&self) -> &Signs {
        &self.signs
    }

    /// The tokens that are texts.
    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The tokens with a closing quote behind plain text.
    pub(crate) fn closing(&self) -> &SignedTrie {
        &self.closing
    }

    /// The tokens of [`closing`](VocabularyTables::closing) that go on behind the quote, by what follows it.
    pub(crate) fn remainders(&self) -> &SignedTrie {
        &self.remainders
    }

    /// The tokens of [`closing`](VocabularyTables::closing) that end with the quote.
    pub(crate) fn at_quote(&self) -> &[TokenId] {
        &self.at_quote
    }

    /// The tokens with an escape in the string.
    pub(crate) fn escaped(&self) -> &SignedTrie {
        &self.escaped
    }

    /// About how many bytes the tables take beside the vocabulary.
    #[must_use]
    pub fn memory(&self) -> usize {
        let tries = [&self.closing, &self.remainders, &self.escaped];
        self.signs.memory()
            + self.texts.memory()
            + tries.map(SignedTrie::memory).iter().sum::<usize>()
    }
}

fn inside(bytes: &[u8]) -> Inside {
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let Some(end) = bytes.iter().position(special) else {
        return Inside::Other;
    };
    match bytes[end] {
        _ if std::str::from_utf8(&bytes[..end]).is_err() => Inside::Other,
        b'"' => Inside::Closing(end),
        b'\\' => Inside::Escaped,
        _ => Inside::Other,
    }
}
