//! Known string lengths of a set, which answer most questions of emptiness without an automaton.

use structgen_grammar::Regular;

/// The maximum number of subexpressions that are examined, counting every occurrence, and their maximum depth.
const MAX_PARTS: usize = 500;
const MAX_DEPTH: u32 = 64;

/// The set has a string of every length in code points from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    min: u32,
    max: Option<u32>,
}

impl Lengths {
    /// Some lengths of a set; `None` if none are easily found.
    pub(super) fn of(regular: &Regular) -> Option<Self> {
        find(regular, &mut { MAX_PARTS }, 0)
    }

    fn exactly(length: u32) -> Self {
        Self {
            min: length,
            max: Some(length),
        }
    }

    /// Whether one of the lengths is between the bounds.
    pub(super) fn meet(self, min: u32, max: Option<u32>) -> bool {
        let at_most = |length: u32, bound: Option<u32>| bound.is_none_or(|bound| length <= bound);
        min.max(self.min) <= max.unwrap_or(u32::MAX) && at_most(min.max(self.min), self.max)
    }

    fn followed_by(self, other: Self) -> Option<Self> {
        let max = match (self.max, other.max) {
            (Some(one), Some(other)) => Some(one.checked_add(other)?),
            _ => None,
        };
        let min = self.min.checked_add(other.min)?;
        Some(Self { min, max })
    }

    /// The lengths of `min` repetitions, and of up to `max` if they are contiguous with those.
    fn repeated(self, min: u32, max: Option<u32>) -> Option<Self> {
        let times = |bound: Option<u32>, times: Option<u32>| match (bound, times) {
            (_, Some(0)) | (Some(0), _) => Some(0),
            (Some(bound), Some(times)) => bound.checked_mul(times),
            _ => None,
        };
        let least = self.min.checked_mul(min)?;
        // The lengths of `min + 1` repetitions must not start beyond the end of those of `min`. This then holds for all
        // higher counts.
        let joins_up = match times(self.max, Some(min)) {
            Some(end) => self.min.checked_mul(min.checked_add(1)?)? <= end.saturating_add(1),
            None => true,
        };
        let most = if joins_up { max } else { Some(min) };
        if max.is_some_and(|max| max < min) {
            return None;
        }
        let end = times(self.max, most);
        // An overflowing bound must not become unbounded.
        if self.max.is_some() && most.is_some() && end.is_none() {
            return Some(Self::exactly(least));
        }
        Some(Self {
            min: least,
            max: end,
        })
    }

    /// The lengths of both if they are contiguous, else the shorter ones.
    fn or(self, other: Self) -> Self {
        let (low, high) = if self.min <= other.min {
            (self, other)
        } else {
            (other, self)
        };
        let Some(end) = low.max else {
            return low;
        };
        if high.min > end.saturating_add(1) {
            return low;
        }
        Self {
            min: low.min,
            max: high.max.map(|max| max.max(end)),
        }
    }
}

fn find(regular: &Regular, left: &mut usize, depth: u32) -> Option<Lengths> {
    *left = left.checked_sub(1)?;
    if depth > MAX_DEPTH {
        return None;
    }
    let mut inner = |part: &Regular| find(part, left, depth + 1);
    match regular {
        Regular::Empty => Some(Lengths::exactly(0)),
        Regular::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?;
            let length = u32::try_from(text.chars().count()).ok()?;
            Some(Lengths::exactly(length))
        }
        Regular::Chars(set) => (!set.is_empty()).then(|| Lengths::exactly(1)),
        Regular::Concat(parts) => parts.iter().try_fold(Lengths::exactly(0), |before, part| {
            before.followed_by(inner(part)?)
        }),
        Regular::Union(arms) => arms.iter().filter_map(inner).reduce(Lengths::or),
        Regular::Repeat { body, min, max } => match inner(body) {
            Some(lengths) => lengths.repeated(*min, *max),
            None => (*min == 0).then(|| Lengths::exactly(0)),
        },
        // Look-around also constrains the text next to it.
        Regular::Never
        | Regular::ByteRange(..)
        | Regular::Intersection(_)
        | Regular::Complement(_)
        | Regular::Look { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::{RegexOptions, parse};

    fn lengths(pattern: &str) -> Option<(u32, Option<u32>)> {
        let regular = parse(pattern, RegexOptions::json_schema()).expect("the pattern is read");
        Lengths::of(&regular).map(|lengths| (lengths.min, lengths.max))
    }

    #[test]
    fn lengths_without_gaps_are_seen() {
        for (pattern, expected) in [
            ("^abc$", Some((3, Some(3)))),
            ("^[a-z]+$", Some((1, None))),
            ("^[a-z]{2,5}$", Some((2, Some(5)))),
            ("^(ab){2,5}$", Some((4, Some(4)))),
            ("^(ab|c){2,5}$", Some((2, Some(10)))),
            ("^(abc)?é$", Some((1, Some(1)))),
            ("^(a?){3}b*$", Some((0, None))),
            ("^(|aaa|aaaaaa){2,}$", Some((0, Some(0)))),
            ("^(aa|aaaa){1,}$", Some((2, Some(2)))),
            ("^(aa|aaa){1,}$", Some((2, None))),
        ] {
            assert_eq!(lengths(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn bounds_are_met_by_one_length() {
        let three_to_five = Lengths {
            min: 3,
            max: Some(5),
        };
        for (min, max, meets) in [
            (0, None, true),
            (5, None, true),
            (6, None, false),
            (0, Some(2), false),
            (0, Some(3), true),
            (4, Some(4), true),
        ] {
            assert_eq!(three_to_five.meet(min, max), meets, "{min} {max:?}");
        }
    }
}
