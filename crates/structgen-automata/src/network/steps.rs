//! Steps: the state after a byte, after bytes, and after a token terminal.

use crate::StepError;
use crate::terminal::{Reach, TerminalCursor};

use super::sets::{LOST, NOT_BEGUN};
use super::{Call, Element, Frame, Network, SetId};

/// Whether states remember the texts of undeclared keys, and of items that others are compared with.
///
/// A matcher's own state is exact. Masks are computed on sketches, in which thousands of texts share one state. If a
/// step depends on the text after all, it fails with [`StepError::NeedsExact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Every text is kept.
    Exact,
    /// Texts that are read from now on are not kept.
    Sketch,
    /// Like `Sketch`, and counters out of reach of short tokens are forgotten; see [`Call::relax`].
    Short,
    /// Like `Sketch`, and counters out of reach of all tokens are forgotten.
    Tokens,
}

impl Memory {
    /// Returns the tokens for which counters are forgotten.
    #[inline]
    pub(super) fn reach(self) -> Option<Reach> {
        match self {
            Self::Exact | Self::Sketch => None,
            Self::Short => Some(Reach::Short),
            Self::Tokens => Some(Reach::Tokens),
        }
    }
}

impl TerminalCursor<'_> {
    /// Returns the cursor after one more byte, in a sketch; `None` if no text continues.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    #[inline]
    pub fn step(self, byte: u8, memory: Memory) -> Result<Option<Self>, StepError> {
        self.step_within(byte, memory.reach())
    }
}

#[inline]
fn step_key(set: SetId, byte: u8, memory: Memory) -> u64 {
    u64::from(set.0) << 16 | u64::from(byte) << 8 | memory as u64
}

impl Network {
    /// Returns the frame after one more byte of its own terminal, which is at `at`, and the cursor then.
    #[inline(always)]
    fn step_frame<'n>(
        &'n self,
        frame: Frame,
        at: TerminalCursor<'n>,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<(Frame, TerminalCursor<'n>)>, StepError> {
        // An item begins as its own sketch; an exact step starts from the exact state.
        let at = match frame.extra {
            NOT_BEGUN if memory == Memory::Exact => at.moved_to(self.terminals.exact_start(frame)),
            _ => at,
        };
        let next = match memory {
            Memory::Exact => at.step_exactly(byte)?,
            _ => at.step(byte, memory)?,
        };
        let Some(next) = next else {
            return Ok(None);
        };
        let extra = match frame.extra {
            text if !frame.keeps_text() => text,
            LOST => LOST,
            _ if memory != Memory::Exact => LOST,
            NOT_BEGUN => self.registers.push_text(0, byte),
            text => self.registers.push_text(text, byte),
        };
        let state = next.state();
        let frame = Frame {
            state,
            extra,
            ..frame
        };
        Ok(Some((frame, next)))
    }
}

impl Call<'_> {
    /// Returns the state after one more byte, or [`SetId::DEAD`] if no text continues.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    #[inline]
    pub fn step(&self, set: SetId, byte: u8, memory: Memory) -> Result<SetId, StepError> {
        // A text visits a state once, and where tokens lead is remembered; only walks return to a state again and
        // again.
        if memory == Memory::Exact
            && let Some(next) = self.step_within(set, byte, memory)?
        {
            return Ok(next);
        }
        let key = step_key(set, byte, memory);
        if let Some(next) = self.stepped.get(key) {
            return Ok(SetId(next as u32));
        }
        let next = self.step_uncached(set, byte, memory)?;
        self.stepped.insert(key, next.0.into());
        Ok(next)
    }

    /// Fails if it depends on texts that a sketch omits whether a terminal may end under a label. What follows an end
    /// is live otherwise, as is every terminal in progress.
    ///
    /// # Errors
    /// If it does.
    #[inline]
    pub fn check_end(&self, frame: Frame, label: u32) -> Result<(), StepError> {
        match frame.is_key() {
            true => self.check_key(frame, label),
            false => Ok(()),
        }
    }

    /// Returns the exact state after some bytes, or the offset of the first one that no text continues with. States
    /// that are only passed through within one terminal are not created.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn step_all(&self, set: SetId, bytes: &[u8]) -> Result<Result<SetId, usize>, StepError> {
        let mut state = set;
        let mut offset = 0;
        while let Some(&byte) = bytes.get(offset) {
            let within = match *self.sets.elements(state) {
                [Element { frame, below }] if frame.reads() => {
                    self.run_within(frame, below, &bytes[offset..])?
                }
                _ => None,
            };
            (state, offset) = match within {
                Some((state, read)) => (state, offset + read),
                None => (self.step(state, byte, Memory::Exact)?, offset + 1),
            };
            if state == SetId::DEAD {
                return Ok(Err(offset - 1));
            }
        }
        Ok(Ok(state))
    }

    /// Returns the exact state after those of the bytes that the terminal reads before it may end, and their number;
    /// `None` if there are none. If the terminal does not continue, the state is [`SetId::DEAD`], after the byte.
    fn run_within(
        &self,
        frame: Frame,
        below: SetId,
        bytes: &[u8],
    ) -> Result<Option<(SetId, usize)>, StepError> {
        let (mut frame, mut at) = (frame, self.cursor(frame));
        let mut read = 0;
        for &byte in bytes {
            if at.accept().is_some() {
                break;
            }
            match self.step_frame(frame, at, byte, Memory::Exact)? {
                None => return Ok(Some((SetId::DEAD, read + 1))),
                Some((_, next)) if next.is_end() => break,
                Some(next) => (frame, at) = next,
            }
            read += 1;
        }
        match read {
            0 => Ok(None),
            _ => Ok(Some((self.sets.single(Element { frame, below })?, read))),
        }
    }

    /// Returns whether some text continues with one more byte, without creating the state after it.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn continues(&self, set: SetId, byte: u8, memory: Memory) -> Result<bool, StepError> {
        if let Some(next) = self.stepped.get(step_key(set, byte, memory)) {
            return Ok(SetId(next as u32) != SetId::DEAD);
        }
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            let at = self.cursor(frame);
            if let Some((frame, at)) = self.step_frame(frame, at, byte, memory)? {
                if let Some(label) = at.accept() {
                    self.check_end(frame, label)?;
                }
                return Ok(true);
            }
            if at.accept().is_some() {
                let after = self.follow(frame, below)?;
                if self.continues(after, byte, memory)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Steps a state with one element whose terminal cannot end before or after the byte, which is the usual case.
    #[inline]
    fn step_within(
        &self,
        set: SetId,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<SetId>, StepError> {
        let &[Element { frame, below }] = self.sets.elements(set) else {
            return Ok(None);
        };
        if !frame.reads() {
            return Ok(None);
        }
        let at = self.cursor(frame);
        if at.accept().is_some() {
            return Ok(None);
        }
        match self.step_frame(frame, at, byte, memory)? {
            None => Ok(Some(SetId::DEAD)),
            Some((_, at)) if at.is_end() => Ok(None),
            Some((frame, _)) => Ok(Some(self.sets.single(Element { frame, below })?)),
        }
    }

    /// Steps a state for a caller that caches the result.
    pub(super) fn step_once(
        &self,
        set: SetId,
        byte: u8,
        memory: Memory,
    ) -> Result<SetId, StepError> {
        match self.stepped.get(step_key(set, byte, memory)) {
            Some(next) => Ok(SetId(next as u32)),
            None => self.step_uncached(set, byte, memory),
        }
    }

    fn step_uncached(&self, set: SetId, byte: u8, memory: Memory) -> Result<SetId, StepError> {
        if memory != Memory::Exact
            && let Some(next) = self.step_within(set, byte, memory)?
        {
            return Ok(next);
        }
        let mut found = Vec::new();
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            let at = self.cursor(frame);
            if let Some((next, at)) = self.step_frame(frame, at, byte, memory)? {
                if at.is_end() {
                    let after = self.follow(next, below)?;
                    found.extend_from_slice(self.sets.elements(after));
                } else {
                    found.push(Element { frame: next, below });
                }
            }
            if at.accept().is_some() {
                let after = self.follow(frame, below)?;
                let next = self.step(after, byte, memory)?;
                found.extend_from_slice(self.sets.elements(next));
            }
        }
        Ok(self.intern(found)?)
    }

    /// Returns the state after a token terminal of the program, whatever the bytes of the token are.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn step_token(&self, set: SetId, token: u32) -> Result<SetId, StepError> {
        let mut found = Vec::new();
        for &Element { frame, below } in self.sets.elements(set) {
            if let Some((own, next)) = self.token_of(frame) {
                if own == token {
                    self.with_written(frame.written, || {
                        self.enter_into(next, below, false, &mut found)
                    })?;
                }
            } else if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below)?;
                let next = self.step_token(after, token)?;
                found.extend_from_slice(self.sets.elements(next));
            }
        }
        Ok(self.intern(found)?)
    }
}
