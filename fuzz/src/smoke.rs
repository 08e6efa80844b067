//! Runs every fuzz target for some seconds on random and mutated inputs, on a stable compiler: `smoke --seconds 20
//! [--seed N]`, or one of them: `smoke TARGET --seconds 20 --seed 1`.
//!
//! An input that makes a target panic is written to `fuzz/artifacts/`, for `smoke TARGET FILE` to run again.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::clock::take_slowest;
use crate::{SplitMix, TARGETS, Target};

/// A target with what its inputs are made of.
struct Source {
    target: &'static Target,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Source {
    fn new(target: &'static Target) -> Self {
        Self {
            target,
            seeds: target.seeds(),
            words: target.words(),
        }
    }
}

/// An input: mostly a seed with some bytes, words and pieces changed, sometimes only words, sometimes noise.
fn input(target: &Source, random: &mut SplitMix) -> Vec<u8> {
    let word = |random: &mut SplitMix| target.words[random.below(target.words.len())].clone();
    let mut data: Vec<u8> = match random.below(16) {
        0 => (0..random.below(200))
            .map(|_| random.next_u64() as u8)
            .collect(),
        1 | 2 => (0..random.below(40)).flat_map(|_| word(random)).collect(),
        // Choices of a structured target; their mark, as far as a target has one, is the first byte.
        3 => [0xFF, 0x80 + random.below(16) as u8]
            .into_iter()
            .skip(random.below(2))
            .chain((0..random.below(300)).map(|_| random.next_u64() as u8))
            .collect(),
        _ => target.seeds[random.below(target.seeds.len())].clone(),
    };
    for _ in 0..random.below(6) {
        let at = random.below(data.len() + 1);
        let end = (at + random.below(12)).min(data.len());
        let piece = match random.below(6) {
            0 => vec![random.next_u64() as u8],
            1 => Vec::new(),
            2 | 3 => word(random),
            4 => {
                let other = &target.seeds[random.below(target.seeds.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(80)).min(other.len());
                other[from..to].to_vec()
            }
            // The same many times: nesting, and long runs.
            _ => data[at..end].repeat(random.below(40)),
        };
        let end = if random.below(2) == 0 { at } else { end };
        data.splice(at..end, piece);
    }
    data
}

/// Runs what the arguments of the process ask for.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--seconds", seconds] => smoke(seconds, "1"),
        ["--seconds", seconds, "--seed", seed] => smoke(seconds, seed),
        [name, "--seconds", seconds, "--seed", seed] => one(name, seconds, seed),
        [name, file] => again(name, Path::new(file)),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: smoke --seconds N [--seed N], smoke TARGET --seconds N --seed N, or smoke TARGET FILE"
    );
    ExitCode::from(2)
}

/// Runs one input.
fn again(name: &str, file: &Path) -> ExitCode {
    let (Some(target), Ok(data)) = (Target::named(name), std::fs::read(file)) else {
        return usage();
    };
    let started = Instant::now();
    let is_taken = (target.body)(&data);
    let whole = started.elapsed();
    let slowest = take_slowest(whole);
    println!("{name}: taken: {is_taken}, {whole:?}, the slowest call {slowest:?}");
    ExitCode::SUCCESS
}

/// Runs one target.
fn one(name: &str, seconds: &str, seed: &str) -> ExitCode {
    let time = seconds.parse().ok().map(Duration::try_from_secs_f64);
    let (Some(target), Some(Ok(time)), Ok(seed)) = (Target::named(name), time, seed.parse()) else {
        return usage();
    };
    match run(&Source::new(target), time, seed) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn smoke(seconds: &str, seed: &str) -> ExitCode {
    let (Ok(seconds), Ok(seed)) = (seconds.parse::<f64>(), seed.parse::<u64>()) else {
        return usage();
    };
    let Ok(time) = Duration::try_from_secs_f64(seconds) else {
        return usage();
    };
    let mut is_clean = true;
    for target in &TARGETS {
        is_clean &= run(&Source::new(target), time / TARGETS.len() as u32, seed);
    }
    if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs one target until its time is over or it panics. Returns false if it panicked, refused a seed, or took too long
/// for a call.
fn run(source: &Source, time: Duration, seed: u64) -> bool {
    let target = source.target;
    let mut random = SplitMix::new(seed);
    let (started, mut runs, mut taken) = (Instant::now(), 0, 0);
    let mut slowest = (Duration::ZERO, Vec::new());
    while started.elapsed() < time {
        // The seeds themselves come first.
        let data = match source.seeds.get(runs) {
            Some(seed) => seed.clone(),
            None => input(source, &mut random),
        };
        let before = Instant::now();
        let result = catch_unwind(|| (target.body)(&data));
        let whole = before.elapsed();
        let took = take_slowest(whole);
        runs += 1;
        let Ok(is_taken) = result else {
            let kept = keep(target.name, &data);
            eprintln!("{}: panicked in run {runs}, on {kept}", target.name);
            return false;
        };
        taken += usize::from(is_taken);
        if runs <= source.seeds.len() && !is_taken {
            let kept = keep(target.name, &data);
            eprintln!("{}: a seed is refused: {kept}", target.name);
            return false;
        }
        if took > slowest.0 {
            slowest = (took, data);
        }
    }
    println!(
        "{}: {runs} runs, {taken} of them taken, the slowest call {:?}",
        target.name, slowest.0
    );
    // What takes ten seconds is as good as a hang to whoever waits for it; what takes one is worth a look.
    let is_fast = slowest.0 < Duration::from_secs(10);
    if slowest.0 >= Duration::from_secs(1) {
        let kept = keep(target.name, &slowest.1);
        let verdict = if is_fast { "slow" } else { "too slow" };
        eprintln!("{}: {verdict}, on {kept}", target.name);
    }
    is_fast
}

/// Writes an input where it can be found again.
fn keep(name: &str, data: &[u8]) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("artifacts")
        .join(name);
    let sum = data.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    let path = folder.join(format!("smoke-{sum:016x}"));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, data)) {
        Ok(()) => path.display().to_string(),
        Err(_) => format!("{:?}", String::from_utf8_lossy(data)),
    }
}
