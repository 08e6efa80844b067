//! Relations between values of one document.

use std::fmt;

/// How a value relates to the referents written before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It equals one of them; if there are none, no value is possible.
    In,
    /// It is at least as great as each of them.
    AtLeast,
    /// It is at most as great as each of them.
    AtMost,
    /// It equals none of them.
    NotEqual,
}

impl Relation {
    /// All relations.
    pub const ALL: [Self; 4] = [Self::In, Self::AtLeast, Self::AtMost, Self::NotEqual];

    /// The name in a schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::AtLeast => "at-least",
            Self::AtMost => "at-most",
            Self::NotEqual => "not-equal",
        }
    }

    /// Whether it compares values by their order.
    #[must_use]
    pub fn is_order(self) -> bool {
        matches!(self, Self::AtLeast | Self::AtMost)
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
