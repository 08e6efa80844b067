//! Work that machines do in new steps, counted by operation.
//!
//! A machine computes a step where a walk happens to need it, deep inside tables that threads share. So the count
//! belongs to the thread: an operation begins it, and every new step of a machine on the same thread adds to it.

use std::cell::Cell;

use crate::LimitExceeded;

thread_local! {
    static METER: Cell<Tally> = const { Cell::new(Tally { done: 0, most: u64::MAX }) };
}

#[derive(Clone, Copy)]
struct Tally {
    done: u64,
    most: u64,
}

/// Limits the work of machines on this thread as long as it exists. Within another one it does nothing.
#[derive(Debug)]
#[must_use]
pub struct MachineMeter {
    is_outermost: bool,
}

impl MachineMeter {
    /// Begins an operation that may look at so many expressions of regular sets in new steps.
    pub fn begin(most: u64) -> Self {
        let is_outermost = METER.get().most == u64::MAX;
        if is_outermost {
            METER.set(Tally { done: 0, most });
        }
        Self { is_outermost }
    }
}

impl Drop for MachineMeter {
    fn drop(&mut self) {
        if self.is_outermost {
            METER.set(Tally {
                done: 0,
                most: u64::MAX,
            });
        }
    }
}

/// Adds work to the operation in progress.
pub(crate) fn add(work: u64) -> Result<(), LimitExceeded> {
    let Tally { done, most } = METER.get();
    let done = done.saturating_add(work);
    METER.set(Tally { done, most });
    match done <= most {
        true => Ok(()),
        false => Err(LimitExceeded {
            what: "expressions of regular sets looked at in one operation",
            limit: most,
        }),
    }
}
