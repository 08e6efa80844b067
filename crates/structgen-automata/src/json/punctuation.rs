//! Braces, brackets, commas and colons, with the whitespace that the form allows around them.

use structgen_grammar::Whitespace;

use crate::{LimitExceeded, Machine};

/// Label: another member or item follows.
pub(crate) const MORE: u32 = 0;
/// Label: the object or array is closed.
pub(crate) const CLOSE: u32 = 1;

/// A piece of punctuation. Which of its ends may be taken depends on what the object or array still needs and allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Punctuation {
    /// The opening bracket, then what may follow it.
    Open {
        open: u8,
        close: u8,
        more_allowed: bool,
        close_allowed: bool,
    },
    /// The colon behind a key.
    Colon,
    /// What follows a member or item: a comma or the closing bracket.
    After {
        close: u8,
        more_allowed: bool,
        close_allowed: bool,
    },
}

/// Punctuation as a machine: where in it, and how much whitespace has been read there.
pub(crate) struct PunctuationMachine {
    punctuation: Punctuation,
    /// Whitespace at places where the form allows only what a reader would skip.
    gap: u16,
    /// Whitespace behind a comma or colon.
    gap_behind: u16,
    only_spaces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Before the bracket, comma or colon, behind so much whitespace.
    Before(u16),
    /// Behind an opening bracket.
    Opened(u16),
    /// Behind a comma or colon.
    Behind(u16),
    /// Behind the closing bracket.
    Closed,
}

impl PunctuationMachine {
    pub(crate) fn new(punctuation: Punctuation, whitespace: Whitespace) -> Self {
        let (gap, gap_behind, only_spaces) = match whitespace {
            Whitespace::Compact => (0, 0, false),
            Whitespace::Spaced => (0, 1, true),
            Whitespace::Bounded { max } => (max, max, false),
        };
        Self {
            punctuation,
            gap,
            gap_behind,
            only_spaces,
        }
    }

    fn is_space(&self, byte: u8) -> bool {
        byte == b' ' || (!self.only_spaces && matches!(byte, b'\t' | b'\n' | b'\r'))
    }
}

impl Machine for PunctuationMachine {
    type State = Place;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<Place>, LimitExceeded> {
        let nothing = match self.punctuation {
            Punctuation::Open {
                more_allowed,
                close_allowed,
                ..
            }
            | Punctuation::After {
                more_allowed,
                close_allowed,
                ..
            } => !more_allowed && !close_allowed,
            Punctuation::Colon => false,
        };
        Ok((!nothing).then_some(Place::Before(0)))
    }

    fn step(&mut self, place: &Place, byte: u8) -> Result<Option<Place>, LimitExceeded> {
        let is_space = self.is_space(byte);
        let next = match (*place, self.punctuation) {
            (Place::Before(_), Punctuation::Open { open, .. }) => {
                (byte == open).then_some(Place::Opened(0))
            }
            (Place::Before(count), _) if is_space => {
                (count < self.gap).then_some(Place::Before(count + 1))
            }
            (Place::Before(_), Punctuation::Colon) => (byte == b':').then_some(Place::Behind(0)),
            (
                Place::Before(_),
                Punctuation::After {
                    close,
                    more_allowed,
                    close_allowed,
                },
            ) => match byte {
                b',' if more_allowed => Some(Place::Behind(0)),
                _ => (byte == close && close_allowed).then_some(Place::Closed),
            },
            (Place::Opened(count), _) if is_space => {
                (count < self.gap).then_some(Place::Opened(count + 1))
            }
            (
                Place::Opened(_),
                Punctuation::Open {
                    close,
                    close_allowed,
                    ..
                },
            ) => (byte == close && close_allowed).then_some(Place::Closed),
            (Place::Behind(count), _) if is_space => {
                (count < self.gap_behind).then_some(Place::Behind(count + 1))
            }
            _ => None,
        };
        Ok(next)
    }

    fn accept(&self, place: &Place) -> Option<u32> {
        match (place, self.punctuation) {
            (Place::Closed, _) => Some(CLOSE),
            (
                Place::Opened(_),
                Punctuation::Open {
                    more_allowed: true, ..
                },
            )
            | (Place::Behind(_), _) => Some(MORE),
            _ => None,
        }
    }

    fn is_end(&self, place: &Place) -> bool {
        match place {
            Place::Closed => true,
            Place::Behind(count) => *count == self.gap_behind,
            Place::Opened(count) => {
                *count == self.gap
                    && matches!(
                        self.punctuation,
                        Punctuation::Open {
                            close_allowed: false,
                            ..
                        }
                    )
            }
            Place::Before(_) => false,
        }
    }

    fn cost(&mut self, place: &Place) -> u32 {
        match (place, self.punctuation) {
            (
                Place::Before(_),
                Punctuation::Open {
                    more_allowed: false,
                    ..
                },
            ) => 2,
            (Place::Before(_), _)
            | (
                Place::Opened(_),
                Punctuation::Open {
                    more_allowed: false,
                    ..
                },
            ) => 1,
            _ => 0,
        }
    }
}
