//! What every grammar shares of one vocabulary: what its tokens are made of, and what they are inside a JSON string.

mod saved;

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use structgen_automata::{ByteClasses, DEAD, SHORT_TEXT, START, TokenLengths, Utf8, any_string};
use structgen_grammar::EscapeForm;
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

use crate::signs::Signs;
use crate::texts::Texts;

pub use saved::TablesSource;

/// What a vocabulary's tokens are made of, found out once per tokenizer and shared by all grammars.
///
/// Most masks are those of a place inside a string, and most of their tokens need no walk: text of the right characters
/// is allowed by what it is made of and by its length alone, and of a token that closes the string mostly only what
/// follows the quote matters. Tokens with a control byte in the string, or with bytes that are no UTF-8, are never
/// allowed there.
#[derive(Debug)]
pub struct VocabularyTables {
    vocabulary: Arc<Vocabulary>,
    /// What the subtrees of the vocabulary's trie are made of.
    signs: Signs,
    texts: Texts,
    /// By what they have after a space, the tokens that begin with one.
    spaced: Texts,
    strings: Strings,
    /// The tokens of more than [`SHORT_TEXT`] characters.
    long: SignedTrie,
    /// The first byte of every token, 0 where it has none.
    first_bytes: Box<[u8]>,
    /// The most whitespace that a token has in a row.
    longest_gap: u16,
    /// The tokens that end within a character, once they were asked for.
    cut_off: OnceLock<TokenMask>,
}

/// The tokens that are more than text inside a JSON string.
#[derive(Debug)]
pub(crate) struct Strings {
    /// Tokens with a closing quote after plain text.
    pub(crate) closing: SignedTrie,
    /// The same tokens by what follows the quote.
    pub(crate) remainders: SignedTrie,
    /// Those of them that end with the quote.
    pub(crate) at_quote: Vec<TokenId>,
    /// What these tokens have before the quote.
    prefixes: FxHashMap<TokenId, ByteClasses>,
    /// Tokens with an escape in the string.
    pub(crate) escaped: SignedTrie,
    /// Those of them that close the string after an escape.
    pub(crate) escaped_closing: SignedTrie,
    /// By the form of escapes: those of them that stay in a string that may hold anything.
    escaped_inside: [Vec<TokenId>; 2],
}

impl Strings {
    /// What a token that closes a string has before the quote.
    pub(crate) fn before_quote(&self, token: TokenId) -> ByteClasses {
        self.prefixes
            .get(&token)
            .copied()
            .unwrap_or(ByteClasses::ALL)
    }

    /// The tokens with an escape that stay in a string that may hold anything.
    pub(crate) fn escaped_inside(&self, form: EscapeForm) -> &[TokenId] {
        match form {
            EscapeForm::Any => &self.escaped_inside[0],
            EscapeForm::Needed => &self.escaped_inside[1],
        }
    }

    fn memory(&self) -> usize {
        let tries = [
            &self.closing,
            &self.remainders,
            &self.escaped,
            &self.escaped_closing,
        ];
        let lists = [
            &self.at_quote,
            &self.escaped_inside[0],
            &self.escaped_inside[1],
        ];
        tries.map(SignedTrie::memory).iter().sum::<usize>()
            + lists.map(|list| list.len() * 4).iter().sum::<usize>()
            + self.prefixes.capacity() * size_of::<(TokenId, ByteClasses)>()
    }
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
        self.trie.memory() + self.signs.memory()
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
            let prefixes = prefixes(closing.iter().copied());
            let closing = SignedTrie::new(closing);
            let remainders = SignedTrie::new(remainders);
            let [(inside, behind), (needed, _)] =
                [EscapeForm::Any, EscapeForm::Needed].map(|form| sort_escaped(&escaped, form));
            Strings {
                closing,
                remainders,
                at_quote,
                prefixes,
                escaped: SignedTrie::new(escaped),
                escaped_closing: SignedTrie::new(behind),
                escaped_inside: [inside, needed],
            }
        };
        let width = vocabulary.len();
        let ((texts, signs), (strings, spaced)) = rayon::join(
            || {
                rayon::join(
                    || Texts::new(width, vocabulary.tokens()),
                    || Signs::new(vocabulary.trie()),
                )
            },
            || {
                rayon::join(strings, || {
                    let tokens = vocabulary.tokens();
                    let rests =
                        tokens.filter_map(|(id, bytes)| Some((id, bytes.strip_prefix(b" ")?)));
                    Texts::new(width, rests)
                })
            },
        );
        let is_long = |(_, bytes): &Listed<'_>| characters(bytes) > SHORT_TEXT as usize;
        let long = SignedTrie::new(vocabulary.tokens().filter(is_long).collect());
        let gaps = vocabulary.tokens().map(|(_, bytes)| longest_gap(bytes));
        let longest_gap = gaps.max().unwrap_or(0);
        Self {
            longest_gap: u16::try_from(longest_gap).unwrap_or(u16::MAX),
            cut_off: OnceLock::new(),
            first_bytes: first_bytes(&vocabulary),
            vocabulary,
            long,
            signs,
            texts,
            spaced,
            strings,
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

    /// The tokens that end within a character.
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

    /// The tokens that are texts after a space.
    pub(crate) fn spaced(&self) -> &Texts {
        &self.spaced
    }

    /// The tokens that are more than text inside a JSON string.
    pub(crate) fn strings(&self) -> &Strings {
        &self.strings
    }

    /// The tokens of more than [`SHORT_TEXT`] characters.
    pub(crate) fn long(&self) -> &SignedTrie {
        &self.long
    }

    /// The first byte of every token, 0 where it has none.
    pub(crate) fn first_bytes(&self) -> &[u8] {
        &self.first_bytes
    }

    /// What the tokens are like.
    pub(crate) fn token_lengths(&self) -> TokenLengths {
        let most = u32::try_from(self.long.trie.max_depth()).unwrap_or(u32::MAX);
        TokenLengths {
            longest_gap: self.longest_gap,
            most_characters: most.max(SHORT_TEXT),
        }
    }

    /// About how many bytes the tables take beside the vocabulary.
    #[must_use]
    pub fn memory(&self) -> usize {
        let shared = self.signs.memory()
            + self.texts.memory()
            + self.spaced.memory()
            + self.strings.memory();
        shared + self.long.memory() + self.first_bytes.len()
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

/// What tokens that close a string have before the quote.
fn prefixes<'t>(closing: impl Iterator<Item = Listed<'t>>) -> FxHashMap<TokenId, ByteClasses> {
    let before = |bytes: &[u8]| {
        let text = bytes.iter().take_while(|&&byte| byte != b'"');
        // Bytes within a character are of the class of its first one.
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

/// How many characters begin in a token.
fn characters(bytes: &[u8]) -> usize {
    let begins = |byte: &&u8| !(0x80..=0xBF).contains(*byte);
    bytes.iter().filter(begins).count()
}

fn longest_gap(bytes: &[u8]) -> usize {
    let words = bytes.split(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    words.map(<[u8]>::len).max().unwrap_or(0)
}

type Listed<'t> = (TokenId, &'t [u8]);

/// The tokens with escapes that stay in a string that may hold anything, and those that close it.
fn sort_escaped<'t>(tokens: &[Listed<'t>], form: EscapeForm) -> (Vec<TokenId>, Vec<Listed<'t>>) {
    let (mut inside, mut closing) = (Vec::new(), Vec::new());
    let Ok(string) = any_string(form) else {
        // Without it every token closes, as far as is known.
        return (inside, tokens.to_vec());
    };
    let step = |state, byte| {
        string
            .step(state, byte)
            .map(|state| (state, string.is_end(state)))
    };
    let body = step(START, b'"');
    for &(id, bytes) in tokens {
        let mut at = body.clone();
        for &byte in bytes {
            match at {
                Ok((state, false)) if state != DEAD => at = step(state, byte),
                _ => break,
            }
        }
        match at {
            Ok((DEAD, _)) => {}
            Ok((_, false)) => inside.push(id),
            _ => closing.push((id, bytes)),
        }
    }
    (inside, closing)
}
