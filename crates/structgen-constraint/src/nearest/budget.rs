//! What a search may cost: steps, and the work and the memory that they take.

use structgen_automata::{CancelToken, SetId};

use crate::MatcherError;
use crate::visit::Visit;
use crate::walk::run;

/// The work that each step of a search allows. One step of the automaton usually takes far less, but it may also visit
/// thousands of alternatives, or try all bytes for a completion.
const WORK_PER_STEP: u64 = 64;

/// The work of one attempt at a step, beyond the alternatives it visits.
const WORK_OF_ATTEMPT: u64 = 4;

/// The bytes of new states that a unit of work pays for. They bound the memory of a search, and computing what is
/// cached for a state takes time in proportion.
const BYTES_PER_WORK: usize = 10;

/// The work between two measurements of memory.
const MEASURE_EVERY: u64 = 1 << 12;

/// The steps of a search for one completion only.
const STEPS_OF_COMPLETION: u64 = 1 << 17;

/// What a search may still cost.
pub(super) struct Budget<'v, 's> {
    visit: &'v Visit<'s>,
    steps_left: u64,
    work_left: u64,
    /// The work so far.
    spent: u64,
    /// The size of the states when it was measured last.
    bytes: usize,
}

impl<'v, 's> Budget<'v, 's> {
    pub(super) fn new(visit: &'v Visit<'s>, steps: u64) -> Self {
        Self {
            visit,
            steps_left: steps,
            work_left: steps.saturating_mul(WORK_PER_STEP),
            spent: 0,
            bytes: visit.states.memory(),
        }
    }

    pub(super) fn of_one_completion(visit: &'v Visit<'s>) -> Self {
        Self::new(visit, STEPS_OF_COMPLETION)
    }

    pub(super) fn visit(&self) -> &'v Visit<'s> {
        self.visit
    }

    pub(super) fn is_spent(&self) -> bool {
        self.steps_left == 0 || self.work_left == 0
    }

    pub(super) fn take_steps(&mut self, steps: usize) {
        self.steps_left = self.steps_left.saturating_sub(steps as u64);
    }

    /// Leaves at most this many steps.
    pub(super) fn keep_steps(&mut self, steps: u64) {
        self.steps_left = self.steps_left.min(steps);
    }

    /// Returns the state after the bytes, if it is live; counts a step for each byte.
    pub(super) fn step(
        &mut self,
        state: SetId,
        bytes: &[u8],
    ) -> Result<Option<SetId>, MatcherError> {
        self.take_steps(bytes.len());
        self.attempt(state, bytes)
    }

    /// Returns the state after the bytes, if it is live; counts the work only.
    pub(super) fn attempt(
        &mut self,
        state: SetId,
        bytes: &[u8],
    ) -> Result<Option<SetId>, MatcherError> {
        let visit = self.visit.again();
        let next = run(&visit.network, state, bytes)?.ok();
        self.spend(WORK_OF_ATTEMPT + visit.network.work())?;
        Ok(next)
    }

    fn spend(&mut self, work: u64) -> Result<(), MatcherError> {
        let before = self.spent;
        self.spent += work;
        self.work_left = self.work_left.saturating_sub(work);
        if before / MEASURE_EVERY != self.spent / MEASURE_EVERY {
            let bytes = self.visit.states.memory();
            let grown = bytes.saturating_sub(self.bytes) / BYTES_PER_WORK;
            self.work_left = self.work_left.saturating_sub(grown as u64);
            self.bytes = bytes;
            let cancel = self.visit.network.cancel_token();
            cancel.map_or(Ok(()), CancelToken::check)?;
        }
        Ok(())
    }
}
