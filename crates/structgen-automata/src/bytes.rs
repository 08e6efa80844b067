//! Sets of bytes by class: the characters of a text in 128 bits.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of byte classes. Every ASCII byte is a class of its own, except that all control characters other than
/// whitespace are one class. A character beyond ASCII is classified by its first byte; all first bytes of two-byte
/// characters are one class.
///
/// A continuation byte in a valid place belongs to its character and is in no class. One in another place, and a byte
/// that never occurs in UTF-8, are [`IRREGULAR`](ByteClasses::IRREGULAR).
///
/// ```
/// use structgen_automata::ByteClasses;
///
/// let digits = ByteClasses::of_bytes(b'0'..=b'9');
/// assert!(digits.contains(b'7'));
/// assert!(digits.is_subset(ByteClasses::PLAIN));
/// assert!(!ByteClasses::PLAIN.contains(b'"'));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteClasses(u128);

const CONTROL: u32 = 99;
const TWO_BYTES: u32 = 100;
const CONTINUATION: u32 = 122;
const NEVER: u32 = 123;

/// The class of each byte.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte {
            0x20..=0x7F => byte as u32 - 0x20,
            0x09 => 96,
            0x0A => 97,
            0x0D => 98,
            0x00..=0x1F => CONTROL,
            0xC2..=0xDF => TWO_BYTES,
            0xE0..=0xF4 => TWO_BYTES + 1 + (byte as u32 - 0xE0),
            0x80..=0xBF => CONTINUATION,
            _ => NEVER,
        } as u8;
        byte += 1;
    }
    class
};

impl ByteClasses {
    /// The number of classes.
    pub const COUNT: u32 = NEVER + 1;
    /// No byte.
    pub const NONE: Self = Self(0);
    /// Every byte.
    pub const ALL: Self = Self((1 << Self::COUNT) - 1);
    /// Bytes that are invalid in UTF-8 where they stand.
    pub const IRREGULAR: Self = Self((1 << CONTINUATION) | (1 << NEVER));
    /// What a JSON string may contain without escapes: no quote, no backslash, no control character.
    pub const PLAIN: Self = {
        let controls = (1 << 96) | (1 << 97) | (1 << 98) | (1 << CONTROL);
        let specials = (1 << CLASS[b'"' as usize]) | (1 << CLASS[b'\\' as usize]);
        Self(Self::ALL.0 & !Self::IRREGULAR.0 & !controls & !specials)
    };

    /// Returns the set as bits, one for each class.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Creates a set from bits, ignoring those that are not the bit of a class.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Returns the class of a byte, less than [`COUNT`](ByteClasses::COUNT).
    #[inline]
    #[must_use]
    pub const fn class_of(byte: u8) -> u32 {
        CLASS[byte as usize] as u32
    }

    /// Returns the set of one class.
    #[must_use]
    pub const fn class(class: u32) -> Self {
        Self(1 << class)
    }

    /// Returns the classes of some bytes, each as the first byte of a character.
    #[must_use]
    pub fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut set = Self::NONE;
        for byte in bytes {
            set |= Self::class(Self::class_of(byte));
        }
        set
    }

    /// Returns whether the set contains the byte as the first byte of a character.
    #[inline]
    #[must_use]
    pub const fn contains(self, byte: u8) -> bool {
        self.0 >> Self::class_of(byte) & 1 == 1
    }

    /// Returns whether `other` contains the set.
    #[inline]
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns whether the sets have nothing in common.
    #[inline]
    #[must_use]
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// Returns the number of classes in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the classes of the set, in order.
    pub fn classes(self) -> impl Iterator<Item = u32> {
        (0..Self::COUNT).filter(move |class| self.0 >> class & 1 == 1)
    }
}

impl BitOr for ByteClasses {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for ByteClasses {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for ByteClasses {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for ByteClasses {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0 & Self::ALL.0)
    }
}

/// Texts that are known to continue from a state, described by the classes and the number of their characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Any text of these classes continues from the state...
    pub closed: ByteClasses,
    /// ...as long as it has at most this many characters.
    pub code_points: u32,
    /// A superset of the bytes outside `closed` that may continue after such a text.
    pub exits: ByteClasses,
    /// Whether longer texts of `closed` may continue.
    pub goes_on: bool,
    /// The labels under which the terminal may end within the span.
    pub ends: Ends,
}

/// The labels under which a terminal may end within a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It does not end.
    Never,
    /// Wherever it ends, it ends under this label.
    Under(u32),
    /// It ends under several labels.
    Differently,
}

impl Ends {
    /// Returns the ends with those of one more state.
    #[must_use]
    pub fn and(self, label: Option<u32>) -> Self {
        match (self, label) {
            (ends, None) => ends,
            (Self::Never, Some(label)) => Self::Under(label),
            (Self::Under(known), Some(label)) if known == label => self,
            _ => Self::Differently,
        }
    }
}

impl Span {
    /// Returns the span inside a JSON string that may hold up to `code_points` more characters of any kind.
    #[must_use]
    pub fn free(code_points: u32) -> Self {
        Self {
            closed: ByteClasses::PLAIN,
            code_points,
            exits: Self::STRING_EXITS,
            goes_on: false,
            ends: Ends::Never,
        }
    }

    /// Returns whether plain text of its length continues.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        ByteClasses::PLAIN.is_subset(self.closed)
    }

    /// Returns whether plain text of any length continues.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.code_points == u32::MAX && self.is_plain()
    }

    /// The bytes that leave plain text within a JSON string: a quote or a backslash.
    pub const STRING_EXITS: ByteClasses =
        ByteClasses((1 << ByteClasses::class_of(b'"')) | (1 << ByteClasses::class_of(b'\\')));
}

/// A set of bytes as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// Every byte.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// Returns the set of some bytes.
    #[must_use]
    pub const fn of(bytes: &[u8]) -> Self {
        let mut words = [0; 4];
        let mut i = 0;
        while i < bytes.len() {
            words[(bytes[i] >> 6) as usize] |= 1 << (bytes[i] & 63);
            i += 1;
        }
        Self(words)
    }

    /// Returns the set of the bytes of some runs, from the first to the last of each.
    pub(crate) fn of_runs(runs: impl IntoIterator<Item = (u8, u8)>) -> Self {
        let mut set = Self::default();
        for (low, high) in runs {
            (low..=high).for_each(|byte| set.insert(byte));
        }
        set
    }

    /// Every byte that is not ASCII.
    pub const NOT_ASCII: Self = Self([0, 0, u64::MAX, u64::MAX]);

    /// Every byte except the ASCII control characters.
    pub const PRINTABLE: Self = Self([u64::MAX << 32, u64::MAX, u64::MAX, u64::MAX]);

    /// Inserts a byte.
    #[inline]
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Removes a byte.
    #[inline]
    pub fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !(1 << (byte & 63));
    }

    /// Returns whether the byte is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Returns the classes of the bytes, each as the first byte of a character.
    #[must_use]
    pub fn classes(mut self) -> ByteClasses {
        let mut classes = ByteClasses::NONE;
        while let Some(byte) = self.pop() {
            classes |= ByteClasses::of_bytes([byte]);
        }
        classes
    }

    /// Returns the number of bytes in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Removes and returns the lowest byte.
    #[inline]
    pub fn pop(&mut self) -> Option<u8> {
        let word = self.0.iter().position(|&word| word != 0)?;
        let bit = self.0[word].trailing_zeros();
        self.0[word] &= self.0[word] - 1;
        Some((word as u32 * 64 + bit) as u8)
    }

    /// Returns the bytes that are in another set as well.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Returns the part of a run around `byte` that contains none of the set; a byte of the set is a run of its own.
    pub(crate) fn gap(self, byte: u8, (low, high): (u8, u8)) -> (u8, u8) {
        if self.contains(byte) {
            return (byte, byte);
        }
        let is_without = |byte: &u8| !self.contains(*byte);
        let below = (low..byte).rev().take_while(is_without).last();
        let above = (byte..=high).take_while(is_without).last();
        (below.unwrap_or(byte), above.unwrap_or(byte))
    }

    /// Adds every byte of another set.
    pub fn union_with(&mut self, other: Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}

/// Returns the run of bytes around `byte` that contains none of the sorted `specials`; a special is a run of its own.
pub(crate) fn run_between(specials: &[u8], byte: u8) -> (u8, u8) {
    match specials.binary_search(&byte) {
        Ok(_) => (byte, byte),
        Err(at) => {
            let low = at.checked_sub(1).map_or(0, |before| specials[before] + 1);
            let high = specials.get(at).map_or(u8::MAX, |&behind| behind - 1);
            (low, high)
        }
    }
}

/// The length of the longest escape of one byte, `\u001f`.
pub(crate) const LONGEST_ESCAPE: u32 = 6;

/// The bytes that are characters of their own and need no escape in a JSON string.
pub(crate) fn plain_letters() -> impl Iterator<Item = u8> {
    (0..0x80).filter(|&byte| escaped_byte(byte) == 1)
}

/// The number of [`plain_letters`].
pub(crate) const PLAIN_LETTERS: usize = 94;

/// Returns the number of bytes that a byte of a text takes in a JSON string, written in the shortest way.
pub(crate) fn escaped_byte(byte: u8) -> u32 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
        0x00..=0x1F => LONGEST_ESCAPE,
        _ => 1,
    }
}

/// Returns the number of bytes of the text in a JSON string, written in the shortest way.
pub(crate) fn escaped_length(text: &[u8]) -> u32 {
    text.iter().map(|&byte| escaped_byte(byte)).sum()
}

/// Returns the intersection of two runs.
pub(crate) fn common_run(a: (u8, u8), b: (u8, u8)) -> (u8, u8) {
    (a.0.max(b.0), a.1.min(b.1))
}
