//! How long single calls take: an input may make hundreds, and a promise is about each.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static SLOWEST: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Makes a call, and remembers how long it took if none took longer.
pub(crate) fn timed<T>(call: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = call();
    let took = Some(started.elapsed());
    SLOWEST.set(SLOWEST.get().max(took));
    result
}

/// Returns how long the slowest call took since this was last asked; `None` if none was timed.
pub(crate) fn take_slowest() -> Option<Duration> {
    SLOWEST.take()
}
