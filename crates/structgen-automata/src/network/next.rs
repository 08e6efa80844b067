//! What may come next: bytes, token terminals, the end.

use crate::terminal::{START, Terminal, TerminalState};
use crate::{ByteSet, StepError};

use super::{Call, Element, Frame, Memory, SetId};

impl Call<'_> {
    /// Returns a superset of the bytes that may come next, if it is known without trying them.
    #[must_use]
    pub fn known_first(&self, set: SetId) -> Option<ByteSet> {
        self.first_by(set, &|terminal, state| terminal.known_first(state).copied())
    }

    /// Returns a superset of the bytes that may come next, without those whose step is known to be dead.
    pub fn first(&self, set: SetId) -> ByteSet {
        let first = self.first_by(set, &|terminal, state| Some(terminal.first(state)));
        // Where something failed, the steps will return the error.
        first.unwrap_or(ByteSet::ALL)
    }

    /// Returns the bytes that may come next by what is said of each terminal on top; `None` if it is not said of all.
    fn first_by(
        &self,
        set: SetId,
        of: &impl Fn(&Terminal, TerminalState) -> Option<ByteSet>,
    ) -> Option<ByteSet> {
        if let Some(&known) = self.firsts.get(&set) {
            return Some(known);
        }
        let mut first = ByteSet::default();
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            first.union_with(of(self.terminals.get(frame.terminal), frame.state)?);
            if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below).ok()?;
                first.union_with(self.first_by(after, of)?);
            }
        }
        Some(*self.firsts.insert(set, first))
    }

    /// Returns the first and last byte of a run around this one that all lead to the same state, as far as that is
    /// cheap to find.
    pub(super) fn equivalent_bytes(&self, set: SetId, byte: u8, memory: Memory) -> (u8, u8) {
        match *self.sets.elements(set) {
            // If the terminal may end here, the byte may also begin what follows; and an exact state keeps the bytes of
            // keys and items, so no two bytes lead to the same state.
            [Element { frame, .. }]
                if frame.reads()
                    && self.accept_label(frame).is_none()
                    && !(memory == Memory::Exact && frame.keeps_text()) =>
            {
                self.terminals.get(frame.terminal).alike(frame.state, byte)
            }
            _ => (byte, byte),
        }
    }

    /// Returns the token terminals that may come next, sorted.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn next_tokens(&self, set: SetId) -> Result<Vec<u32>, StepError> {
        let mut tokens = Vec::new();
        for &Element { frame, below } in self.sets.elements(set) {
            if let Some((token, _)) = self.token_of(frame) {
                tokens.push(token);
            } else if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below)?;
                tokens.extend(self.next_tokens(after)?);
            }
        }
        tokens.sort_unstable();
        tokens.dedup();
        Ok(tokens)
    }

    /// Returns whether the text may end here.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn is_accepting(&self, set: SetId) -> Result<bool, StepError> {
        let elements = self.sets.elements(set);
        if elements
            .iter()
            .any(|element| element.frame == Frame::ACCEPT)
        {
            return Ok(true);
        }
        let ends = |element: &&Element| self.accept_label(element.frame).is_some();
        let mut ending = elements.iter().filter(ends).peekable();
        if ending.peek().is_none() {
            return Ok(false);
        }
        if let Some(known) = self.accepting.get(u64::from(set.0)) {
            return Ok(known != 0);
        }
        let mut accepting = false;
        while !accepting && let Some(&Element { frame, below }) = ending.next() {
            let after = self.follow(frame, below)?;
            accepting = self.is_accepting(after)?;
        }
        self.accepting.insert(u64::from(set.0), accepting.into());
        Ok(accepting)
    }

    /// Returns whether the text may end here and cannot continue.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn is_final(&self, set: SetId) -> Result<bool, StepError> {
        if !self.is_accepting(set)? {
            return Ok(false);
        }
        if let Some(known) = self.finals.get(u64::from(set.0)) {
            return Ok(known != 0);
        }
        let is_final = !self.goes_on(set)?;
        self.finals.insert(u64::from(set.0), is_final.into());
        Ok(is_final)
    }

    /// Returns whether any byte or token can follow.
    fn goes_on(&self, set: SetId) -> Result<bool, StepError> {
        let elements = self.sets.elements(set);
        if elements
            .iter()
            .all(|element| element.frame == Frame::ACCEPT)
        {
            return Ok(false);
        }
        // A terminal in progress is live, so something follows. Where it may end, not every machine knows whether it
        // continues; and where it begins, the empty text may be its only one, which the frame does not show.
        let in_the_middle = |element: &Element| {
            let frame = element.frame;
            frame.reads() && frame.state != START && self.accept_label(frame).is_none()
        };
        if elements.iter().any(in_the_middle) || !self.next_tokens(set)?.is_empty() {
            return Ok(true);
        }
        for byte in 0..=u8::MAX {
            if self.step(set, byte, Memory::Exact)? != SetId::DEAD {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
