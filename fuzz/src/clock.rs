//! How long calls take: an input may make hundreds, and a promise is about each.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The calls of an input so far.
#[derive(Clone, Copy, Default)]
struct Clock {
    slowest: Duration,
    /// The time of all calls, and of what is not the product's.
    accounted: Duration,
}

thread_local! {
    static CLOCK: Cell<Clock> = const { Cell::new(Clock { slowest: Duration::ZERO, accounted: Duration::ZERO }) };
}

/// Makes a call, which is timed by itself.
pub(crate) fn timed<T>(call: impl FnOnce() -> T) -> T {
    let (result, took) = took(call);
    let clock = CLOCK.get();
    CLOCK.set(Clock {
        slowest: clock.slowest.max(took),
        accounted: clock.accounted + took,
    });
    result
}

/// Makes a call whose time is not the product's: that of an oracle.
pub(crate) fn untimed<T>(call: impl FnOnce() -> T) -> T {
    let (result, took) = took(call);
    let clock = CLOCK.get();
    CLOCK.set(Clock {
        accounted: clock.accounted + took,
        ..clock
    });
    result
}

fn took<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let result = call();
    (result, started.elapsed())
}

/// Returns the time of the input's slowest call and resets the clock. `whole` is the time of the input; the part that
/// no call accounts for counts as one call.
pub(crate) fn take_slowest(whole: Duration) -> Duration {
    let clock = CLOCK.take();
    clock.slowest.max(whole.saturating_sub(clock.accounted))
}

#[test]
fn what_is_not_timed_by_itself_is_one_call() {
    let of = |millis| Duration::from_millis(millis);
    timed(|| std::thread::sleep(of(5)));
    untimed(|| std::thread::sleep(of(20)));
    let accounted = CLOCK.get().accounted;
    assert!(accounted >= of(25));
    assert_eq!(take_slowest(accounted + of(4_000)), of(4_000));
    assert_eq!(take_slowest(of(3)), of(3));
}
