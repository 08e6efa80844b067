//! Splits a text into words, runs of digits, spaces and marks.

use crate::fold::{fold_into, is_combining};
use crate::language::{Entry, Sense, compound, compound_ordinal, senses};
use crate::{Language, Number};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    /// ASCII digits.
    Digits,
    /// White space within a paragraph, with at most one line break.
    Space,
    /// White space with an empty line, which ends every value.
    Break,
    Mark(char),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    senses: &'static [Entry],
}

/// The tokens of a text, without gaps. Positions may be out of range, where there is nothing.
pub(crate) struct Tokens<'t> {
    pub(crate) text: &'t str,
    tokens: Vec<Token>,
    /// Words that are numbers but not in any table, by position.
    pub(crate) compounds: Vec<(usize, Number)>,
    /// Words that are ordinals but not in any table, by position.
    pub(crate) ordinals: Vec<(usize, u32)>,
    /// The assumed language of the text.
    pub(crate) language: Language,
    /// Whether that is an option, or the text has common words of the language.
    pub(crate) is_language_known: bool,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str, language: Option<Language>) -> Tokens<'t> {
        let Split {
            tokens,
            compounds,
            ordinals,
        } = split(text);
        let (language, is_language_known) = match language {
            Some(language) => (language, true),
            None => guess(&tokens, compounds.len()),
        };
        Tokens {
            text,
            tokens,
            compounds,
            ordinals,
            language,
            is_language_known,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    pub(crate) fn kind(&self, at: usize) -> Option<Kind> {
        self.get(at).map(|token| token.kind)
    }

    /// Returns the kind of the token before `at`.
    pub(crate) fn kind_before(&self, at: usize) -> Option<Kind> {
        self.kind(at.checked_sub(1)?)
    }

    pub(crate) fn str(&self, at: usize) -> &'t str {
        self.get(at)
            .map_or("", |token| &self.text[token.start..token.end])
    }

    pub(crate) fn is_mark(&self, at: usize, mark: char) -> bool {
        self.kind(at) == Some(Kind::Mark(mark))
    }

    pub(crate) fn is_hyphen(&self, at: usize) -> bool {
        matches!(
            self.kind(at),
            Some(Kind::Mark('-' | '\u{2010}' | '\u{2011}'))
        )
    }

    /// Returns the digits at `at`, if there are at least `least` and at most `most` (which is at most nine).
    pub(crate) fn digits(&self, at: usize, least: usize, most: usize) -> Option<u32> {
        let token = self.get(at).filter(|token| token.kind == Kind::Digits)?;
        let length = token.end - token.start;
        (least <= length && length <= most.min(9)).then(|| self.str(at).parse().ok())?
    }

    /// Returns the position after the space at `at`, if there is one.
    pub(crate) fn skip_space(&self, at: usize) -> usize {
        at + usize::from(self.kind(at) == Some(Kind::Space))
    }

    /// Returns the position before the space that precedes `at`, if there is one.
    pub(crate) fn back_space(&self, at: usize) -> usize {
        at - usize::from(self.kind_before(at) == Some(Kind::Space))
    }

    /// Returns all meanings of the word at `at`.
    pub(crate) fn all_entries(&self, at: usize) -> &'static [Entry] {
        self.get(at).map_or(&[], |token| token.senses)
    }

    /// Returns the meanings of the word at `at`, in the languages in which it counts.
    pub(crate) fn entries(&self, at: usize) -> impl Iterator<Item = &'static Entry> + use<'_, 't> {
        self.all_entries(at)
            .iter()
            .filter(|entry| !entry.homograph || entry.language == self.language)
    }

    /// Returns the meanings in one language. Homographs count here, since the caller has seen another word of the
    /// language.
    pub(crate) fn senses(
        &self,
        at: usize,
        language: Language,
    ) -> impl Iterator<Item = Sense> + use<'_, 't> {
        self.all_entries(at)
            .iter()
            .filter(move |entry| entry.language == language)
            .map(|entry| entry.sense)
    }

    /// Returns whether the word has the meaning in a language.
    pub(crate) fn has(&self, at: usize, language: Language, sense: Sense) -> bool {
        self.senses(at, language).any(|own| own == sense)
    }

    /// Returns whether the word has the meaning in any language.
    pub(crate) fn has_any(&self, at: usize, sense: Sense) -> bool {
        self.all_entries(at)
            .iter()
            .any(|entry| entry.sense == sense)
    }
}

/// The tokens of a text, and the numbers and ordinals that are one word.
struct Split {
    tokens: Vec<Token>,
    compounds: Vec<(usize, Number)>,
    ordinals: Vec<(usize, u32)>,
}

fn split(text: &str) -> Split {
    let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
    let mut compounds = Vec::new();
    let mut ordinals = Vec::new();
    let mut folded = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let (kind, length) = first_token(rest, first);
        let end = start + length;
        let mut token = Token {
            kind,
            start,
            end,
            senses: &[],
        };
        if kind == Kind::Word {
            folded.clear();
            fold_into(&text[start..end], &mut folded);
            token.senses = senses(&folded);
            if token.senses.is_empty() {
                compounds.extend(compound(&folded).map(|number| (tokens.len(), number)));
                ordinals.extend(compound_ordinal(&folded).map(|value| (tokens.len(), value)));
            }
        }
        tokens.push(token);
        rest = &text[end..];
    }
    Split {
        tokens,
        compounds,
        ordinals,
    }
}

fn first_token(rest: &str, first: char) -> (Kind, usize) {
    let run = |belongs: fn(char) -> bool| {
        rest.find(|character| !belongs(character))
            .unwrap_or(rest.len())
    };
    if first.is_ascii_digit() {
        (Kind::Digits, run(|character| character.is_ascii_digit()))
    } else if first.is_alphabetic() {
        (
            Kind::Word,
            run(|character| character.is_alphabetic() || is_combining(character)),
        )
    } else if first.is_whitespace() {
        let length = run(char::is_whitespace);
        let lines = rest[..length].bytes().filter(|byte| *byte == b'\n').count();
        (if lines > 1 { Kind::Break } else { Kind::Space }, length)
    } else {
        (Kind::Mark(first), first.len_utf8())
    }
}

/// Returns the language whose common words are most frequent; among several, the one with the most words that no other
/// has, and otherwise the first one. Also returns whether the text has any common or own words of the language.
fn guess(tokens: &[Token], compounds: usize) -> (Language, bool) {
    let mut counts = [(0usize, 0usize); Language::ALL.len()];
    counts[Language::German as usize].1 = compounds;
    for token in tokens {
        for entry in token
            .senses
            .iter()
            .filter(|entry| entry.sense == Sense::Common)
        {
            counts[entry.language as usize].0 += 1;
        }
        if let Some(first) = token.senses.first()
            && token
                .senses
                .iter()
                .all(|entry| entry.language == first.language)
        {
            counts[first.language as usize].1 += 1;
        }
    }
    let best = counts.iter().copied().max().unwrap_or_default();
    let language = Language::ALL
        .into_iter()
        .find(|language| counts[*language as usize] == best)
        .unwrap_or(Language::English);
    (language, best > (0, 0))
}
