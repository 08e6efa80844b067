//! How far a text agrees with some strings, written with any escapes.

use crate::ByteSet;
use crate::json::{TextSet, TextSets};

/// The strings that a text may still become, after their opening quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StringProgress {
    /// What follows the characters read so far in each of them.
    rest: TextSet,
    escape: Escape,
}

/// An escape in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Escape {
    /// The number of bytes: `\uXXXX` has 6, and a surrogate pair twice as many.
    bytes: u8,
    /// Its hexadecimal digits, as a number.
    digits: u32,
}

/// The result of a byte.
pub(super) enum AfterByte {
    /// More of the string.
    Inside(StringProgress),
    /// The end of one of the strings.
    Ended,
    /// None of them has such a text.
    Nothing,
}

impl StringProgress {
    /// Returns the state after the opening quote of these strings.
    pub(super) fn opened(strings: TextSet) -> Self {
        Self {
            rest: strings,
            escape: Escape::default(),
        }
    }

    pub(super) fn step(self, byte: u8, sets: &TextSets) -> AfterByte {
        let next = match (self.escape.bytes, byte) {
            (0, b'"') => {
                return match sets.has_end(self.rest) {
                    true => AfterByte::Ended,
                    false => AfterByte::Nothing,
                };
            }
            (0, b'\\') => self.in_escape(0, sets),
            (0, _) => Some(Self::opened(sets.after(self.rest, byte))),
            (1, b'u') => self.in_escape(0, sets),
            (1, _) => short_escape(byte).map(|c| self.after(c, sets)),
            // The second unit of a surrogate pair.
            (6, b'\\') | (7, b'u') => self.in_escape(0, sets),
            (6 | 7, _) => None,
            _ => char::from(byte).to_digit(16).and_then(|digit| {
                let escaped = self.in_escape(digit, sets)?;
                Some(match escaped.character() {
                    Some(c) => self.after(c, sets),
                    None => escaped,
                })
            }),
        };
        match next {
            Some(next) if next.rest != TextSet::NONE => AfterByte::Inside(next),
            _ => AfterByte::Nothing,
        }
    }

    /// Returns the state after one more byte of an escape, which may be a digit; `None` if no string continues with
    /// such a character.
    fn in_escape(self, digit: u32, sets: &TextSets) -> Option<Self> {
        let Escape { bytes, digits } = self.escape;
        let is_digit = matches!(bytes, 2..6 | 8..12);
        let escape = Escape {
            bytes: bytes + 1,
            digits: if is_digit {
                digits << 4 | digit
            } else {
                digits
            },
        };
        let goes_on = next_characters(self.rest, sets)
            .into_iter()
            .any(|c| escape.may_be(c));
        goes_on.then_some(Self { escape, ..self })
    }

    /// Returns the character of a complete escape.
    fn character(self) -> Option<char> {
        let Escape { bytes, digits } = self.escape;
        match bytes {
            6 => char::from_u32(digits),
            12 => {
                let units = [(digits >> 16) as u16, digits as u16];
                char::decode_utf16(units).next()?.ok()
            }
            _ => None,
        }
    }

    fn after(self, c: char, sets: &TextSets) -> Self {
        let after = |set, byte| sets.after(set, byte);
        Self::opened(c.encode_utf8(&mut [0; 4]).bytes().fold(self.rest, after))
    }

    /// Returns the number of strings.
    pub(super) fn len(self, sets: &TextSets) -> u32 {
        sets.len(self.rest)
    }

    /// Adds a superset of the bytes that may come next.
    pub(super) fn add_first(self, sets: &TextSets, first: &mut ByteSet) {
        if self.escape != Escape::default() {
            first.union_with(ByteSet::PRINTABLE);
            return;
        }
        for &(byte, _) in sets.next(self.rest) {
            first.insert(byte);
            first.insert(b'\\');
        }
        if sets.has_end(self.rest) {
            first.insert(b'"');
        }
    }
}

impl Escape {
    /// Returns whether it may become the escape of a character.
    fn may_be(self, c: char) -> bool {
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units);
        let all = units
            .iter()
            .fold(0, |all, &unit| all << 16 | u32::from(unit));
        let read = match self.bytes {
            ..=2 => 0,
            3..=6 => u32::from(self.bytes) - 2,
            7 | 8 => 4,
            _ => u32::from(self.bytes) - 4,
        };
        let length = 4 * units.len() as u32;
        let is_begun =
            read <= length && all.checked_shr(4 * (length - read)).unwrap_or(0) == self.digits;
        is_begun && (self.bytes <= 6 || units.len() == 2)
    }
}

/// Returns the character that a backslash and this byte stand for.
fn short_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b't' => '\t',
        b'n' => '\n',
        b'f' => '\u{C}',
        b'r' => '\r',
        _ => return None,
    })
}

/// Returns the characters that come next in some texts.
fn next_characters(texts: TextSet, sets: &TextSets) -> Vec<char> {
    let mut found = Vec::new();
    let mut open: Vec<(TextSet, [u8; 4], usize)> = vec![(texts, [0; 4], 0)];
    while let Some((set, mut bytes, length)) = open.pop() {
        for &(byte, next) in sets.next(set) {
            bytes[length] = byte;
            match std::str::from_utf8(&bytes[..=length]) {
                Ok(text) => found.extend(text.chars()),
                Err(_) if length < 3 => open.push((next, bytes, length + 1)),
                Err(_) => {}
            }
        }
    }
    found
}
