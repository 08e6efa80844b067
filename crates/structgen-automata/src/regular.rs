//! Regular sets as terminals.

use structgen_regular::{LimitExceeded, RegularMachine, RegularState};

use crate::{ByteSet, Lookahead, Machine};

impl Machine for RegularMachine {
    type State = RegularState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<RegularState>, LimitExceeded> {
        self.start()
    }

    fn step(
        &mut self,
        state: &RegularState,
        byte: u8,
    ) -> Result<Option<RegularState>, LimitExceeded> {
        self.step(state, byte)
    }

    fn accept(&self, state: &RegularState) -> Option<u32> {
        self.is_accepting(state).then_some(0)
    }

    fn is_end(&self, state: &RegularState) -> bool {
        self.is_end(state)
    }

    fn equivalent_bytes(&mut self, state: &RegularState, byte: u8) -> (u8, u8) {
        self.equivalent_bytes(state, byte)
    }

    fn first(&mut self, state: &RegularState) -> Option<ByteSet> {
        RegularMachine::first(self, state).map(ByteSet::of_runs)
    }

    fn has_classes(&self, state: &RegularState) -> bool {
        self.has_classes(state)
    }

    fn has_long_counters(&self) -> bool {
        self.has_long_counters()
    }

    fn abstract_counters(
        &mut self,
        state: &RegularState,
        lookahead: Lookahead,
    ) -> Option<RegularState> {
        self.abstract_counters(state, lookahead)
    }

    fn work(&self) -> u64 {
        RegularMachine::work(self)
    }

    fn memory(&self) -> usize {
        RegularMachine::memory(self)
    }

    fn cost(&mut self, state: &RegularState) -> u32 {
        RegularMachine::cost(self, state)
    }
}
