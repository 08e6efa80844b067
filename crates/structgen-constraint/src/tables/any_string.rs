//! What tokens do in a JSON string that may hold anything.

use rustc_hash::FxHashMap;
use structgen_automata::{ByteSet, DEAD, START, Terminal, any_string};
use structgen_grammar::EscapeForm;
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use super::{Listed, SignedTrie};
use crate::Mask;

/// What tokens do in strings that may hold anything.
#[derive(Debug)]
pub(crate) struct AnyStrings {
    /// The nodes of [`OPENINGS`] in the vocabulary's trie.
    openings: [Option<u32>; OPENINGS.len()],
    by_form: [InForm; 2],
}

/// What tokens may have in front of a string that they open.
const OPENINGS: [&[u8]; 2] = [b"\"", b" \""];

/// What tokens do in strings with escapes of one form.
#[derive(Debug)]
struct InForm {
    /// Within the string.
    inside: AnyString,
    /// After each of the [`OPENINGS`].
    opened: [AnyString; OPENINGS.len()],
}

impl AnyStrings {
    /// Sorts the tokens of a vocabulary, of which some are plain text in a string, and others more than that.
    pub(super) fn new(vocabulary: &Vocabulary, plain: &TokenMask, more: &[Listed<'_>]) -> Self {
        let none = TokenMask::new(vocabulary.len());
        let trie = vocabulary.trie();
        let openings = OPENINGS.map(|opening| trie.find(opening));
        let by_form = [EscapeForm::Any, EscapeForm::Needed].map(|form| InForm {
            inside: AnyString {
                begins_with_token: true,
                ..AnyString::new(more.iter().copied(), plain.clone(), form)
            },
            opened: std::array::from_fn(|opening| {
                let tokens = openings[opening].map(|node| trie.subtree_tokens(node));
                let rest = |&id: &TokenId| {
                    let bytes = vocabulary.token_bytes(id).unwrap_or_default();
                    (id, &bytes[OPENINGS[opening].len()..])
                };
                AnyString::new(tokens.into_iter().flatten().map(rest), none.clone(), form)
            }),
        });
        Self { openings, by_form }
    }

    /// Returns what tokens do within a string.
    pub(crate) fn inside(&self, form: EscapeForm) -> &AnyString {
        &self.in_form(form).inside
    }

    /// Returns what tokens do in a string that they open at this node of the vocabulary's trie; `None` if few tokens
    /// do.
    pub(crate) fn opened(&self, node: u32, form: EscapeForm) -> Option<&AnyString> {
        let opening = self.openings.iter().position(|&at| at == Some(node))?;
        Some(&self.in_form(form).opened[opening])
    }

    /// Returns the tokens that close a string with any escapes.
    pub(super) fn closing(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.inside(EscapeForm::Any).texts.keys().copied()
    }

    fn in_form(&self, form: EscapeForm) -> &InForm {
        match form {
            EscapeForm::Any => &self.by_form[0],
            EscapeForm::Needed => &self.by_form[1],
        }
    }

    pub(super) fn memory(&self) -> usize {
        let forms = self.by_form.iter();
        let strings = forms.flat_map(|form| form.opened.iter().chain([&form.inside]));
        strings.map(AnyString::memory).sum()
    }
}

/// What tokens do in a string that may hold anything, from some place in it on: how it ends is the same for all texts,
/// or for all but a few, so only what follows the closing quote matters.
#[derive(Debug)]
pub(crate) struct AnyString {
    /// The tokens that stay in the string.
    pub(crate) inside: Mask,
    /// The tokens that end with the closing quote.
    pub(crate) at_quote: Vec<TokenId>,
    /// The text of each of them.
    texts_at_quote: Vec<ClosedText>,
    /// The other tokens that close the string, by what follows the quote.
    pub(crate) remainders: SignedTrie,
    /// The texts with which tokens close the string.
    texts: FxHashMap<TokenId, ClosedText>,
    /// Whether a text begins with an escape by number, which may spell any character.
    begins_with_unit: bool,
    /// Whether texts begin with their tokens, not after the quote that opens the string.
    pub(crate) begins_with_token: bool,
}

/// What is known of the text with which a token closes a string.
#[derive(Clone, Copy, Debug)]
struct ClosedText {
    /// Its first byte, or the quote.
    first: u8,
    /// The number of its characters.
    characters: u32,
}

impl ClosedText {
    /// Creates it from a text with its closing quote.
    fn of(text: &[u8]) -> Self {
        let string = [b"\"", text].concat();
        let string: String = serde_json::from_slice(&string).unwrap_or_default();
        Self {
            first: text.first().copied().unwrap_or(b'"'),
            characters: string.chars().count() as u32,
        }
    }

    /// Returns whether the text has at least this many characters and does not begin with one of these bytes.
    fn fits(self, except: ByteSet, at_least: u32) -> bool {
        !except.contains(self.first) && self.characters >= at_least
    }
}

impl AnyString {
    /// Sorts tokens, given their bytes from that place on; others are known to stay in the string.
    fn new<'t>(
        tokens: impl IntoIterator<Item = Listed<'t>>,
        mut inside: TokenMask,
        form: EscapeForm,
    ) -> Self {
        let string = any_string(form).expect("a string that may hold anything has no limit");
        let (mut at_quote, mut texts_at_quote) = (Vec::new(), Vec::new());
        let mut remainders = Vec::new();
        let mut texts = FxHashMap::default();
        let mut begins_with_unit = false;
        for (id, bytes) in tokens {
            match run(&string, bytes) {
                Place::Nowhere => {}
                Place::Inside => inside.allow(id),
                Place::Closed(end) => {
                    let (text, remainder) = bytes.split_at(end);
                    begins_with_unit |= text.starts_with(b"\\u");
                    let closed = ClosedText::of(text);
                    texts.insert(id, closed);
                    if remainder.is_empty() {
                        at_quote.push(id);
                        texts_at_quote.push(closed);
                    } else {
                        remainders.push((id, remainder));
                    }
                }
            }
        }
        Self {
            inside: Mask::of(inside).kept_elsewhere(),
            at_quote,
            texts_at_quote,
            remainders: SignedTrie::new(remainders),
            texts,
            begins_with_unit,
            begins_with_token: false,
        }
    }

    /// Returns whether an escape may spell the beginning of a text that begins with one of these bytes.
    pub(crate) fn may_spell(&self, except: ByteSet) -> bool {
        let mut content = except;
        content.remove(b'"');
        let has_short_escape = |byte: u8| byte < b' ' || matches!(byte, b'/' | b'\\');
        let mut escapable = content;
        !content.is_empty()
            && (self.begins_with_unit
                || std::iter::from_fn(|| escapable.pop()).any(has_short_escape))
    }

    /// Returns whether a token closes the string after a text of `at_least` characters or more that does not begin with
    /// a byte of `except`.
    pub(crate) fn closes(&self, token: TokenId, except: ByteSet, at_least: u32) -> bool {
        let text = self.texts.get(&token);
        text.is_some_and(|text| text.fits(except, at_least))
    }

    /// Returns the tokens of [`at_quote`](Self::at_quote) that [close](Self::closes) the string after such a text.
    pub(crate) fn closing_at_quote(
        &self,
        except: ByteSet,
        at_least: u32,
    ) -> impl Iterator<Item = TokenId> {
        { self.at_quote.iter().zip(&self.texts_at_quote) }
            .filter(move |(_, text)| text.fits(except, at_least))
            .map(|(token, _)| *token)
    }

    pub(super) fn memory(&self) -> usize {
        self.inside.memory()
            + self.at_quote.len() * size_of::<(TokenId, ClosedText)>()
            + self.remainders.memory()
            + self.texts.capacity() * size_of::<(TokenId, ClosedText)>()
    }
}

/// Where some bytes lead.
pub(super) enum Place {
    /// No string continues with them.
    Nowhere,
    Inside,
    /// Behind the closing quote, at this offset in the bytes.
    Closed(usize),
}

pub(super) fn run(string: &Terminal, bytes: &[u8]) -> Place {
    let step = |state, byte| {
        let next = string.step(state, byte);
        next.expect("a string that may hold anything has no limit")
    };
    let mut state = step(START, b'"');
    for (offset, &byte) in bytes.iter().enumerate() {
        state = step(state, byte);
        if state == DEAD {
            return Place::Nowhere;
        }
        if string.is_end(state) {
            return Place::Closed(offset + 1);
        }
    }
    Place::Inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_at_the_quote_are_told_apart_like_all_that_close_a_string() {
        let texts = [
            "\"",
            "a\"",
            "b\"",
            "ab\"",
            "\\n\"",
            "\\u0041\"",
            "é\"",
            "a\",",
            "\"}",
            "\"\"",
        ];
        let tokens = (0..)
            .map(TokenId)
            .zip(texts.iter().map(|text| text.as_bytes()));
        let any = AnyString::new(tokens, TokenMask::new(16), EscapeForm::Any);
        assert!(any.at_quote.len() >= 6);
        for except in [&b""[..], b"a", b"\"", b"\\ab", "é".as_bytes()] {
            let except = ByteSet::of(except);
            for at_least in 0..4 {
                let found: Vec<_> = any.closing_at_quote(except, at_least).collect();
                let closes = |token: &TokenId| any.closes(*token, except, at_least);
                let expected: Vec<_> = any.at_quote.iter().copied().filter(closes).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
