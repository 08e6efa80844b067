//! Sets of bytes by class: what a text is made of, in 128 bits.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of bytes, by classes that texts of UTF-8 tell apart: every byte of ASCII is a class of its own, but for
/// control characters that are no whitespace; a character beyond ASCII counts by its first byte, of which those with
/// two bytes are one class.
///
/// A continuation byte that stands where UTF-8 has one belongs to the character before it and is in no class. One that
/// stands elsewhere, and a byte that UTF-8 never has, are [`IRREGULAR`](ByteClasses::IRREGULAR).
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
    /// How many classes there are.
    pub const COUNT: u32 = NEVER + 1;
    /// No byte.
    pub const NONE: Self = Self(0);
    /// Every byte.
    pub const ALL: Self = Self((1 << Self::COUNT) - 1);
    /// Bytes that stand where UTF-8 has none of them.
    pub const IRREGULAR: Self = Self((1 << CONTINUATION) | (1 << NEVER));
    /// What a JSON string may hold as it is: no quote, no backslash, no control character.
    pub const PLAIN: Self = {
        let controls = (1 << 96) | (1 << 97) | (1 << 98) | (1 << CONTROL);
        let specials = (1 << CLASS[b'"' as usize]) | (1 << CLASS[b'\\' as usize]);
        Self(Self::ALL.0 & !Self::IRREGULAR.0 & !controls & !specials)
    };

    /// The set as bits, one for each class.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// The set of some bits; those that are no class's are left out.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// The class of a byte, below [`COUNT`](ByteClasses::COUNT).
    #[inline]
    #[must_use]
    pub const fn class_of(byte: u8) -> u32 {
        CLASS[byte as usize] as u32
    }

    /// The set of one class.
    #[must_use]
    pub const fn class(class: u32) -> Self {
        Self(1 << class)
    }

    /// The classes of some bytes, each as the first byte of a character.
    #[must_use]
    pub fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut set = Self::NONE;
        for byte in bytes {
            set |= Self::class(Self::class_of(byte));
        }
        set
    }

    /// Whether the byte, as the first one of a character, is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, byte: u8) -> bool {
        self.0 >> Self::class_of(byte) & 1 == 1
    }

    /// Whether all of the set is in the other.
    #[inline]
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether the set has nothing in common with the other.
    #[inline]
    #[must_use]
    pub const fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// How many classes are in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The classes of the set, in order.
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

/// A stretch of text that goes on from a state whatever it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Any text of these classes goes on from the state, ...
    pub closed: ByteClasses,
    /// ... as long as it has at most this many characters.
    pub code_points: u32,
    /// Which bytes outside of `closed` may go on after such a text, at most.
    pub exits: ByteClasses,
    /// Whether texts of `closed` that are longer may go on.
    pub goes_on: bool,
    /// Under which labels the terminal may end within the stretch.
    pub ends: Ends,
}

/// Under which labels a terminal may end within a stretch of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It does not.
    Never,
    /// Wherever it does, under this one.
    Under(u32),
    /// Under several.
    Differently,
}

impl Ends {
    /// The same with one more place.
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
    /// The inside of a JSON string that may hold up to `code_points` more characters, whichever they are.
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

    /// Whether plain text of any length goes on.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.code_points == u32::MAX && ByteClasses::PLAIN.is_subset(self.closed)
    }

    /// What leaves plain text within a JSON string: a quote or a backslash.
    pub const STRING_EXITS: ByteClasses =
        ByteClasses((1 << ByteClasses::class_of(b'"')) | (1 << ByteClasses::class_of(b'\\')));
}

/// A set of bytes as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// Every byte.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// The set of some bytes.
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

    /// Every byte that is not ASCII.
    pub const NOT_ASCII: Self = Self([0, 0, u64::MAX, u64::MAX]);

    /// Every byte but the control characters of ASCII.
    pub const PRINTABLE: Self = Self([u64::MAX << 32, u64::MAX, u64::MAX, u64::MAX]);

    /// Puts a byte into the set.
    #[inline]
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Whether the byte is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// The classes of the bytes, each as the first one of a character.
    #[must_use]
    pub fn classes(mut self) -> ByteClasses {
        let mut classes = ByteClasses::NONE;
        while let Some(byte) = self.pop() {
            classes |= ByteClasses::of_bytes([byte]);
        }
        classes
    }

    /// How many bytes are in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether no byte is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Takes the lowest byte out of the set.
    #[inline]
    pub fn pop(&mut self) -> Option<u8> {
        let word = self.0.iter().position(|&word| word != 0)?;
        let bit = self.0[word].trailing_zeros();
        self.0[word] &= self.0[word] - 1;
        Some((word as u32 * 64 + bit) as u8)
    }

    /// Adds every byte of another set.
    pub fn union_with(&mut self, other: Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}

/// The run of bytes around `byte` that has none of the sorted `specials`; a special stands alone.
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

/// The bytes of the longest escape of one byte, `\u001f`.
pub(crate) const LONGEST_ESCAPE: u32 = 6;

/// How many bytes the text takes in a JSON string, written in the shortest way.
pub(crate) fn escaped_length(text: &[u8]) -> u32 {
    text.iter()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
            0x00..=0x1F => LONGEST_ESCAPE,
            _ => 1,
        })
        .sum()
}

/// The bytes that are in both runs.
pub(crate) fn common_run(a: (u8, u8), b: (u8, u8)) -> (u8, u8) {
    (a.0.max(b.0), a.1.min(b.1))
}
