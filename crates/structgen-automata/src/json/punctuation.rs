//! Braces, brackets, commas and colons, with the whitespace that the form allows around them.

use structgen_grammar::{Indent, Whitespace};

use super::gap::Gap;
use crate::bytes::run_between;
use crate::{ByteSet, LimitExceeded, Machine, Span};

/// Label: another member or item follows.
pub(crate) const MORE: u32 = 0;
/// Label: the object or array is closed.
pub(crate) const CLOSE: u32 = 1;

/// A piece of punctuation. Which of its ends are allowed depends on what the object or array still needs and allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Punctuation {
    /// The opening bracket and what may follow it.
    Open {
        open: u8,
        close: u8,
        more_allowed: bool,
        close_allowed: bool,
    },
    /// The colon after a key.
    Colon,
    /// What follows a member or item: a comma or the closing bracket.
    After {
        close: u8,
        more_allowed: bool,
        close_allowed: bool,
    },
}

/// Punctuation with the whitespace around it, as a machine.
pub(crate) struct PunctuationMachine {
    punctuation: Punctuation,
    gaps: Gaps,
}

/// The whitespace of one piece of punctuation.
#[derive(Clone, Copy)]
enum Gaps {
    /// Whitespace that is optional.
    Skipped {
        /// The maximum before punctuation and after an opening bracket.
        anywhere: u16,
        /// The maximum after a comma or colon.
        behind: u16,
        only_spaces: bool,
    },
    /// Whitespace that is required.
    Demanded {
        /// After an opening bracket, if something follows.
        opened: Layout,
        /// After a comma or colon.
        behind: Layout,
        /// Before the closing bracket of what is not empty.
        closing: Layout,
    },
}

/// An optional line break, then `count` times the same character.
#[derive(Clone, Copy)]
struct Layout {
    breaks: bool,
    fill: u8,
    count: u16,
}

impl Layout {
    const NOTHING: Self = Self::fill(b' ', 0);

    const fn fill(fill: u8, count: u16) -> Self {
        Self {
            breaks: false,
            fill,
            count,
        }
    }

    /// Returns a line break with its indentation, which grows no longer than a gap.
    fn line(indent: Indent, depth: u32) -> Self {
        let count = indent.width().saturating_mul(depth);
        Self {
            breaks: true,
            fill: indent.byte(),
            count: count.min(u32::from(Gap::MOST) - 1) as u16,
        }
    }

    fn len(self) -> u16 {
        u16::from(self.breaks) + self.count
    }

    /// Returns whether the byte may come at this position of the layout.
    fn has(self, at: u16, byte: u8) -> bool {
        at < self.len()
            && byte
                == if self.breaks && at == 0 {
                    b'\n'
                } else {
                    self.fill
                }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PunctuationState {
    /// Before the bracket, comma or colon, after some whitespace.
    Before(Gap),
    /// After an opening bracket.
    Opened(Gap),
    /// After a comma or colon.
    Behind(Gap),
    /// After the closing bracket.
    Closed,
}

impl PunctuationMachine {
    /// Creates the punctuation of an object or array whose members are at this depth.
    pub(crate) fn new(punctuation: Punctuation, whitespace: Whitespace, depth: u32) -> Self {
        let skipped = |anywhere, behind, only_spaces| Gaps::Skipped {
            anywhere,
            behind,
            only_spaces,
        };
        let demanded = |opened, behind, closing| Gaps::Demanded {
            opened,
            behind,
            closing,
        };
        let space = Layout::fill(b' ', 1);
        let is_colon = matches!(punctuation, Punctuation::Colon);
        let gaps = match whitespace {
            Whitespace::Compact => skipped(0, 0, false),
            Whitespace::Spaced => skipped(0, 1, true),
            Whitespace::Bounded { max } => {
                let max = max.min(Gap::MOST);
                skipped(max, max, false)
            }
            Whitespace::OneSpace => demanded(Layout::NOTHING, space, Layout::NOTHING),
            Whitespace::Indented { .. } if is_colon => {
                demanded(Layout::NOTHING, space, Layout::NOTHING)
            }
            Whitespace::Indented { indent } => {
                let line = Layout::line(indent, depth);
                demanded(line, line, Layout::line(indent, depth.saturating_sub(1)))
            }
        };
        Self { punctuation, gaps }
    }

    /// Returns the whitespace after one more byte of it, in a state with this layout.
    fn longer(
        &self,
        layout: fn(&Gaps) -> Option<Layout>,
        behind: bool,
        at: Gap,
        byte: u8,
    ) -> Option<Gap> {
        match (self.gaps, layout(&self.gaps)) {
            (_, Some(layout)) => layout
                .has(at.count(), byte)
                .then(|| at.longer(u16::MAX))
                .flatten(),
            (
                Gaps::Skipped {
                    anywhere,
                    behind: most_behind,
                    only_spaces,
                },
                None,
            ) => {
                let most = if behind { most_behind } else { anywhere };
                let is_space =
                    byte == b' ' || (!only_spaces && matches!(byte, b'\t' | b'\n' | b'\r'));
                if is_space { at.longer(most) } else { None }
            }
            (Gaps::Demanded { .. }, None) => None,
        }
    }

    /// Returns the whitespace in a state where it is optional, its maximum, and whether it may only be spaces.
    fn skipped(&self, state: &PunctuationState) -> Option<(Gap, u16, bool)> {
        let Gaps::Skipped {
            anywhere,
            behind,
            only_spaces,
        } = self.gaps
        else {
            return None;
        };
        match (*state, self.punctuation) {
            // Nothing comes before an opening bracket.
            (PunctuationState::Before(_), Punctuation::Open { .. })
            | (PunctuationState::Closed, _) => None,
            (PunctuationState::Before(gap) | PunctuationState::Opened(gap), _) => {
                Some((gap, anywhere, only_spaces))
            }
            (PunctuationState::Behind(gap), _) => Some((gap, behind, only_spaces)),
        }
    }

    /// Returns a superset of the bytes other than whitespace that may come next within the punctuation.
    fn significant(&self, state: &PunctuationState) -> ByteSet {
        let bytes = match (*state, self.punctuation) {
            (PunctuationState::Before(_), Punctuation::Open { open, .. }) => [Some(open), None],
            (PunctuationState::Before(_), Punctuation::Colon) => [Some(b':'), None],
            (
                PunctuationState::Before(_),
                Punctuation::After {
                    close,
                    more_allowed,
                    close_allowed,
                },
            ) => [more_allowed.then_some(b','), close_allowed.then_some(close)],
            (
                PunctuationState::Opened(_),
                Punctuation::Open {
                    close,
                    close_allowed,
                    ..
                },
            ) => [close_allowed.then_some(close), None],
            (
                PunctuationState::Opened(_)
                | PunctuationState::Behind(_)
                | PunctuationState::Closed,
                _,
            ) => [None, None],
        };
        let mut set = ByteSet::default();
        bytes
            .into_iter()
            .flatten()
            .for_each(|byte| set.insert(byte));
        set
    }

    /// Returns whether the whitespace in a state with this layout may end at this length.
    fn may_end(layout: Option<Layout>, at: Gap) -> bool {
        layout.is_none_or(|layout| at.count() == layout.len())
    }
}

impl Gaps {
    fn opened(&self) -> Option<Layout> {
        match self {
            Self::Demanded { opened, .. } => Some(*opened),
            Self::Skipped { .. } => None,
        }
    }

    fn behind(&self) -> Option<Layout> {
        match self {
            Self::Demanded { behind, .. } => Some(*behind),
            Self::Skipped { .. } => None,
        }
    }

    fn closing(&self) -> Option<Layout> {
        match self {
            Self::Demanded { closing, .. } => Some(*closing),
            Self::Skipped { .. } => None,
        }
    }
}

/// JSON's whitespace.
const WHITESPACE: &[u8] = b"\t\n\r ";

/// Whitespace and punctuation, sorted.
const SIGNIFICANT: &[u8] = b"\t\n\r ,:[]{}";

impl Machine for PunctuationMachine {
    type State = PunctuationState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<PunctuationState>, LimitExceeded> {
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
        Ok((!nothing).then_some(PunctuationState::Before(Gap::NONE)))
    }

    fn step(
        &mut self,
        state: &PunctuationState,
        byte: u8,
    ) -> Result<Option<PunctuationState>, LimitExceeded> {
        let next = match (*state, self.punctuation) {
            (PunctuationState::Before(_), Punctuation::Open { open, .. }) => {
                (byte == open).then_some(PunctuationState::Opened(Gap::NONE))
            }
            (PunctuationState::Before(count), Punctuation::Colon) => {
                // No form requires whitespace before a colon.
                if byte == b':' {
                    Some(PunctuationState::Behind(Gap::NONE))
                } else {
                    let skips = matches!(self.gaps, Gaps::Skipped { .. });
                    let longer = self.longer(|_| None, false, count, byte);
                    longer.filter(|_| skips).map(PunctuationState::Before)
                }
            }
            (
                PunctuationState::Before(count),
                Punctuation::After {
                    close,
                    more_allowed,
                    close_allowed,
                },
            ) => {
                let layout = self.gaps.closing();
                // Required whitespace comes only before the bracket; after some of it, no comma may come.
                let at_comma = layout.is_none() || count == Gap::NONE;
                if byte == b',' && more_allowed && at_comma {
                    Some(PunctuationState::Behind(Gap::NONE))
                } else if byte == close && close_allowed && Self::may_end(layout, count) {
                    Some(PunctuationState::Closed)
                } else {
                    let goes_on = layout.is_none() || close_allowed;
                    let longer = self.longer(Gaps::closing, false, count, byte);
                    longer.filter(|_| goes_on).map(PunctuationState::Before)
                }
            }
            (
                PunctuationState::Opened(count),
                Punctuation::Open {
                    close,
                    close_allowed,
                    more_allowed,
                    ..
                },
            ) => {
                let layout = self.gaps.opened();
                let at_close = layout.is_none() || count == Gap::NONE;
                if byte == close && close_allowed && at_close {
                    Some(PunctuationState::Closed)
                } else {
                    let goes_on = layout.is_none() || more_allowed;
                    let longer = self.longer(Gaps::opened, false, count, byte);
                    longer.filter(|_| goes_on).map(PunctuationState::Opened)
                }
            }
            (PunctuationState::Behind(count), _) => self
                .longer(Gaps::behind, true, count, byte)
                .map(PunctuationState::Behind),
            _ => None,
        };
        Ok(next)
    }

    fn equivalent_bytes(&mut self, _place: &PunctuationState, byte: u8) -> (u8, u8) {
        run_between(SIGNIFICANT, byte)
    }

    fn first(&mut self, state: &PunctuationState) -> Option<ByteSet> {
        let mut first = self.significant(state);
        if *state != PunctuationState::Closed {
            first.union_with(ByteSet::of(WHITESPACE));
        }
        Some(first)
    }

    fn span(&mut self, state: &PunctuationState) -> Option<Span> {
        let (gap, _, only_spaces) = self.skipped(state)?;
        gap.span(only_spaces, self.significant(state), self.accept(state))
    }

    fn abstract_whitespace(
        &self,
        state: &PunctuationState,
        longest: u16,
    ) -> Option<PunctuationState> {
        let (gap, most, _) = self.skipped(state)?;
        let gap = gap.abstract_whitespace(most, longest)?;
        Some(match state {
            PunctuationState::Before(_) => PunctuationState::Before(gap),
            PunctuationState::Opened(_) => PunctuationState::Opened(gap),
            PunctuationState::Behind(_) | PunctuationState::Closed => PunctuationState::Behind(gap),
        })
    }

    fn accept(&self, state: &PunctuationState) -> Option<u32> {
        match (state, self.punctuation) {
            (PunctuationState::Closed, _) => Some(CLOSE),
            (
                PunctuationState::Opened(count),
                Punctuation::Open {
                    more_allowed: true, ..
                },
            ) if Self::may_end(self.gaps.opened(), *count) => Some(MORE),
            (PunctuationState::Behind(count), _) if Self::may_end(self.gaps.behind(), *count) => {
                Some(MORE)
            }
            _ => None,
        }
    }

    fn is_end(&self, state: &PunctuationState) -> bool {
        let no_close = matches!(
            self.punctuation,
            Punctuation::Open {
                close_allowed: false,
                ..
            }
        );
        match (state, self.gaps) {
            (PunctuationState::Closed, _) => true,
            (PunctuationState::Behind(count), Gaps::Skipped { behind, .. }) => {
                count.count() == behind
            }
            (PunctuationState::Behind(count), Gaps::Demanded { behind, .. }) => {
                count.count() == behind.len()
            }
            (PunctuationState::Opened(count), Gaps::Skipped { anywhere, .. }) => {
                count.count() == anywhere && no_close
            }
            (PunctuationState::Opened(count), Gaps::Demanded { opened, .. }) => {
                count.count() == opened.len() && (no_close || *count != Gap::NONE)
            }
            (PunctuationState::Before(_), _) => false,
        }
    }

    fn forced(&self, state: &PunctuationState) -> Option<(u32, u32)> {
        let Gaps::Demanded {
            opened,
            behind,
            closing,
        } = self.gaps
        else {
            return None;
        };
        let left = |layout: Layout, gap: Gap| u32::from(layout.len() - gap.count());
        match (*state, self.punctuation) {
            (PunctuationState::Behind(count), _) => Some((left(behind, count), MORE)),
            (PunctuationState::Before(count), Punctuation::After { .. }) if count != Gap::NONE => {
                Some((left(closing, count) + 1, CLOSE))
            }
            (PunctuationState::Opened(count), Punctuation::Open { close_allowed, .. })
                if count != Gap::NONE || !close_allowed =>
            {
                Some((left(opened, count), MORE))
            }
            _ => None,
        }
    }

    fn cost(&mut self, state: &PunctuationState) -> u32 {
        match (state, self.punctuation) {
            (
                PunctuationState::Before(_),
                Punctuation::Open {
                    more_allowed: false,
                    ..
                },
            ) => 2,
            (PunctuationState::Before(_), _)
            | (
                PunctuationState::Opened(_),
                Punctuation::Open {
                    more_allowed: false,
                    ..
                },
            ) => 1,
            _ => 0,
        }
    }
}
