//! Tables that depend on the vocabulary alone: which characters tokens have, and what tokens are inside a JSON string.

mod any_string;
mod before_quote;
mod saved;
mod structure;

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_automata::{ByteClasses, SHORT_TEXT, TokenLengths, Utf8};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

use crate::Mask;
use crate::signs::Signs;
use crate::texts::Texts;

pub(crate) use any_string::{AnyString, AnyStrings};
pub(crate) use before_quote::{BeforeQuote, ClosingTokens};
pub use saved::TablesSource;
use structure::Structure;

/// What depends on a vocabulary alone, computed once per tokenizer and shared by all grammars.
///
/// Most masks are requested inside a string, and most tokens need no walk there. Plain text is allowed by its
/// characters and its length alone, and for a token that closes the string, usually only what follows the quote
/// matters. Tokens with a control byte in the string, or with invalid UTF-8, are never allowed there.
#[derive(Debug)]
pub struct VocabularyTables {
    vocabulary: Arc<Vocabulary>,
    /// Summaries of the subtrees of the vocabulary's trie.
    signs: Signs,
    texts: Texts,
    /// The tokens that begin with a space, by what follows it.
    spaced: Texts,
    strings: Strings,
    /// The tokens of more than [`SHORT_TEXT`] characters.
    long: SignedTrie,
    /// The first byte of every token, or 0 if it has none.
    first_bytes: Box<[u8]>,
    /// The maximum number of whitespace bytes in a row in a token.
    longest_gap: u16,
    /// What tokens have at most.
    structure: Structure,
    /// The tokens that end within a character, computed on demand.
    cut_off: OnceLock<TokenMask>,
}

/// The tokens that are more than text inside a JSON string.
#[derive(Debug)]
pub(crate) struct Strings {
    /// Tokens with a closing quote after plain text.
    pub(crate) closing: SignedTrie,
    /// The same tokens by what follows the quote.
    pub(crate) remainders: SignedTrie,
    /// The tokens of `closing` that end with the quote.
    pub(crate) at_quote: Vec<TokenId>,
    /// The byte classes that these tokens have before the quote.
    prefixes: FxHashMap<TokenId, ByteClasses>,
    /// Tokens with an escape in the string.
    pub(crate) escaped: SignedTrie,
    /// The tokens of `escaped` that close the string after an escape.
    pub(crate) escaped_closing: SignedTrie,
    /// Strings that may hold anything.
    pub(crate) any: AnyStrings,
    /// The tokens that close a string, up to the quote.
    pub(crate) before_quote: BeforeQuote,
}

impl Strings {
    /// Returns the byte classes that a token that closes a string has before the quote.
    pub(crate) fn before_quote(&self, token: TokenId) -> ByteClasses {
        self.prefixes
            .get(&token)
            .copied()
            .unwrap_or(ByteClasses::ALL)
    }

    fn memory(&self) -> usize {
        let tries = [
            &self.closing,
            &self.remainders,
            &self.escaped,
            &self.escaped_closing,
        ];
        tries.map(SignedTrie::memory).iter().sum::<usize>()
            + self.any.memory()
            + self.before_quote.memory()
            + self.at_quote.len() * size_of::<TokenId>()
            + self.prefixes.capacity() * size_of::<(TokenId, ByteClasses)>()
    }
}

/// A trie with summaries of its subtrees.
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
        self.trie.memory() + self.signs.memory()
    }
}

/// The role of a token inside a JSON string.
enum Inside {
    /// Plain text, and a closing quote at this offset.
    Closing(usize),
    /// Something with a backslash.
    Escaped,
    /// Plain text, or something that is not allowed there.
    Other,
}

impl VocabularyTables {
    /// Computes the tables of a vocabulary. Do this once per tokenizer.
    #[must_use]
    pub fn new(vocabulary: Arc<Vocabulary>) -> Self {
        let width = vocabulary.len();
        let strings = |texts: &Texts| {
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
            let more_than_text = [&closing[..], &escaped[..]].concat();
            let any = AnyStrings::new(&vocabulary, plain_texts(texts).bits(), &more_than_text);
            let before_quote = BeforeQuote::new(&more_than_text);
            let is_closing: FxHashSet<TokenId> = any.closing().collect();
            let escaped_closing = { escaped.iter() }.filter(|(id, _)| is_closing.contains(id));
            Strings {
                prefixes: prefixes(closing.iter().copied()),
                closing: SignedTrie::new(closing),
                remainders: SignedTrie::new(remainders),
                at_quote,
                escaped_closing: SignedTrie::new(escaped_closing.copied().collect()),
                escaped: SignedTrie::new(escaped),
                any,
                before_quote,
            }
        };
        let spaced = || {
            let tokens = vocabulary.tokens();
            let rests = tokens.filter_map(|(id, bytes)| Some((id, bytes.strip_prefix(b" ")?)));
            Texts::new(width, rests)
        };
        let ((texts, strings), (signs, spaced)) = rayon::join(
            || {
                let texts = Texts::new(width, vocabulary.tokens());
                let strings = strings(&texts);
                (texts, strings)
            },
            || rayon::join(|| Signs::new(vocabulary.trie()), spaced),
        );
        let is_long = |(_, bytes): &Listed<'_>| characters(bytes) > SHORT_TEXT as usize;
        let long = SignedTrie::new(vocabulary.tokens().filter(is_long).collect());
        let gaps = vocabulary.tokens().map(|(_, bytes)| longest_gap(bytes));
        let longest_gap = gaps.max().unwrap_or(0);
        Self {
            longest_gap: u16::try_from(longest_gap).unwrap_or(u16::MAX),
            cut_off: OnceLock::new(),
            first_bytes: first_bytes(&vocabulary),
            structure: Structure::of(&vocabulary),
            vocabulary,
            long,
            signs,
            texts,
            spaced,
            strings,
        }
    }

    /// Returns the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Returns the summaries of the subtrees of the vocabulary's trie.
    pub(crate) fn signs(&self) -> &Signs {
        &self.signs
    }

    /// Returns the tokens that are texts.
    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Returns the tokens that end within a character.
    pub(crate) fn cut_off(&self) -> &TokenMask {
        self.cut_off.get_or_init(|| {
            let mut cut_off = TokenMask::new(self.vocabulary.len());
            for (token, bytes) in self.vocabulary.tokens() {
                let step = |utf8: Utf8, &byte: &u8| utf8.step(byte);
                let end = bytes.iter().try_fold(Utf8::Boundary, step);
                if end.is_some_and(|end| end != Utf8::Boundary) {
                    cut_off.allow(token);
                }
            }
            cut_off
        })
    }

    /// Returns the tokens that are a space and a text.
    pub(crate) fn spaced(&self) -> &Texts {
        &self.spaced
    }

    /// Returns the tokens that are more than text inside a JSON string.
    pub(crate) fn strings(&self) -> &Strings {
        &self.strings
    }

    /// Returns the tokens of more than [`SHORT_TEXT`] characters.
    pub(crate) fn long(&self) -> &SignedTrie {
        &self.long
    }

    /// Returns the first byte of every token, or 0 if it has none.
    pub(crate) fn first_bytes(&self) -> &[u8] {
        &self.first_bytes
    }

    /// Returns the maximum lengths of tokens.
    pub(crate) fn token_lengths(&self) -> TokenLengths {
        let most = u32::try_from(self.long.trie.max_depth()).unwrap_or(u32::MAX);
        TokenLengths {
            longest_gap: self.longest_gap,
            most_characters: most.max(SHORT_TEXT),
            most_keys: self.structure.most_keys,
            most_gaps: self.structure.most_gaps,
        }
    }

    /// Returns the approximate size of the tables in bytes, without the vocabulary.
    #[must_use]
    pub fn memory(&self) -> usize {
        let shared = self.signs.memory()
            + self.texts.memory()
            + self.spaced.memory()
            + self.strings.memory();
        shared + self.long.memory() + self.first_bytes.len()
    }
}

/// Returns the tokens that are plain text in a string.
fn plain_texts(texts: &Texts) -> Mask {
    texts.of(ByteClasses::PLAIN, u32::MAX)
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

/// Returns the byte classes that tokens that close a string have before the quote.
fn prefixes<'t>(closing: impl Iterator<Item = Listed<'t>>) -> FxHashMap<TokenId, ByteClasses> {
    let before = |bytes: &[u8]| {
        let text = bytes.iter().take_while(|&&byte| byte != b'"');
        // Continuation bytes belong to the class of the first byte.
        ByteClasses::of_bytes(text.copied().filter(|byte| !(0x80..=0xBF).contains(byte)))
    };
    closing.map(|(id, bytes)| (id, before(bytes))).collect()
}

fn first_bytes(vocabulary: &Vocabulary) -> Box<[u8]> {
    let mut first = vec![0; vocabulary.len()];
    for (id, bytes) in vocabulary.tokens() {
        first[id.index()] = bytes.first().copied().unwrap_or(0);
    }
    first.into()
}

/// Returns the number of characters that begin in a token.
fn characters(bytes: &[u8]) -> usize {
    let begins = |byte: &&u8| !(0x80..=0xBF).contains(*byte);
    bytes.iter().filter(begins).count()
}

fn longest_gap(bytes: &[u8]) -> usize {
    let words = bytes.split(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    words.map(<[u8]>::len).max().unwrap_or(0)
}

type Listed<'t> = (TokenId, &'t [u8]);
