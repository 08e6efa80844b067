//! What a frame's own terminal says of it.

use std::sync::Arc;

use crate::terminal::TerminalCursor;
use crate::{ByteSet, Children, Continuations, LiteralsPlace, Span, StepError, Uniform};

use super::{Frame, Network, SetId};

impl Network {
    /// Returns a cursor for the terminal on top.
    ///
    /// # Panics
    /// If the frame does not read.
    #[inline(always)]
    #[must_use]
    pub fn cursor(&self, frame: Frame) -> TerminalCursor<'_> {
        TerminalCursor::new(self.terminals.get(frame.terminal), frame.state)
    }

    /// Returns the label under which the terminal may end in the frame's state.
    #[inline]
    #[must_use]
    pub fn accept_label(&self, frame: Frame) -> Option<u32> {
        if frame.reads() {
            self.terminals.get(frame.terminal).accept(frame.state)
        } else {
            None
        }
    }

    /// Returns whether the terminal ends in the frame's state and cannot continue.
    #[inline]
    #[must_use]
    pub fn is_end(&self, frame: Frame) -> bool {
        self.terminals.get(frame.terminal).is_end(frame.state)
    }

    /// Returns texts that are known to continue from the state of the terminal on top. If none are known, finding them
    /// takes a search, which is made only if it is worth it for the steps of a walk that a span may save: `saved`.
    pub fn span(&self, frame: Frame, saved: u32) -> Option<Span> {
        if frame.reads() {
            let terminal = self.terminals.get(frame.terminal);
            terminal.span(frame.state, saved)
        } else {
            None
        }
    }

    /// Returns a span of fewer characters without a maximum length, beside a [`span`](Network::span) that has one.
    pub fn endless_span(&self, frame: Frame) -> Option<Span> {
        let terminal = frame.reads().then(|| self.terminals.get(frame.terminal));
        terminal?.endless_span(frame.state)
    }

    /// Returns the position in a list of literals, if the terminal on top is one.
    #[must_use]
    pub fn literals(&self, frame: Frame) -> Option<LiteralsPlace> {
        match frame.reads() {
            true => self.terminals.get(frame.terminal).literals(frame.state),
            false => None,
        }
    }

    /// Returns whether the terminal on top may be in or before a span of an input.
    #[must_use]
    pub fn is_grounded(&self, frame: Frame) -> bool {
        frame.reads() && self.terminals.get(frame.terminal).is_grounded()
    }

    /// Returns the nodes of a token trie below `root` that continue in a span of an input, if the terminal on top is in
    /// or before one. All calls must use the same trie.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn continuations(
        &self,
        frame: Frame,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, StepError> {
        match frame.reads() {
            true => self
                .terminals
                .get(frame.terminal)
                .continuations(frame.state, root, child),
            false => Ok(None),
        }
    }

    /// Returns whether the texts of a frame's [`span`](Network::span), found by a search, lead back to the frame
    /// itself.
    #[must_use]
    pub fn is_loop(&self, frame: Frame, span: &Span) -> bool {
        let terminal = self.terminals.get(frame.terminal);
        terminal.is_loop(frame.state, span.closed)
    }

    /// Returns texts that are known to continue from a state.
    pub(super) fn span_of(&self, set: SetId) -> Option<Span> {
        match *self.elements(set) {
            [element] => self.span(element.frame, u32::MAX),
            // One of several elements suffices if its text is unlimited; otherwise others may continue after it.
            ref elements => {
                let mut spans = elements.iter().map(|it| self.span(it.frame, u32::MAX));
                let free = Span::free(u32::MAX);
                let is_free = |span: Span| span.closed == free.closed && span.is_free();
                spans.any(|span| span.is_some_and(is_free)).then_some(free)
            }
        }
    }

    /// Returns the bytes that continue within the terminal on top.
    pub fn first_of(&self, frame: Frame) -> ByteSet {
        self.terminals.get(frame.terminal).first(frame.state)
    }

    /// Returns how a string that may hold any text ends, see [`Machine::uniform`](crate::Machine::uniform).
    pub fn uniform(&self, frame: Frame) -> Option<Uniform<Frame>> {
        if !frame.reads() {
            return None;
        }
        let uniform = self.terminals.get(frame.terminal).uniform(frame.state)?;
        let state = frame.with_state(uniform.state);
        Some(uniform.with_state(state))
    }
}
