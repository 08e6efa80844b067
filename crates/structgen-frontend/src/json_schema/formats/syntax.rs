//! Short names for building regular sets by hand.

use structgen_grammar::{CharSet, Regular};

/// Exactly this text.
pub(super) fn text(text: &str) -> Regular {
    Regular::literal(text)
}

/// One character from ranges and single characters, as `"a-z0-9_"`; a literal hyphen comes last.
pub(super) fn class(ranges: &str) -> Regular {
    Regular::Chars(char_set(ranges))
}

/// The characters of [`class`].
pub(super) fn char_set(ranges: &str) -> CharSet {
    let chars: Vec<char> = ranges.chars().collect();
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if at + 2 < chars.len() && chars[at + 1] == '-' {
            pairs.push((chars[at], chars[at + 2]));
            at += 3;
        } else {
            pairs.push((chars[at], chars[at]));
            at += 1;
        }
    }
    CharSet::new(pairs)
}

/// A concatenation.
pub(super) fn seq(parts: impl IntoIterator<Item = Regular>) -> Regular {
    Regular::concat(parts)
}

/// A union.
pub(super) fn any(arms: impl IntoIterator<Item = Regular>) -> Regular {
    Regular::union(arms)
}

/// A union of texts.
pub(super) fn texts(words: &[&str]) -> Regular {
    Regular::union(words.iter().map(|word| Regular::literal(word)))
}

/// Zero or one times.
pub(super) fn optional(body: Regular) -> Regular {
    Regular::repeat(body, 0, Some(1))
}

/// Zero or more times.
pub(super) fn many(body: Regular) -> Regular {
    Regular::repeat(body, 0, None)
}

/// One or more times.
pub(super) fn some(body: Regular) -> Regular {
    Regular::repeat(body, 1, None)
}

/// Exactly `count` times.
pub(super) fn times(body: Regular, count: u32) -> Regular {
    Regular::repeat(body, count, Some(count))
}

/// From `min` to `max` times.
pub(super) fn between(body: Regular, min: u32, max: u32) -> Regular {
    Regular::repeat(body, min, Some(max))
}

/// A decimal digit.
pub(super) fn digit() -> Regular {
    class("0-9")
}

/// A hexadecimal digit in either case.
pub(super) fn hex() -> Regular {
    class("0-9A-Fa-f")
}

/// Whether the string is in the set.
#[cfg(test)]
pub(super) fn contains(regular: &Regular, text: &str) -> bool {
    let mut budget = u64::MAX;
    let mut machines = crate::json_schema::s3_canonical::matching::Machines::default();
    machines.contains(regular, text, &mut budget) == Some(true)
}
