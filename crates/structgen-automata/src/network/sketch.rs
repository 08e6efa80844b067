//! Sketches: abstractions of states, on which masks are computed.
//!
//! A [sketch](Call::sketch) forgets texts; a [relaxed](Call::relax) state forgets counters as well. Both accept the
//! tokens that the state itself accepts; where that is impossible, a step fails with [`StepError::NeedsExact`].

use super::sets::{LOST, NOT_BEGUN, Place};
use super::{Call, Element, Memory, SetId};
use crate::terminal::START;
use crate::{LimitExceeded, StepError};

impl Call<'_> {
    /// Returns the state without the texts of keys and items in progress, and without whitespace that makes no
    /// difference to a token.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn sketch(&self, set: SetId) -> Result<SetId, LimitExceeded> {
        let keeps = |element: &Element| {
            let text = element.frame.extra;
            let begins = [0, NOT_BEGUN].contains(&text);
            // A walk passes through a referent without keeping its text.
            let is_referent = matches!(element.frame.place(), Place::Referent(_));
            element.frame.keeps_text() && text != LOST && (!begins || is_referent)
        };
        let knows = |element: &Element| {
            let written = element.frame.written;
            self.sketch_of_written(written) != written
        };
        let is_loose = |element: &Element| {
            let Element { frame, .. } = *element;
            !frame.reads()
                || self.terminals.get(frame.terminal).loosened(frame.state) == frame.state
        };
        let elements = self.sets.elements(set);
        if !elements.iter().any(|it| keeps(it) || knows(it)) && elements.iter().all(is_loose) {
            return Ok(set);
        }
        let mut elements = elements.to_vec();
        for Element { frame, .. } in elements.iter_mut().filter(|e| e.frame.reads()) {
            frame.state = self.terminals.get(frame.terminal).loosened(frame.state);
        }
        for Element { frame, .. } in &mut elements {
            frame.written = self.sketch_of_written(frame.written);
        }
        for Element { frame, .. } in elements.iter_mut().filter(|element| keeps(element)) {
            if matches!(frame.place(), Place::ArrayItem(_)) {
                let terminal = self.terminals.get(frame.terminal);
                frame.state = match terminal.sketch(frame.state) {
                    Ok(state) => state,
                    // It depends on its texts, so it is its own sketch.
                    Err(StepError::NeedsExact) => return Ok(set),
                    Err(StepError::Limit(limit)) => return Err(limit),
                };
                // The terminal knows the other values, as far as the item may be one of them; after an item whose text
                // is lost, they do not matter. So the continuations within items are usually the same for all items.
                frame.data = self.registers.without_values(frame.data);
            }
            frame.extra = LOST;
        }
        self.intern(elements)
    }

    /// Returns a state that accepts the same tokens as this one, without the counters that none of them reaches; for
    /// [`Memory::Short`], only tokens of at most [`SHORT_TEXT`](crate::SHORT_TEXT) characters. The state is meant for
    /// walks with the same memory, and its cost is meaningless. `None` if the terminals being read keep their counters,
    /// or the memory does.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn relax(&self, set: SetId, memory: Memory) -> Result<Option<SetId>, LimitExceeded> {
        let Some(reach) = memory.reach() else {
            return Ok(None);
        };
        let mut relaxed: Option<Vec<Element>> = None;
        let mut begins = false;
        for (i, &Element { frame, .. }) in self.sets.elements(set).iter().enumerate() {
            if !frame.reads() || !self.terminals.get(frame.terminal).counts() {
                continue;
            }
            // A key has a start for each set of keys that were seen.
            begins |= frame.state == START || frame.is_key() && frame.extra == 0;
            let terminal = self.terminals.get(frame.terminal);
            let state = terminal.relaxed(frame.state, reach);
            if state != frame.state {
                let elements = relaxed.get_or_insert_with(|| self.sets.elements(set).to_vec());
                elements[i].frame.state = state;
            }
        }
        match relaxed {
            Some(elements) => self.intern(elements).map(Some),
            // What begins here has counted nothing yet.
            None => Ok(begins.then_some(set)),
        }
    }
}
