//! Maximum lengths of tokens: states need not differ in what no token reaches.

/// The maximum lengths of the tokens that a network's states are stepped with. States may forget what none of these
/// tokens distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLengths {
    /// The maximum number of whitespace characters in a row.
    pub longest_gap: u16,
    /// The maximum number of characters, at least [`SHORT_TEXT`](crate::SHORT_TEXT).
    pub most_characters: u32,
    /// The maximum number of colons that only whitespace separates from a quote before them: as many keys of an object
    /// a token may end, with their colons.
    pub most_keys: u32,
    /// The maximum number of runs of [whitespace](structgen_regular::is_gap) or cut characters, and of backslashes.
    pub most_gaps: u32,
}

impl TokenLengths {
    /// Tokens of any length.
    pub const UNKNOWN: Self = Self {
        longest_gap: u16::MAX,
        most_characters: u32::MAX,
        most_keys: u32::MAX,
        most_gaps: u32::MAX,
    };
}
