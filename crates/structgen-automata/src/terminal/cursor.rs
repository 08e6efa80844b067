//! A place in a terminal: the inner loop of every walk.

use std::sync::atomic::Ordering;

use super::{DEAD, NOT_FINAL, Reach, State, Terminal, TerminalState, UNKNOWN};
use crate::{ByteSet, Span, StepError};

/// A state of a terminal, with what is known of it: most steps from here look nothing up but the state that they lead to.
#[derive(Clone, Copy, Debug)]
pub struct TerminalCursor<'t> {
    terminal: &'t Terminal,
    state: TerminalState,
    known: &'t State,
}

impl<'t> TerminalCursor<'t> {
    /// A place at a state of a terminal.
    #[inline]
    pub(crate) fn new(terminal: &'t Terminal, state: TerminalState) -> Self {
        Self {
            terminal,
            state,
            known: &terminal.known[state as usize],
        }
    }

    /// The place behind one more byte, in a state that knows no more than is needed for tokens of this reach; `None` where no text goes on.
    #[inline]
    pub(crate) fn step_within(
        self,
        byte: u8,
        reach: Option<Reach>,
    ) -> Result<Option<Self>, StepError> {
        let terminal = self.terminal;
        let next = match terminal.known_step(self.known, byte) {
            Some(next) => next,
            None => terminal.resolve(self.state, byte)?,
        };
        if next == DEAD {
            return Ok(None);
        }
        let mut at = Self::new(terminal, next);
        let loose = at.known.loose.load(Ordering::Acquire);
        if loose != next {
            at = Self::new(terminal, loose);
        }
        let Some(reach) = reach else {
            return Ok(Some(at));
        };
        let relaxed = match at.known.relaxed[reach as usize].load(Ordering::Acquire) {
            UNKNOWN => terminal.relax(at.state, reach),
            relaxed => relaxed,
        };
        match relaxed {
            DEAD => Ok(None),
            _ if relaxed == at.state => Ok(Some(at)),
            _ => Ok(Some(Self::new(terminal, relaxed))),
        }
    }

    /// The state.
    #[inline]
    #[must_use]
    pub fn state(self) -> TerminalState {
        self.state
    }

    /// As [`Terminal::accept`].
    #[inline]
    #[must_use]
    pub fn accept(self) -> Option<u32> {
        let label = self.known.accept.load(Ordering::Relaxed);
        (label != NOT_FINAL).then_some(label)
    }

    /// As [`Terminal::is_end`].
    #[inline]
    #[must_use]
    pub fn is_end(self) -> bool {
        self.known.is_end.load(Ordering::Relaxed)
    }

    /// As [`Terminal::span`].
    #[inline]
    #[must_use]
    pub fn span(self, search: bool) -> Option<Span> {
        self.terminal.span_of(self.state, self.known, search)
    }

    /// As [`Terminal::first`].
    #[must_use]
    pub fn first(self) -> ByteSet {
        self.terminal.first(self.state)
    }
}
