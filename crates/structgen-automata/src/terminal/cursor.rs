//! A cursor in a terminal: the inner loop of every walk.

use std::sync::atomic::Ordering;

use super::{DEAD, NOT_FINAL, Reach, State, Terminal, TerminalState, UNKNOWN};
use crate::{ByteSet, Listing, Span, StepError};

/// A state of a terminal with its cached data: most steps look up only the state that they lead to.
#[derive(Clone, Copy, Debug)]
pub struct TerminalCursor<'t> {
    terminal: &'t Terminal,
    state: TerminalState,
    known: &'t State,
}

impl<'t> TerminalCursor<'t> {
    /// Creates a cursor at a state of a terminal.
    #[inline(always)]
    pub(crate) fn new(terminal: &'t Terminal, state: TerminalState) -> Self {
        Self {
            terminal,
            state,
            known: &terminal.known[state as usize],
        }
    }

    /// Returns the cursor at another state of the same terminal.
    #[inline(always)]
    pub(crate) fn moved_to(self, state: TerminalState) -> Self {
        match state == self.state {
            true => self,
            false => Self::new(self.terminal, state),
        }
    }

    /// Returns the cursor after one more byte; `None` if no text continues.
    #[inline(always)]
    pub(crate) fn step_exactly(self, byte: u8) -> Result<Option<Self>, StepError> {
        let next = match self.terminal.known_step(self.known, byte) {
            Some(next) => next,
            None => self.terminal.resolve(self.state, byte)?,
        };
        Ok((next != DEAD).then(|| self.moved_to(next)))
    }

    /// Returns the cursor after one more byte, at a state relaxed for tokens of this reach; `None` if no text
    /// continues.
    #[inline(always)]
    pub(crate) fn step_within(
        self,
        byte: u8,
        reach: Option<Reach>,
    ) -> Result<Option<Self>, StepError> {
        let terminal = self.terminal;
        let Some(at) = self.step_exactly(byte)? else {
            return Ok(None);
        };
        let at = at.moved_to(at.known.loose.load(Ordering::Acquire));
        let Some(reach) = reach else {
            return Ok(Some(at));
        };
        let relaxed = match at.known.relaxed[reach as usize].load(Ordering::Acquire) {
            UNKNOWN => terminal.relax(at.state, reach),
            relaxed => relaxed,
        };
        match relaxed {
            DEAD => Ok(None),
            _ => Ok(Some(at.moved_to(relaxed))),
        }
    }

    /// As [`Terminal::is_string`].
    #[inline]
    #[must_use]
    pub fn is_string(self) -> bool {
        self.terminal.is_string()
    }

    /// Returns the state.
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
    pub fn span(self, saved: u32) -> Option<Span> {
        self.terminal.span_of(self.state, self.known, saved)
    }

    /// Returns a superset of the bytes that may come next, if it is known without trying them.
    #[inline]
    #[must_use]
    pub fn known_first(self) -> Option<&'t ByteSet> {
        self.terminal.known_first_of(self.state, self.known)
    }

    /// Returns the listed texts with which a JSON string may go on, if the state is within one that has to be listed.
    #[inline]
    #[must_use]
    pub fn listing(self) -> Option<Listing> {
        self.terminal.listing(self.state)
    }

    /// As [`Terminal::first`].
    #[must_use]
    pub fn first(self) -> ByteSet {
        self.terminal.first(self.state)
    }
}
