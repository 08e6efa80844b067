//! Numbers the states of a machine.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{DEAD, TerminalState};
use crate::{
    ByteSet, Children, Continuations, Listing, LiteralsPlace, Lookahead, Machine, Span, StepError,
    Uniform,
};

/// A machine with numbered states, whatever their type.
pub(super) trait Numbered {
    fn step(&mut self, state: TerminalState, byte: u8) -> Result<TerminalState, StepError>;
    fn start_without(&mut self, excluded: u32) -> Result<TerminalState, StepError>;
    fn accept(&self, state: TerminalState) -> Option<u32>;
    fn is_end(&self, state: TerminalState) -> bool;
    fn alike(&mut self, state: TerminalState, byte: u8) -> (u8, u8);
    fn span(&mut self, state: TerminalState) -> Option<Span>;
    fn has_classes(&self, state: TerminalState) -> bool;
    fn literals(&self, state: TerminalState) -> Option<LiteralsPlace>;
    fn listing(&self, state: TerminalState) -> Option<Listing>;
    fn continuations(
        &mut self,
        state: TerminalState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, StepError>;
    fn first(&mut self, state: TerminalState) -> Option<ByteSet>;
    fn uniform(&mut self, state: TerminalState) -> Option<Uniform<TerminalState>>;
    fn sketch(&mut self, state: TerminalState) -> Result<TerminalState, StepError>;
    fn loosen(&mut self, state: TerminalState, longest: u16) -> Option<TerminalState>;
    fn relax(&mut self, state: TerminalState, reach: Lookahead) -> Option<TerminalState>;
    fn forced(&self, state: TerminalState) -> Option<(u32, u32)>;
    fn cost(&mut self, state: TerminalState) -> u32;
    fn work(&self) -> u64;
    /// Returns the approximate size in bytes of the machine and its states.
    fn memory(&self) -> usize;
}

pub(super) struct Numbering<M: Machine> {
    machine: M,
    /// The number of bytes that states own.
    owned: usize,
    /// `DEAD` and `START` both hold the machine's start; it gets a third number if it is reached again after a byte.
    states: Vec<Option<M::State>>,
    ids: FxHashMap<M::State, TerminalState>,
}

impl<M: Machine> Numbering<M> {
    /// Creates the numbering of a machine with this start.
    pub(super) fn new(machine: M, start: Option<M::State>) -> Self {
        Self {
            machine,
            owned: start.as_ref().map_or(0, M::owned_bytes),
            states: vec![start.clone(), start],
            ids: FxHashMap::default(),
        }
    }

    fn number(&mut self, state: M::State) -> TerminalState {
        if let Some(&id) = self.ids.get(&state) {
            return id;
        }
        self.owned += M::owned_bytes(&state);
        let id = self.states.len() as TerminalState;
        self.ids.insert(state.clone(), id);
        self.states.push(Some(state));
        id
    }
}

impl<M: Machine> Numbered for Numbering<M> {
    fn step(&mut self, state: TerminalState, byte: u8) -> Result<TerminalState, StepError> {
        let Some(from) = &self.states[state as usize] else {
            return Ok(DEAD);
        };
        let Some(next) = self.machine.step(from, byte).map_err(Into::into)? else {
            return Ok(DEAD);
        };
        Ok(self.number(next))
    }

    fn start_without(&mut self, excluded: u32) -> Result<TerminalState, StepError> {
        let start = self.machine.start_without(excluded).map_err(Into::into)?;
        Ok(start.map_or(DEAD, |start| self.number(start)))
    }

    fn accept(&self, state: TerminalState) -> Option<u32> {
        self.machine.accept(self.states[state as usize].as_ref()?)
    }

    fn is_end(&self, state: TerminalState) -> bool {
        self.states[state as usize]
            .as_ref()
            .is_some_and(|state| self.machine.is_end(state))
    }

    fn alike(&mut self, state: TerminalState, byte: u8) -> (u8, u8) {
        match &self.states[state as usize] {
            Some(state) => self.machine.equivalent_bytes(state, byte),
            None => (byte, byte),
        }
    }

    fn first(&mut self, state: TerminalState) -> Option<ByteSet> {
        self.machine.first(self.states[state as usize].as_ref()?)
    }

    fn has_classes(&self, state: TerminalState) -> bool {
        self.states[state as usize]
            .as_ref()
            .is_some_and(|state| self.machine.has_classes(state))
    }

    fn literals(&self, state: TerminalState) -> Option<LiteralsPlace> {
        self.machine.literals(self.states[state as usize].as_ref()?)
    }

    fn listing(&self, state: TerminalState) -> Option<Listing> {
        self.machine.listing(self.states[state as usize].as_ref()?)
    }

    fn continuations(
        &mut self,
        state: TerminalState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, StepError> {
        match &self.states[state as usize] {
            Some(state) => { self.machine.continuations(state, root, child) }.map_err(Into::into),
            None => Ok(None),
        }
    }

    fn span(&mut self, state: TerminalState) -> Option<Span> {
        self.machine.span(self.states[state as usize].as_ref()?)
    }

    fn uniform(&mut self, state: TerminalState) -> Option<Uniform<TerminalState>> {
        let from = self.states[state as usize].as_ref()?;
        let uniform = self.machine.uniform(from)?;
        let state = self.number(uniform.state.clone());
        Some(uniform.with_state(state))
    }

    fn sketch(&mut self, state: TerminalState) -> Result<TerminalState, StepError> {
        let Some(from) = &self.states[state as usize] else {
            return Ok(DEAD);
        };
        Ok(match self.machine.sketch(from).map_err(Into::into)? {
            Some(next) => self.number(next),
            None => DEAD,
        })
    }

    fn loosen(&mut self, state: TerminalState, longest: u16) -> Option<TerminalState> {
        let from = self.states[state as usize].as_ref()?;
        let loose = self.machine.abstract_whitespace(from, longest)?;
        Some(self.number(loose))
    }

    fn relax(&mut self, state: TerminalState, reach: Lookahead) -> Option<TerminalState> {
        let from = self.states[state as usize].as_ref()?;
        let relaxed = self.machine.abstract_counters(from, reach)?;
        Some(self.number(relaxed))
    }

    fn forced(&self, state: TerminalState) -> Option<(u32, u32)> {
        self.machine.forced(self.states[state as usize].as_ref()?)
    }

    fn cost(&mut self, state: TerminalState) -> u32 {
        match &self.states[state as usize] {
            Some(state) => self.machine.cost(state),
            None => 0,
        }
    }

    fn work(&self) -> u64 {
        self.machine.work()
    }

    fn memory(&self) -> usize {
        let known = size_of::<(M::State, TerminalState)>() + 1;
        size_of::<Self>()
            + self.machine.memory()
            + self.states.capacity() * size_of::<Option<M::State>>()
            + self.ids.capacity() * known
            + self.owned
    }
}
