//! UTF-8 decoding states (RFC 3629).

/// A state of UTF-8: between characters, or what the rest of a character must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Utf8 {
    /// Between two characters.
    #[default]
    Boundary,
    /// One continuation byte is missing.
    Last,
    /// Two are missing.
    Two,
    /// Three are missing.
    Three,
    /// After `E0`: the next is `A0..=BF`.
    AfterE0,
    /// After `ED`: the next is `80..=9F`, since surrogates are not characters.
    AfterEd,
    /// After `F0`: the next is `90..=BF`.
    AfterF0,
    /// After `F4`: the next is `80..=8F`.
    AfterF4,
}

impl Utf8 {
    /// Returns the state after one more byte, or `None` if that is not UTF-8.
    #[must_use]
    pub fn step(self, byte: u8) -> Option<Self> {
        let next = match (self, byte) {
            (Self::Boundary, 0x00..=0x7F) | (Self::Last, 0x80..=0xBF) => Self::Boundary,
            (Self::Boundary, 0xC2..=0xDF) => Self::Last,
            (Self::Boundary, 0xE0) => Self::AfterE0,
            (Self::Boundary, 0xED) => Self::AfterEd,
            (Self::Boundary, 0xE1..=0xEC | 0xEE..=0xEF) => Self::Two,
            (Self::Boundary, 0xF0) => Self::AfterF0,
            (Self::Boundary, 0xF1..=0xF3) => Self::Three,
            (Self::Boundary, 0xF4) => Self::AfterF4,
            (Self::Two, 0x80..=0xBF)
            | (Self::AfterE0, 0xA0..=0xBF)
            | (Self::AfterEd, 0x80..=0x9F) => Self::Last,
            (Self::Three, 0x80..=0xBF)
            | (Self::AfterF0, 0x90..=0xBF)
            | (Self::AfterF4, 0x80..=0x8F) => Self::Two,
            _ => return None,
        };
        Some(next)
    }

    /// Returns the bytes around this one that no state distinguishes.
    pub(crate) fn equivalent_bytes(byte: u8) -> (u8, u8) {
        const STARTS: [u8; 14] = [
            0x00, 0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4, 0xF5,
        ];
        let behind = STARTS.partition_point(|&start| start <= byte);
        let high = STARTS.get(behind).map_or(u8::MAX, |&next| next - 1);
        (STARTS[behind - 1], high)
    }

    /// Returns the number of bytes that the character still needs.
    pub(crate) fn missing(self) -> u32 {
        match self {
            Self::Boundary => 0,
            Self::Last => 1,
            Self::Two | Self::AfterE0 | Self::AfterEd => 2,
            Self::Three | Self::AfterF0 | Self::AfterF4 => 3,
        }
    }
}
