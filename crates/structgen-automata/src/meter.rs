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
    /// Begins an operation. In new steps, it may look at `most` expressions of regular sets.
    pub fn begin(most: u64) -> Self {
        let is_outermost = METER.get().most == u64::MAX;
        if is_outermost {
            METER.set(Tally { done: 0, most });
        }
        Self { is_outermost }
    }

    /// Returns the work of the operation so far.
    #[must_use]
    pub fn done(&self) -> u64 {
        METER.get().done
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

/// Adds work to the operation in progress; an error if it exceeds the limit.
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

#[cfg(test)]
mod tests {
    use super::{MachineMeter, add};

    #[test]
    fn the_outermost_operation_has_the_limit() {
        let outer = MachineMeter::begin(10);
        assert!(add(6).is_ok());
        let inner = MachineMeter::begin(1_000);
        assert_eq!(add(6).unwrap_err().limit, 10);
        drop(inner);
        assert_eq!(add(1).unwrap_err().limit, 10);
        drop(outer);
        assert!(add(1_000).is_ok());
        let next = MachineMeter::begin(10);
        assert!(add(10).is_ok());
        drop(next);
    }
}
