//! How long tokens are: what no token reaches need not tell states apart.

/// What a network knows of the tokens that its states are stepped with, so that it may forget what none of them tells
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLengths {
    /// The most whitespace in a row.
    pub longest_gap: u16,
    /// The most characters, at least [`SHORT_TEXT`](crate::SHORT_TEXT).
    pub most_characters: u32,
}

impl TokenLengths {
    /// Tokens of any length.
    pub const UNKNOWN: Self = Self {
        longest_gap: u16::MAX,
        most_characters: u32::MAX,
    };
}
