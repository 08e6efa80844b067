//! A run of whitespace of bounded length.

use structgen_grammar::{CharSet, Regular};

use crate::bytes::run_between;
use crate::{ByteClasses, ByteSet, Ends, LimitExceeded, Machine, Span};

/// The number of whitespace characters read in a row. [`Gap::LOOSE`] stands for any number so far below the maximum
/// that no token reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gap(u16);

impl Gap {
    /// No whitespace yet.
    pub(crate) const NONE: Self = Self(0);
    /// Any number that is far below the maximum.
    pub(crate) const LOOSE: Self = Self(u16::MAX);
    /// The largest maximum.
    pub(crate) const MOST: u16 = u16::MAX - 1;

    /// Returns the gap with one more whitespace character, if the maximum `most` allows it.
    pub(crate) fn longer(self, most: u16) -> Option<Self> {
        if self == Self::LOOSE {
            Some(self)
        } else {
            (self.0 < most.min(Self::MOST)).then_some(Self(self.0 + 1))
        }
    }

    /// Returns the number; the largest value if it is loose.
    pub(crate) fn count(self) -> u16 {
        self.0
    }

    /// Returns the loose gap, if no token with at most `longest` whitespace characters in a row reaches the maximum.
    pub(crate) fn abstract_whitespace(self, most: u16, longest: u16) -> Option<Self> {
        let most = most.min(Self::MOST);
        let reaches = self.0.checked_add(longest).is_none_or(|end| end > most);
        (!reaches && most > 0).then_some(Self::LOOSE)
    }

    /// Returns the span of a loose gap: any amount of whitespace of these kinds. `exits` are the other bytes that may
    /// come next, and `label` is the one under which the terminal may end.
    pub(crate) fn span(
        self,
        only_spaces: bool,
        exits: ByteSet,
        label: Option<u32>,
    ) -> Option<Span> {
        let closed = if only_spaces {
            ByteClasses::of_bytes(*b" ")
        } else {
            ByteClasses::of_bytes(*b" \t\n\r")
        };
        (self == Self::LOOSE).then_some(Span {
            closed,
            code_points: u32::MAX,
            exits: exits.classes(),
            goes_on: false,
            ends: Ends::Never.and(label),
        })
    }
}

/// Whitespace around a whole text: at most `most` characters.
pub(crate) struct GapMachine {
    most: u16,
}

impl GapMachine {
    /// Creates the machine of a regular set, if that is a run of JSON's whitespace with a maximum length.
    pub(crate) fn of(regular: &Regular) -> Option<Self> {
        let Regular::Repeat {
            body,
            min: 0,
            max: Some(max),
        } = regular
        else {
            return None;
        };
        let whitespace = CharSet::new([' ', '\t', '\n', '\r'].map(|c| (c, c)));
        let is_whitespace = matches!(&**body, Regular::Chars(set) if *set == whitespace);
        let most = u16::try_from(*max).ok().filter(|&most| most <= Gap::MOST)?;
        is_whitespace.then_some(Self { most })
    }
}

impl Machine for GapMachine {
    type State = Gap;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<Gap>, LimitExceeded> {
        Ok(Some(Gap::NONE))
    }

    fn step(&mut self, gap: &Gap, byte: u8) -> Result<Option<Gap>, LimitExceeded> {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        Ok(if is_space {
            gap.longer(self.most)
        } else {
            None
        })
    }

    fn accept(&self, _gap: &Gap) -> Option<u32> {
        Some(0)
    }

    fn is_end(&self, gap: &Gap) -> bool {
        gap.count() == self.most
    }

    fn equivalent_bytes(&mut self, _gap: &Gap, byte: u8) -> (u8, u8) {
        run_between(b"\t\n\r ", byte)
    }

    fn first(&mut self, _gap: &Gap) -> Option<ByteSet> {
        Some(ByteSet::of(b"\t\n\r "))
    }

    fn span(&mut self, gap: &Gap) -> Option<Span> {
        gap.span(false, ByteSet::default(), self.accept(gap))
    }

    fn abstract_whitespace(&self, gap: &Gap, longest: u16) -> Option<Gap> {
        gap.abstract_whitespace(self.most, longest)
    }

    fn cost(&mut self, _gap: &Gap) -> u32 {
        0
    }
}
