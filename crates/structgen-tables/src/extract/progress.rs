//! Shows the progress of a run: a bar on a terminal, else a line from time to time.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::say;

/// Interval between lines without a terminal.
const EVERY: Duration = Duration::from_secs(30);

pub(super) struct Progress {
    bar: ProgressBar,
    start: Instant,
    all: u64,
    before: u64,
    state: Mutex<State>,
}

struct State {
    rows: u64,
    bad: u64,
    printed: Instant,
}

impl Progress {
    /// Creates it for `all` rows, of which an earlier run did `before`.
    pub(super) fn new(before: u64, all: u64) -> Self {
        let bar = match stderr().is_terminal() {
            true => ProgressBar::new(all).with_position(before),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template(
            "{bar:30} {human_pos} of {human_len} rows, {per_sec}, {eta} left{msg}",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.reset_eta();
        let start = Instant::now();
        Self {
            bar,
            start,
            all,
            before,
            state: Mutex::new(State {
                rows: before,
                bad: 0,
                printed: start,
            }),
        }
    }

    pub(super) fn add(&self, rows: u64, bad: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.rows += rows;
        state.bad += bad;
        self.bar.inc(rows);
        if state.bad > 0 {
            self.bar
                .set_message(format!(", {} without a value", state.bad));
        }
        if self.bar.is_hidden() && state.printed.elapsed() >= EVERY {
            state.printed = Instant::now();
            let rate = (state.rows - self.before) as f64 / self.start.elapsed().as_secs_f64();
            let left = Duration::from_secs_f64((self.all - state.rows) as f64 / rate.max(1e-9));
            let (rows, all, bad) = (state.rows, self.all, state.bad);
            let left = in_words(left);
            say(&format!(
                "{rows} of {all} rows, {rate:.0} a second, {left} left, {bad} without a value"
            ));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Formats a duration for people.
pub(super) fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{:.1} h", seconds as f64 / 3_600.0),
        _ => format!("{:.1} days", seconds as f64 / 86_400.0),
    }
}
