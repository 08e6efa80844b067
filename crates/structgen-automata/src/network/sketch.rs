//! Sketches: states that stand for many others, on which masks are computed.
//!
//! A [sketch](Call::sketch) forgets texts, a [relaxed](Call::relax) state counters as well. Both take the tokens that
//! the state itself takes; where that cannot be, a step from them fails with [`StepError::NeedsExact`].

use super::sets::{LOST, NOT_BEGUN, Place};
use super::{Call, Element, Memory, SetId};
use crate::terminal::START;
use crate::{LimitExceeded, StepError};

impl Call<'_> {
    /// The state without the texts of keys and items in progress, and without whitespace that makes no difference to a
    /// token.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn sketch(&self, set: SetId) -> Result<SetId, LimitExceeded> {
        let keeps = |element: &Element| {
            let text = element.frame.extra;
            let begins = [0, NOT_BEGUN].contains(&text);
            // A walk goes through a referent without keeping its text.
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
                    // It depends on its texts: it is its own sketch.
                    Err(StepError::NeedsExact) => return Ok(set),
                    Err(StepError::Limit(limit)) => return Err(limit),
                };
                // The others are known to the terminal, as far as the item may be one of them; after an item whose text
                // is lost they do not matter. So what may come in an item is mostly the same in all items.
                frame.data = self.registers.without_values(frame.data);
            }
            frame.extra = LOST;
        }
        self.intern(elements)
    }

    /// A state that takes the same tokens as this one, for [`Memory::Short`] as far as they have at most
    /// [`SHORT_TEXT`](crate::SHORT_TEXT) characters, without the counters that none of them reaches. For walks with the
    /// same memory: what it costs to complete it means nothing. `None` where the terminals that are read keep what they
    /// count, and for memories that keep counters.
    ///
    /// # Errors
    /// When a limit is exceeded.
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
            begins |= frame.state == START;
            let terminal = self.terminals.get(frame.terminal);
            let state = terminal.relaxed(frame.state, reach);
            if state != frame.state {
                let elements = relaxed.get_or_insert_with(|| self.sets.elements(set).to_vec());
                elements[i].frame.state = state;
            }
        }
        match relaxed {
            Some(elements) => self.intern(elements).map(Some),
            // What begins here begins to count.
            None => Ok(begins.then_some(set)),
        }
    }
}
