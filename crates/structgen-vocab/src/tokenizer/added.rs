//! Added tokens in a text, at which a tokenizer splits it before anything else.
//!
//! The `tokenizers` crate does this only for a text that is trusted as a whole or not at all. A chat prompt mixes both
//! kinds, and they must not be encoded separately: a token may span the boundary between them, and some tokenizers put
//! a mark at the beginning of every text.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use tokenizers::normalizer::Range as Part;
use tokenizers::{NormalizedString, PreTokenizedString, Token};

use super::pipeline::Normalization;
use crate::file::AddedToken;

/// The added tokens of a tokenizer.
pub(super) struct AddedTokens {
    /// Matched in the text as it is.
    plain: Matcher,
    /// Matched after normalisation, normalised like the text.
    normalized: Matcher,
}

/// Finds the names of some tokens.
struct Matcher {
    tokens: Vec<Entry>,
    names: AhoCorasick,
}

struct Entry {
    /// The pipeline's own id.
    id: u32,
    special: bool,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    /// The length of its name in bytes.
    len: usize,
    /// The token with the longest shorter name that this name begins with.
    shorter: Option<usize>,
}

/// Trusted ranges of bytes: in order, not empty, and not adjacent.
type Trusted<'t> = &'t [Range<usize>];

impl AddedTokens {
    /// From a file's tokens and the pipeline's ids for them.
    pub(super) fn new(
        tokens: &[(&AddedToken, u32)],
        normalization: Normalization<'_>,
    ) -> tokenizers::Result<Self> {
        let matcher = |normalized: bool| {
            let mut entries = Vec::new();
            let mut names = Vec::new();
            // If a special and an ordinary token have the same name, the special one is used.
            for special in [true, false] {
                for &(token, id) in tokens {
                    if token.normalized != normalized || token.special != special {
                        continue;
                    }
                    let mut name = NormalizedString::from(token.content.as_str());
                    if normalized {
                        normalization.apply(&mut name)?;
                    }
                    // A name that normalisation removes is in no normalised text. It would match everywhere.
                    if name.get().is_empty() {
                        continue;
                    }
                    names.push(name.get().to_owned());
                    entries.push(Entry {
                        id,
                        special,
                        single_word: token.single_word,
                        lstrip: token.lstrip,
                        rstrip: token.rstrip,
                        len: name.get().len(),
                        shorter: None,
                    });
                }
            }
            set_shorter(&mut entries, &names);
            Matcher::new(entries, &names)
        };
        Ok(Self {
            plain: matcher(false)?,
            normalized: matcher(true)?,
        })
    }

    /// Splits a text at its added tokens, and normalises the parts between them. Special tokens are found only where
    /// their whole name is trusted.
    pub(super) fn split(
        &self,
        text: &str,
        trusted: Trusted<'_>,
        normalization: Normalization<'_>,
    ) -> tokenizers::Result<PreTokenizedString> {
        let mut pieces = PreTokenizedString::from(text);
        pieces
            .split(|_, piece| Ok(self.plain.split(&piece, |range| is_within(trusted, &range))))?;
        pieces.split(|_, mut piece| {
            let (start, _) = piece.offsets_original();
            normalization.apply(&mut piece)?;
            Ok(self.normalized.split(&piece, |range| {
                let original = piece.convert_offsets(Part::Normalized(range));
                original.is_some_and(|range| {
                    is_within(trusted, &(range.start + start..range.end + start))
                })
            }))
        })?;
        Ok(pieces)
    }
}

fn is_within(trusted: Trusted<'_>, range: &Range<usize>) -> bool {
    let next = trusted.partition_point(|trusted| trusted.end < range.end);
    { trusted.get(next) }.is_some_and(|trusted| trusted.start <= range.start)
}

/// Sets the shorter token of each token.
fn set_shorter(tokens: &mut [Entry], names: &[String]) {
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    // Stable: of equal names, the first one is found.
    sorted.sort_by_key(|&token| &names[token]);
    sorted.dedup_by_key(|token| &names[*token]);
    // The tokens whose names the last name begins with, itself included.
    let mut open: Vec<usize> = Vec::new();
    for token in sorted {
        while { open.last() }.is_some_and(|&last| !names[token].starts_with(&names[last])) {
            open.pop();
        }
        tokens[token].shorter = open.last().copied();
        open.push(token);
    }
}

/// A piece of a text, and its token if it is an added one.
type Piece = (NormalizedString, Option<Vec<Token>>);

impl Matcher {
    fn new(tokens: Vec<Entry>, names: &[String]) -> tokenizers::Result<Self> {
        let names = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(names)?;
        Ok(Self { tokens, names })
    }

    fn split(
        &self,
        piece: &NormalizedString,
        is_trusted: impl Fn(Range<usize>) -> bool,
    ) -> Vec<Piece> {
        let text = piece.get();
        let mut pieces = Vec::new();
        let mut push = |range: Range<usize>, token: Option<&Entry>| {
            let Some(slice) = piece.slice(Part::Normalized(range)) else {
                return;
            };
            let token = token.map(|token| {
                let name = slice.get().to_owned();
                let offsets = (0, name.len());
                vec![Token::new(token.id, name, offsets)]
            });
            pieces.push((slice, token));
        };
        let mut start = 0;
        let mut from = 0;
        while let Some((token, found)) = self.find(text, from, &is_trusted) {
            let token = &self.tokens[token];
            from = found.end;
            let is_word = |c: char| regex_syntax::is_word_character(c);
            let joins_before = text[..found.start].chars().next_back().is_some_and(is_word);
            let joins_after = text[found.end..].chars().next().is_some_and(is_word);
            if token.single_word && (joins_before || joins_after) {
                continue;
            }
            let mut cut = found;
            if token.lstrip {
                cut.start = text[start..cut.start].trim_end().len() + start;
            }
            if token.rstrip {
                let rest = &text[cut.end..];
                cut.end += rest.len() - rest.trim_start().len();
            }
            if start < cut.start {
                push(start..cut.start, None);
            }
            start = cut.end;
            push(cut, Some(token));
            from = from.max(start);
        }
        if start < text.len() {
            push(start..text.len(), None);
        }
        pieces
    }

    /// The first name at or after an offset that may be a token there; of several at one position, the longest.
    fn find(
        &self,
        text: &str,
        mut from: usize,
        is_trusted: impl Fn(Range<usize>) -> bool,
    ) -> Option<(usize, Range<usize>)> {
        loop {
            let found = self.names.find(Input::new(text).range(from..))?;
            let start = found.start();
            // A shorter name may be a token at the same position.
            let mut candidate = Some(found.pattern().as_usize());
            while let Some(token) = candidate {
                let Entry {
                    special,
                    len,
                    shorter,
                    ..
                } = self.tokens[token];
                let range = start..start + len;
                if !special || is_trusted(range.clone()) {
                    return Some((token, range));
                }
                candidate = shorter;
            }
            from = start + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(names: &[(&str, bool)]) -> Matcher {
        let entry = |&(name, special): &(&str, bool)| Entry {
            id: 0,
            special,
            single_word: false,
            lstrip: false,
            rstrip: false,
            len: name.len(),
            shorter: None,
        };
        let mut tokens: Vec<Entry> = names.iter().map(entry).collect();
        let names: Vec<String> = names.iter().map(|(name, _)| (*name).to_owned()).collect();
        set_shorter(&mut tokens, &names);
        Matcher::new(tokens, &names).unwrap()
    }

    #[test]
    fn of_the_names_at_a_position_the_longest_that_is_trusted_or_ordinary_is_found() {
        let names = [
            ("<a", false),
            ("<a>b", true),
            ("<", true),
            ("<a>", true),
            ("<a>bc", true),
            ("b", false),
            ("<a>", true),
        ];
        let matcher = matcher(&names);
        let found = |trusted: Range<usize>| {
            let trusted = [trusted];
            let found = matcher.find("x<a>bcd", 0, |range| is_within(&trusted, &range));
            found.map(|(token, range)| (names[token].0, range.start))
        };
        assert_eq!(found(0..7), Some(("<a>bc", 1)));
        assert_eq!(found(1..5), Some(("<a>b", 1)));
        assert_eq!(found(1..4), Some(("<a>", 1)));
        assert_eq!(found(2..7), Some(("<a", 1)));
        assert_eq!(found(0..1), Some(("<a", 1)));
        // The first of equal names.
        assert_eq!(matcher.find("<a>", 0, |_| true), Some((3, 0..3)));
        // No name in `names` ends where a shorter one begins at another position.
        assert_eq!(matcher.find("<bc", 0, |_| false), Some((5, 1..2)));
    }

    /// At each position a name is found that is not trusted, and with it a thousand shorter ones.
    #[test]
    fn names_within_names_are_not_searched_for_one_by_one() {
        let longest = "a".repeat(1024);
        let names: Vec<_> = (1..=1024).map(|len| (&longest[..len], true)).collect();
        let matcher = matcher(&names);
        let text = "a".repeat(10_000);
        assert_eq!(matcher.find(&text, 0, |_| false), None);
        let last = matcher.find(&text, 0, |range| range.start == 9_999);
        assert_eq!(last, Some((0, 9_999..10_000)));
    }
}
