//! Regular sets as syntax trees over Unicode scalar values or raw bytes.

use std::sync::Arc;

use crate::Shared;

/// A set of Unicode scalar values: sorted inclusive ranges that neither touch nor overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct CharSet(Shared<[(char, char)]>);

impl CharSet {
    /// The union of the inclusive ranges, which may come in any order and overlap.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        let mut sorted: Vec<(char, char)> = ranges
            .into_iter()
            .filter(|(low, high)| low <= high)
            .collect();
        sorted.sort_unstable();
        let mut merged: Vec<(char, char)> = Vec::with_capacity(sorted.len());
        for (low, high) in sorted {
            match merged.last_mut() {
                Some((_, last)) if next_char(*last).is_none_or(|next| low <= next) => {
                    *last = (*last).max(high)
                }
                _ => merged.push((low, high)),
            }
        }
        Self(merged.into())
    }

    /// All scalar values.
    #[must_use]
    pub fn all() -> Self {
        Self::new([('\0', char::MAX)])
    }

    /// The ranges, sorted.
    #[must_use]
    pub fn ranges(&self) -> &[(char, char)] {
        &self.0
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the character is in the set.
    #[must_use]
    pub fn contains(&self, c: char) -> bool {
        let after = self.0.partition_point(|&(low, _)| low <= c);
        after > 0 && c <= self.0[after - 1].1
    }

    /// All scalar values that are not in the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        let mut from = Some('\0');
        for &(low, high) in self.0.iter() {
            if let (Some(start), Some(end)) = (from, previous_char(low))
                && start <= end
            {
                ranges.push((start, end));
            }
            from = next_char(high);
        }
        if let Some(start) = from {
            ranges.push((start, char::MAX));
        }
        Self::new(ranges)
    }
}

impl FromIterator<char> for CharSet {
    fn from_iter<I: IntoIterator<Item = char>>(chars: I) -> Self {
        Self::new(chars.into_iter().map(|c| (c, c)))
    }
}

fn next_char(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{E000}'),
        char::MAX => None,
        _ => char::from_u32(c as u32 + 1),
    }
}

fn previous_char(c: char) -> Option<char> {
    match c {
        '\0' => None,
        '\u{E000}' => Some('\u{D7FF}'),
        _ => char::from_u32(c as u32 - 1),
    }
}

/// A regular set of byte strings. Characters stand for their UTF-8 bytes.
///
/// Children are shared, so cloning a tree costs one reference count. Whoever builds a tree must bound its depth.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Regular {
    /// The empty set: no string at all.
    Never,
    /// The empty string.
    Empty,
    /// Exactly these bytes.
    Bytes(Arc<[u8]>),
    /// One character of the set.
    Chars(CharSet),
    /// One byte of an inclusive range.
    ByteRange(u8, u8),
    /// The parts, concatenated.
    Concat(Shared<[Regular]>),
    /// The union of the arms.
    Union(Shared<[Regular]>),
    /// The intersection of the arms.
    Intersection(Shared<[Regular]>),
    /// Every UTF-8 string that is not in the body.
    Complement(Shared<Regular>),
    /// The body, repeated `min` to `max` times.
    Repeat {
        /// What is repeated.
        body: Shared<Regular>,
        /// The minimum number of times.
        min: u32,
        /// The maximum number of times, at least `min`.
        max: Option<u32>,
    },
    /// The empty string at positions where the body matches directly ahead or behind.
    ///
    /// A look-around sees a whole text, beyond what is matched by the parts next to it. This is the text matched by the
    /// innermost [`Regular::Intersection`] or [`Regular::Complement`] around it, or else by the whole set. So an
    /// intersection of one arm limits what look-arounds see. Word boundaries and anchors are look-arounds at one
    /// character.
    Look {
        /// Whether it looks at what comes before.
        behind: bool,
        /// Whether the body must not match.
        negated: bool,
        /// The body.
        body: Shared<Regular>,
    },
}

impl Regular {
    /// The UTF-8 bytes of the text.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        if text.is_empty() {
            Self::Empty
        } else {
            Self::Bytes(text.as_bytes().into())
        }
    }

    /// The concatenation of the parts.
    #[must_use]
    pub fn concat(parts: impl IntoIterator<Item = Regular>) -> Self {
        Self::Concat(parts.into_iter().collect())
    }

    /// The union of the arms.
    #[must_use]
    pub fn union(arms: impl IntoIterator<Item = Regular>) -> Self {
        Self::Union(arms.into_iter().collect())
    }

    /// The body, repeated `min` to `max` times.
    #[must_use]
    pub fn repeat(body: Regular, min: u32, max: Option<u32>) -> Self {
        Self::Repeat {
            body: Shared::new(body),
            min,
            max,
        }
    }

    /// The empty string at positions where the body matches directly ahead or behind, or does not match if `negated`.
    #[must_use]
    pub fn look(behind: bool, negated: bool, body: Regular) -> Self {
        Self::Look {
            behind,
            negated,
            body: Shared::new(body),
        }
    }

    /// The start of the text (`behind`) or its end.
    #[must_use]
    pub fn anchor(behind: bool) -> Self {
        Self::look(behind, true, Self::Chars(CharSet::all()))
    }

    /// Any text: every string of scalar values.
    #[must_use]
    pub fn any_text() -> Self {
        Self::repeat(Self::Chars(CharSet::all()), 0, None)
    }

    /// The direct parts of the set, in order.
    #[must_use]
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Concat(parts) | Self::Union(parts) | Self::Intersection(parts) => parts,
            Self::Complement(body) | Self::Repeat { body, .. } | Self::Look { body, .. } => {
                std::slice::from_ref(&**body)
            }
            Self::Never | Self::Empty | Self::Bytes(_) | Self::Chars(_) | Self::ByteRange(..) => {
                &[]
            }
        }
    }

    /// Whether the empty string is in the set.
    ///
    /// ```
    /// use structgen_grammar::Regular;
    ///
    /// assert!(Regular::any_text().takes_empty());
    /// assert!(Regular::Complement(Regular::literal("a").into()).takes_empty());
    /// assert!(!Regular::literal("a").takes_empty());
    /// ```
    #[must_use]
    pub fn takes_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Never | Self::Chars(_) | Self::ByteRange(..) => false,
            Self::Concat(parts) | Self::Intersection(parts) => parts.iter().all(Self::takes_empty),
            Self::Union(arms) => arms.iter().any(Self::takes_empty),
            Self::Complement(body) => !body.takes_empty(),
            Self::Repeat { body, min, .. } => *min == 0 || body.takes_empty(),
            // An empty text has nothing else ahead or behind.
            Self::Look { negated, body, .. } => body.takes_empty() != *negated,
        }
    }
}
