//! The bytes that may come next.

use std::sync::atomic::Ordering;

use crate::ByteSet;

use super::state::{NOT_ASKED, State, UNTRIED};
use super::{DEAD, Source, Terminal, TerminalState};

impl Terminal {
    /// Returns a superset of the bytes that may come next, if it is known without trying them.
    #[inline]
    pub(crate) fn known_first(&self, state: TerminalState) -> Option<&ByteSet> {
        self.known_first_of(state, &self.known[state as usize])
    }

    #[inline]
    pub(super) fn known_first_of(&self, state: TerminalState, known: &State) -> Option<&ByteSet> {
        match known.first.load(Ordering::Acquire) {
            NOT_ASKED => self.ask_for_first(state),
            UNTRIED => None,
            place => self.firsts[place as usize].get(),
        }
    }

    #[cold]
    fn ask_for_first(&self, state: TerminalState) -> Option<&ByteSet> {
        let mut source = self.source();
        let first = source.numbered.first(state);
        self.keep_first(&mut source, state, first)
    }

    /// Stores the bytes that may come next, unless another thread has; `None` if they have to be tried.
    fn keep_first(
        &self,
        source: &mut Source,
        state: TerminalState,
        first: Option<ByteSet>,
    ) -> Option<&ByteSet> {
        let known = &self.known[state as usize].first;
        let place = known.load(Ordering::Acquire);
        if place < UNTRIED {
            return self.firsts[place as usize].get();
        }
        let Some(first) = first else {
            known.store(UNTRIED, Ordering::Release);
            return None;
        };
        let place = source.firsts;
        source.firsts += 1;
        let first = self.firsts.make(place as usize).get_or_init(|| first);
        known.store(place, Ordering::Release);
        Some(first)
    }

    /// Returns a superset of the bytes that may come next; all of them if a step fails.
    pub fn first(&self, state: TerminalState) -> ByteSet {
        if let Some(&known) = self.known_first(state) {
            return known;
        }
        let mut first = ByteSet::default();
        let mut byte = 0;
        loop {
            let (_, last) = self.alike(state, byte);
            match self.step(state, byte) {
                Ok(DEAD) => {}
                Ok(_) => (byte..=last).for_each(|byte| first.insert(byte)),
                Err(_) => {
                    first = ByteSet::ALL;
                    break;
                }
            }
            match last.checked_add(1) {
                Some(next) => byte = next,
                None => break,
            }
        }
        self.keep_first(&mut self.source(), state, Some(first));
        first
    }
}
