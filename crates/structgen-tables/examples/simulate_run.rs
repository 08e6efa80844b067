//! Simulates how long a run of many rows takes on many machines, by discrete events.
//!
//! `cargo run -p structgen-tables --example simulate_run -- ROWS_PER_SECOND [ROWS]`
//!
//! Machines take partitions from one queue. A partition takes the time of its rows at the measured rate; one machine in
//! fifty is four times slower. A machine fails every 24 hours on average, loses its current partition, and is back
//! after five minutes. With copies, a machine that finds the queue empty works on a partition that another has started,
//! and the first to finish counts, which is safe because both write the same bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;
use std::error::Error;
use std::io::{self, Write};

const HOUR: f64 = 3_600.0;
const MEAN_TIME_TO_FAILURE: f64 = 24.0 * HOUR;
const RESTART: f64 = 300.0;
/// The number of machines per slow one, and how much slower it is.
const SLOW_ONE_IN: usize = 50;
const SLOWNESS: f64 = 4.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let rate: f64 = args
        .next()
        .ok_or("the measured rows per second of a machine are missing")?
        .parse()?;
    let rows: f64 = args.next().map_or(Ok(1e9), |it| it.parse())?;
    let mut out = io::stdout();
    writeln!(
        out,
        "machines  rows of a partition  copies  hours  of ideal  done twice  failures"
    )?;
    for machines in [1, 10, 100, 1_000] {
        for partition_rows in [10_000.0, 100_000.0, 1_000_000.0] {
            for copies in [false, true] {
                let ideal = rows / rate / machines as f64;
                let partitions = (rows / partition_rows) as usize;
                let run = Run::new(machines, partitions, partition_rows / rate, copies).simulate();
                let (hours, share) = (run.end / HOUR, ideal / run.end);
                let twice = 100.0 * run.wasted / (rows / rate);
                let (copies, failures) = (if copies { "yes" } else { "no" }, run.failures);
                writeln!(
                    out,
                    "{machines:8} {partition_rows:20} {copies:>7} {hours:6.1} {share:9.2} {twice:10.2}% {failures:9}"
                )?;
            }
        }
    }
    Ok(())
}

struct Run {
    speeds: Vec<f64>,
    seconds: f64,
    copies: bool,
    /// Partitions that no machine is working on.
    queue: Vec<usize>,
    /// For each partition, how many machines work on it, and whether it is done.
    workers: Vec<usize>,
    is_done: Vec<bool>,
    left: usize,
    random: Random,
}

struct Outcome {
    end: f64,
    /// Seconds of lost work.
    wasted: f64,
    failures: usize,
}

/// A machine's next event. Times are in microseconds, so that they can be ordered.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: u64,
    machine: usize,
    /// The partition that it finishes or loses, and its start; `None` if it looks for work.
    work: Option<(usize, u64, bool)>,
}

impl Run {
    fn new(machines: usize, partitions: usize, seconds: f64, copies: bool) -> Self {
        let speed = |machine: usize| {
            if machine % SLOW_ONE_IN == SLOW_ONE_IN - 1 {
                SLOWNESS
            } else {
                1.0
            }
        };
        Self {
            speeds: (0..machines).map(speed).collect(),
            seconds,
            copies,
            queue: (0..partitions).rev().collect(),
            workers: vec![0; partitions],
            is_done: vec![false; partitions],
            left: partitions,
            random: Random(1),
        }
    }

    fn simulate(mut self) -> Outcome {
        let mut outcome = Outcome {
            end: 0.0,
            wasted: 0.0,
            failures: 0,
        };
        let looking = |machine| {
            Reverse(Event {
                at: 0,
                machine,
                work: None,
            })
        };
        let mut events: BinaryHeap<_> = (0..self.speeds.len()).map(looking).collect();
        let mut first_open = 0;
        while self.left > 0
            && let Some(Reverse(Event { at, machine, work })) = events.pop()
        {
            let mut free_at = at;
            if let Some((partition, began, has_failed)) = work {
                self.workers[partition] -= 1;
                let worked = (at - began) as f64 / 1e6;
                if has_failed {
                    outcome.failures += 1;
                    outcome.wasted += worked;
                    free_at += (RESTART * 1e6) as u64;
                    if !self.is_done[partition] && self.workers[partition] == 0 {
                        self.queue.push(partition);
                    }
                } else if self.is_done[partition] {
                    outcome.wasted += worked;
                } else {
                    self.is_done[partition] = true;
                    self.left -= 1;
                    outcome.end = at as f64 / 1e6;
                }
            }
            while first_open < self.is_done.len() && self.is_done[first_open] {
                first_open += 1;
            }
            let next = self.queue.pop().or_else(|| self.copied(first_open));
            let Some(partition) = next else {
                // A machine may fail: look again in a minute.
                let at = free_at + 60_000_000;
                events.push(Reverse(Event {
                    at,
                    machine,
                    work: None,
                }));
                continue;
            };
            self.workers[partition] += 1;
            // Partitions differ by a tenth, as texts do.
            let length = self.seconds * self.speeds[machine] * (0.9 + 0.2 * self.random.share());
            let failure = -MEAN_TIME_TO_FAILURE * (1.0 - self.random.share()).ln();
            let at = free_at + (length.min(failure) * 1e6) as u64;
            let work = Some((partition, free_at, failure < length));
            events.push(Reverse(Event { at, machine, work }));
        }
        outcome
    }

    /// Returns a partition that is not done and that a single machine works on.
    fn copied(&self, first_open: usize) -> Option<usize> {
        let mut open = first_open..self.is_done.len();
        open.find(|&it| self.copies && !self.is_done[it] && self.workers[it] == 1)
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
