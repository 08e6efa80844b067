//! An input: a text that grounded values come from, and what a recogniser found in it.

mod borders;
mod completion;
mod sources;
mod spans;

use std::ops::Range;

use rustc_hash::FxHashSet;
use structgen_grammar::Decimal;

use crate::LimitExceeded;
use borders::Borders;

pub(crate) use spans::{OpenSpan, Spans, SpansState};

/// The maximum size of an input in bytes.
const MAX_BYTES: usize = 1 << 28;

/// Follows the end of a text; never occurs in UTF-8.
const END: u8 = 0xFF;

/// A text that grounded values come from.
///
/// A string may be any span of the text that begins and ends at word boundaries, either as it stands or with one space
/// for each run of whitespace. A word boundary is between two characters that do not both belong to a word. So a span
/// may contain punctuation, but not consist of it, and it has no whitespace at its ends. Words are runs of letters,
/// digits and underscores; in scripts without spaces, each character is a word. Numbers, and strings of formats with
/// candidates, are [candidates](Candidate); a string with a pattern may be a span or a candidate, or otherwise a
/// candidate in another notation.
#[derive(Debug)]
pub struct Input {
    text: Box<str>,
    /// The text without whitespace at its ends; then the text with single spaces, if that differs; then the distinct
    /// strings that were recognised, also in other notations. [`END`] follows each.
    bytes: Box<[u8]>,
    borders: Borders,
    /// The ends of the text as it stands, and of its last form.
    ends: [u32; 2],
    /// The starts of spans, and those of recognised strings, roughly in the order of their texts.
    starts: Box<[u32]>,
    candidate_starts: Box<[u32]>,
    /// The same for strings in other notations.
    notation_starts: Box<[u32]>,
    /// The starts of its characters, unless each is a byte.
    characters: Option<Box<[u32]>>,
    candidates: Box<[Candidate]>,
}

/// A value that was recognised in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The bytes of the text that it was read from.
    pub span: Range<usize>,
    /// The value.
    pub value: CandidateValue,
    /// The index of this value among the readings of the span; 0 for the most likely one.
    pub reading: usize,
}

/// The value of a [`Candidate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateValue {
    /// A number, for any number in the schema.
    Number(Decimal),
    /// A string, for strings of this format.
    String {
        /// The format, such as `date`.
        format: Box<str>,
        /// The string.
        text: Box<str>,
    },
    /// A string in a notation that the text does not use, such as `12.05.2024` for `12 May 2024`: for strings with a
    /// pattern that neither a span of the text nor any other candidate matches.
    OtherNotation(Box<str>),
}

/// Which recognised strings a string may be, beside spans of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Recognised {
    None,
    Strings,
    OtherNotations,
}

impl Input {
    /// Creates an input whose candidates are the numbers written in digits.
    ///
    /// # Errors
    /// If the text is too long.
    pub fn new(text: &str) -> Result<Self, LimitExceeded> {
        Self::with_candidates(text, plain_numbers(text))
    }

    /// Creates an input with the candidates of a recogniser.
    ///
    /// # Errors
    /// If the text is too long.
    pub fn with_candidates(
        text: &str,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> Result<Self, LimitExceeded> {
        if text.len() > MAX_BYTES {
            return Err(LimitExceeded {
                what: "bytes of the input",
                limit: MAX_BYTES as u64,
            });
        }
        let trimmed = text.trim();
        let mut bytes = Vec::with_capacity(trimmed.len() + 1);
        bytes.extend_from_slice(trimmed.as_bytes());
        bytes.push(END);
        let mut borders = Borders::default();
        borders.add(trimmed, 0);
        if let Some(spaced) = single_spaced(trimmed) {
            borders.add(&spaced, bytes.len());
            bytes.extend_from_slice(spaced.as_bytes());
            bytes.push(END);
        }
        let text_end = bytes.len() - 1;
        let candidates: Box<[Candidate]> = candidates.into_iter().collect();
        let (mut candidate_starts, mut notation_starts) = (Vec::new(), Vec::new());
        let mut known = FxHashSet::default();
        for Candidate { value, .. } in &candidates {
            let (starts, text) = match value {
                CandidateValue::String { text, .. } => (&mut candidate_starts, text),
                CandidateValue::OtherNotation(text) => (&mut notation_starts, text),
                CandidateValue::Number(_) => continue,
            };
            let is_other = matches!(value, CandidateValue::OtherNotation(_));
            // Strings of an input are never empty.
            if text.is_empty() || !known.insert((is_other, &**text)) {
                continue;
            }
            starts.push(bytes.len() as u32);
            bytes.extend_from_slice(text.as_bytes());
            borders.add_end(bytes.len());
            bytes.push(END);
            if bytes.len() > 4 * MAX_BYTES {
                return Err(LimitExceeded {
                    what: "bytes of the candidates of the input",
                    limit: 4 * MAX_BYTES as u64,
                });
            }
        }
        let characters = |bytes: &[u8]| {
            let is_start = |(_, byte): &(u32, &u8)| **byte & 0xC0 != 0x80;
            (0..)
                .zip(bytes)
                .filter(is_start)
                .map(|(at, _)| at)
                .collect()
        };
        Ok(Self {
            // Positions in recognised strings are not counted.
            characters: (!trimmed.is_ascii()).then(|| characters(&bytes[..=text_end])),
            ends: [trimmed.len() as u32, text_end as u32],
            text: text.into(),
            starts: by_text(borders.starts(), &bytes),
            candidate_starts: by_text(&candidate_starts, &bytes),
            notation_starts: by_text(&notation_starts, &bytes),
            bytes: bytes.into(),
            borders,
            candidates,
        })
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the values that were recognised.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Returns the byte at a position of a form of the text; `None` at its end.
    #[inline]
    pub(crate) fn byte(&self, position: u32) -> Option<u8> {
        let byte = self.bytes[position as usize];
        (byte != END).then_some(byte)
    }

    /// Returns the number of characters that begin before a position, in all forms of the text; each [`END`] counts as
    /// one.
    fn character(&self, position: u32) -> u32 {
        match &self.characters {
            Some(starts) => starts.partition_point(|&start| start < position) as u32,
            None => position,
        }
    }

    /// Returns the start of a character.
    fn start_of(&self, character: u32) -> Option<u32> {
        match &self.characters {
            Some(starts) => starts.get(character as usize).copied(),
            None => (character <= self.ends[1]).then_some(character),
        }
    }

    /// Returns the end of the form of the text that contains a position.
    fn form_end(&self, position: u32) -> u32 {
        let [first, last] = self.ends;
        if position <= first { first } else { last }
    }

    /// Returns whether a span that has begun may end at a position.
    #[inline]
    pub(crate) fn may_end(&self, position: u32) -> bool {
        self.borders.is_end(position)
    }

    /// Returns its numbers as JSON writes them.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = String> + '_ {
        self.candidates.iter().filter_map(|it| match &it.value {
            CandidateValue::Number(number) => Some(number.to_string()),
            CandidateValue::String { .. } | CandidateValue::OtherNotation(_) => None,
        })
    }

    /// Returns whether it has strings in other notations.
    pub(crate) fn has_other_notations(&self) -> bool {
        !self.notation_starts.is_empty()
    }

    /// Returns its strings of a format.
    pub(crate) fn strings<'i>(&'i self, of: &'i str) -> impl Iterator<Item = &'i str> + 'i {
        self.candidates
            .iter()
            .filter_map(move |it| match &it.value {
                CandidateValue::String { format, text } if **format == *of => Some(&**text),
                _ => None,
            })
    }
}

/// Sorts positions by the next eight bytes.
fn by_text(positions: &[u32], bytes: &[u8]) -> Box<[u32]> {
    let key = |&position: &u32| (first_bytes(bytes, position), position);
    let mut keyed: Vec<(u64, u32)> = positions.iter().map(key).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, position)| position).collect()
}

/// Returns the eight bytes at a position as a number of the same order.
fn first_bytes(bytes: &[u8], position: u32) -> u64 {
    let rest = &bytes[position as usize..];
    match rest.first_chunk() {
        Some(&eight) => u64::from_be_bytes(eight),
        None => {
            let mut eight = [END; 8];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(eight)
        }
    }
}

/// Returns the text with one space for each run of whitespace; `None` if that is the text itself.
fn single_spaced(text: &str) -> Option<String> {
    let mut before = 'x';
    let is_other = |c: char| {
        let is_other = c.is_whitespace() && (c != ' ' || before.is_whitespace());
        before = c;
        is_other
    };
    if !text.contains(is_other) {
        return None;
    }
    let mut spaced = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(word);
    }
    Some(spaced)
}

/// Returns the numbers that a text has in digits, as JSON writes them. A sign counts only after whitespace, after an
/// opening bracket, or at the start.
fn plain_numbers(text: &str) -> Vec<Candidate> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = &bytes[from..];
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes.get(at) {
        if !next.is_ascii_digit() {
            at += 1;
            continue;
        }
        let mut end = at + digits(at);
        let fraction = match bytes.get(end) {
            Some(b'.') => digits(end + 1),
            _ => 0,
        };
        if fraction > 0 {
            end += 1 + fraction;
        }
        let before = text[..at].chars().next_back();
        let in_word = before.is_some_and(borders::is_in_word)
            || text[end..].chars().next().is_some_and(borders::is_in_word);
        let is_sign = before == Some('-') && {
            let earlier = text[..at - 1].chars().next_back();
            earlier.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '['))
        };
        let start = at - usize::from(is_sign);
        let value = text[start..end].parse();
        if let (false, Ok(value)) = (in_word, value) {
            found.push(Candidate {
                span: start..end,
                value: CandidateValue::Number(value),
                reading: 0,
            });
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_digits_are_candidates() {
        let found = |text: &str| {
            let input = Input::new(text).unwrap();
            input.numbers().collect::<Vec<_>>()
        };
        assert_eq!(
            found("36 and 1.50, (-3) a-4 b2 7th 8."),
            ["36", "1.5", "-3", "4", "8"]
        );
        assert_eq!(found("no number"), [""; 0]);
    }

    #[test]
    fn a_text_with_single_spaces_is_kept_once() {
        assert_eq!(single_spaced("a b c"), None);
        assert_eq!(single_spaced("a  b\nc").as_deref(), Some("a b c"));
        assert_eq!(single_spaced("a\u{a0}b").as_deref(), Some("a b"));
        assert_eq!(Input::new(" a b\n").unwrap().bytes.len(), 4);
        assert_eq!(Input::new("a\nb").unwrap().bytes.len(), 8);
    }
}
