//! Compiles, writes, checks, saves and loads random schemas on several threads, and prints what that takes minute by
//! minute: memory should stay where it is after the first minutes, and so should the time for a round.
//!
//!     cargo run --release -p structgen-tests --example soak -- --minutes 60 --threads 4
//!
//! A round is one random schema: compiled for a new constraint, walked at random through its masks to complete texts,
//! which its checker must accept, saved to a file and loaded, and walked once more in step with what was loaded, which
//! must have the same masks. Every eighth round walks a constraint that all threads share and whose states and masks
//! have small limits, so that they are replaced again and again. Time is processor time of the threads, so other load
//! on the machine matters less.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use structgen::constraint::{CompiledConstraint, ConstraintOptions};
use structgen::{Checker, Constraint, Profile, SchemaOptions};
use structgen_tests::generator::SchemaGenerator;
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, walk, walk_in_step};

/// Texts of each round.
const WALKS: usize = 4;

/// The schema of the shared constraint: whatever it says, some of its states are new.
const SHARED: &str = r#"{
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z]{2,8}-[0-9]{1,6}$"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 6},
        "note": {"type": "string", "maxLength": 60}
    },
    "required": ["id"],
    "additionalProperties": {"type": "integer"}
}"#;

#[derive(Default)]
struct Counts {
    rounds: AtomicU64,
    /// Schemas that are refused, as random ones may be.
    refused: AtomicU64,
    texts: AtomicU64,
    /// Walks that met a limit.
    limited: AtomicU64,
    /// Nanoseconds of processor time of all threads, and of the slowest round since the last line.
    spent: AtomicU64,
    slowest: AtomicU64,
}

/// The schema of a round that takes longer than this is printed on standard error.
const SLOW: Duration = Duration::from_secs(1);

/// The schema of a round that raises the process's peak memory by more than this number of bytes is printed as well.
const LARGE: u64 = 64 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut minutes = 60_u64;
    let mut threads = 4_u64;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let number = arguments.next().and_then(|number| number.parse().ok());
        match (argument.as_str(), number) {
            ("--minutes", Some(number)) => minutes = number,
            ("--threads", Some(number)) => threads = number,
            _ => {
                return Err("usage: soak [--minutes N] [--threads N]".into());
            }
        }
    }
    let vocabulary = vocabularies::small();
    let shared = Constraint::json_schema_str(SHARED, &SchemaOptions::new()).expect("it is right");
    let options = ConstraintOptions {
        eos: vec![vocabulary.eos],
        state_bytes: 4 << 20,
        mask_bytes: 1 << 20,
        ..ConstraintOptions::default()
    };
    let shared = shared
        .compile_with(&vocabulary.tables, &options)
        .expect("it is right");
    let counts = Counts::default();
    let is_over = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let file = folder.path().join(format!("{thread}.constraint"));
            let (counts, is_over, vocabulary, shared) = (&counts, &is_over, &vocabulary, &shared);
            scope.spawn(move || {
                // A thread that panics ends the run.
                let _end = End(is_over);
                let mut random = SplitMix::new(1_000 + thread);
                while !is_over.load(Ordering::Relaxed) {
                    let (began, before) = (processor_time(), memory("VmHWM:"));
                    let schema = round(&mut random, vocabulary, shared, &file, counts);
                    let spent = processor_time().saturating_sub(began);
                    let more = memory("VmHWM:").saturating_sub(before);
                    if let Some(schema) = schema.filter(|_| spent > SLOW || more > LARGE) {
                        let _ = writeln!(io::stderr(), "{spent:?}, {} MiB: {schema}", more >> 20);
                    }
                    let spent = spent.as_nanos() as u64;
                    counts.spent.fetch_add(spent, Ordering::Relaxed);
                    counts.slowest.fetch_max(spent, Ordering::Relaxed);
                }
            });
        }
        let _end = End(&is_over);
        watch(minutes, &counts, &is_over)
    })?;
    Ok(())
}

/// Ends the run when it is dropped.
struct End<'r>(&'r AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Prints a line each minute.
fn watch(minutes: u64, counts: &Counts, is_over: &AtomicBool) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(
        out,
        "minute   rounds  refused    texts  limited   µs/round  slowest ms      RSS"
    )?;
    let began = Instant::now();
    let mut before = [0; 5];
    for minute in 1..=minutes {
        while began.elapsed() < Duration::from_secs(60 * minute) {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let Counts {
            rounds,
            refused,
            texts,
            limited,
            spent,
            slowest,
        } = counts;
        let slowest = slowest.swap(0, Ordering::Relaxed) / 1_000_000;
        let now = [rounds, refused, texts, limited, spent].map(|it| it.load(Ordering::Relaxed));
        let [rounds, refused, texts, limited, spent] = std::array::from_fn(|i| now[i] - before[i]);
        let each = spent / 1_000 / rounds.max(1);
        let resident = memory("VmRSS:") >> 20;
        writeln!(
            out,
            "{minute:>6} {rounds:>8} {refused:>8} {texts:>8} {limited:>8} {each:>10} {slowest:>11} {resident:>6} MiB"
        )?;
        before = now;
    }
    Ok(())
}

/// Returns the schema, if the round had one of its own.
fn round(
    random: &mut SplitMix,
    vocabulary: &TestVocabulary,
    shared: &CompiledConstraint,
    file: &Path,
    counts: &Counts,
) -> Option<Value> {
    let number = counts.rounds.fetch_add(1, Ordering::Relaxed);
    if number.is_multiple_of(8) {
        for _ in 0..WALKS {
            match walk(shared, vocabulary, random) {
                Ok(Some(_)) => count(&counts.texts),
                Ok(None) => count(&counts.limited),
                Err(stuck) => panic!("{stuck} with {SHARED}"),
            }
        }
        return None;
    }
    let schema = SchemaGenerator::document(random);
    let options = SchemaOptions::new().with_profile(Profile::Generate);
    let Ok(constraint) = Constraint::json_schema(&schema, &options) else {
        count(&counts.refused);
        return Some(schema);
    };
    let (Ok(compiled), Ok(checker)) = (
        constraint.compile(&vocabulary.tables, &[vocabulary.eos]),
        Checker::new(&constraint),
    ) else {
        count(&counts.refused);
        return Some(schema);
    };
    for _ in 0..WALKS {
        let text = match walk(&compiled, vocabulary, random) {
            Ok(Some(text)) => text,
            Ok(None) => {
                count(&counts.limited);
                continue;
            }
            Err(stuck) => panic!("{stuck} with {schema}"),
        };
        count(&counts.texts);
        match checker.check(&text) {
            Ok(None) => {}
            mismatch => panic!(
                "{}: {mismatch:?} with {schema}",
                String::from_utf8_lossy(&text)
            ),
        }
    }
    compiled.save(file).expect("it is saved");
    let options = ConstraintOptions {
        eos: vec![vocabulary.eos],
        ..ConstraintOptions::default()
    };
    let loaded =
        CompiledConstraint::load(&vocabulary.tables, &options, file).expect("it is loaded");
    match walk_in_step(&compiled, &loaded, vocabulary, random) {
        Ok(Some(_)) => {}
        Ok(None) => count(&counts.limited),
        Err(difference) => panic!("a loaded constraint: {difference} with {schema}"),
    }
    let _ = fs::remove_file(file);
    Some(schema)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Processor time of this thread where the system reports it, in steps of a nanosecond; elsewhere zero.
fn processor_time() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Bytes of the process in memory, now or at most (`VmRSS:`, `VmHWM:`), where the system reports them; elsewhere zero.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}
