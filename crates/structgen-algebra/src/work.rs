//! Counts the work of an operation.

use structgen_automata::{CancelToken, LimitExceeded};

use crate::error::over;
use crate::{AlgebraError, AlgebraLimits};

/// The work of an operation, which ends at a limit or once the operation is cancelled.
pub(crate) struct WorkCount {
    done: u64,
    most: u64,
    /// The limit in steps.
    limit: u64,
    bytes: usize,
    cancel: Option<CancelToken>,
}

/// The number of small parts of work, such as looking at a transition, that take about the time of a step.
const PARTS_PER_STEP: u64 = 16;

impl WorkCount {
    /// Counts steps.
    pub(crate) fn of_steps(limits: &AlgebraLimits) -> Self {
        Self::new(limits.work, limits)
    }

    /// Counts small parts of steps.
    pub(crate) fn of_parts(limits: &AlgebraLimits) -> Self {
        Self::new(limits.work.saturating_mul(PARTS_PER_STEP), limits)
    }

    fn new(most: u64, limits: &AlgebraLimits) -> Self {
        Self {
            done: 0,
            most,
            limit: limits.work,
            bytes: limits.bytes,
            cancel: limits.cancel.clone(),
        }
    }

    /// Work without a limit, for what is limited by the size of its result.
    pub(crate) fn unlimited(limits: &AlgebraLimits) -> Self {
        Self::new(u64::MAX, limits)
    }

    /// Begins a new operation.
    pub(crate) fn begin(&mut self) {
        self.done = 0;
    }

    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Checks that the operation may use so much memory.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), AlgebraError> {
        match bytes <= self.bytes {
            true => Ok(()),
            false => Err(over("bytes of transitions", self.bytes)),
        }
    }

    /// Counts work.
    pub(crate) fn spend(&mut self, work: u64) -> Result<(), AlgebraError> {
        let before = self.done;
        self.done = before.saturating_add(work);
        if let Some(token) = &self.cancel {
            token.check_between(before, self.done)?;
        }
        if self.done > self.most {
            return Err(AlgebraError::Limit(LimitExceeded {
                what: "steps of an automaton and alternatives on the way",
                limit: self.limit,
            }));
        }
        Ok(())
    }
}
