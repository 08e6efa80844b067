//! Time and memory of families of schemas and documents at sizes n, 2n and 4n, each in its own process.
//!
//! ```text
//! cargo run --release -p structgen-constraint --example growth -- [FAMILY...]
//! ```
//!
//! A row shows the size, the processor time of compiling and of reading a document, the slowest step where there are
//! masks (wall-clock time), the bytes counted for states, the peak memory of the process, and the reason for a refusal,
//! if any. Tokens are single bytes, so every byte of a document is a step.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_constraint::{
    CompiledConstraint, ConstraintOptions, Matcher, MatcherError, Refusal, VocabularyTables,
};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_grammar::Grammar;
use structgen_vocab::{TokenId, Vocabulary};

/// A schema, or a grammar in GBNF, and a document that is valid for it, by size.
type Family = (&'static str, [usize; 3], fn(usize) -> (String, String));

/// Families whose names end with this are read with a mask before every byte.
const MASKED: &str = ", with masks";

const DISTINCT: &str = r#"{"type": "array", "uniqueItems": true}"#;

const FAMILIES: &[Family] = &[
    ("oneOf, two optional keys each", [8, 16, 32], |n| {
        let arm = |i| {
            format!(
                r#"{{"properties": {{"a{i}": {{"type": "string"}}, "b{i}": {{"type": "integer"}}}}}}"#
            )
        };
        let document = members(1..n, |i| format!(r#""a{i}": 0"#));
        (one_of(n, arm), document)
    }),
    ("oneOf, a key and a pattern each", [8, 16, 32], |n| {
        let arm = |i| {
            format!(
                r#"{{"properties": {{"a{i}": {{"type": "string"}}}}, "patternProperties": {{"^b{i}": {{"type": "integer"}}}}}}"#
            )
        };
        let document = members(1..n, |i| format!(r#""a{i}": 0"#));
        (one_of(n, arm), document)
    }),
    ("oneOf, two patterns each", [50, 100, 200], |n| {
        let arm = |i| {
            format!(
                r#"{{"patternProperties": {{"^a{i}_": {{"type": "string"}}, "^b{i}_": {{"type": "integer"}}}}}}"#
            )
        };
        let document = members(1..n, |i| format!(r#""a{i}_": 0"#));
        (one_of(n, arm), document)
    }),
    ("oneOf, a required key each", [50, 100, 200], |n| {
        let arm = |i| {
            format!(r#"{{"properties": {{"a{i}": {{"type": "string"}}}}, "required": ["a{i}"]}}"#)
        };
        (one_of(n, arm), r#"{"a0": ""}"#.to_owned())
    }),
    ("keys of an open object", [5_000, 10_000, 20_000], |n| {
        let document = members(0..n, |i| format!(r#""key{i}": 0"#));
        (r#"{"type": "object"}"#.to_owned(), document)
    }),
    (
        "keys of an open object, with masks",
        [15_000, 30_000, 60_000],
        |n| {
            let document = members(0..n, |i| format!(r#""key{i}": 0"#));
            (r#"{"type": "object"}"#.to_owned(), document)
        },
    ),
    (
        "objects with ever new keys in an array",
        [50_000, 100_000, 200_000],
        |n| {
            let document = items(n, |i| format!(r#"{{"key{i}": 0, "{i}": 1}}"#));
            (r#"{"items": {"type": "object"}}"#.to_owned(), document)
        },
    ),
    ("required keys in any order", [8_000, 16_000, 32_000], |n| {
        let names: Vec<String> = (0..n).map(|i| format!(r#""key{i}""#)).collect();
        let schema = format!(
            r#"{{"additionalProperties": {{"type": "integer"}}, "required": [{}]}}"#,
            names.join(",")
        );
        let document = members((0..n).rev(), |i| format!(r#""key{i}": 0"#));
        (schema, document)
    }),
    ("distinct URLs", [160, 320, 640], |n| {
        (DISTINCT.to_owned(), items(n, url))
    }),
    ("distinct URLs, with masks", [75, 150, 300], |n| {
        (DISTINCT.to_owned(), items(n, url))
    }),
    ("distinct integers", [2_000, 4_000, 8_000], |n| {
        (DISTINCT.to_owned(), items(n, |i| (i * 7).to_string()))
    }),
    ("at most n words, with masks", [100, 200, 400], |n| {
        let words: Vec<String> = (0..n).map(|i| format!("word{i}")).collect();
        let schema = format!(r#"{{"type": "string", "pattern": "^(\\S+\\s*){{1,{n}}}$"}}"#);
        (schema, format!("\"{}\"", words.join(" ")))
    }),
    (
        "n parts of up to 41 characters, with masks",
        [20, 40, 80],
        |n| {
            let schema =
                format!(r#"{{"type": "string", "pattern": "^(.{{0,20}}x?.{{0,20}}){{1,{n}}}$"}}"#);
            (schema, format!("\"{}\"", "a line x of text ".repeat(n)))
        },
    ),
    (
        r#"ambiguous grammar: root ::= root "+" root | "a""#,
        [200, 400, 800],
        |n| {
            let grammar = r#"root ::= root "+" root | "a""#;
            (grammar.to_owned(), vec!["a"; n + 1].join("+"))
        },
    ),
    ("enum of integers", [10_000, 20_000, 40_000], |n| {
        (
            listed(n, |i| (i * 7).to_string()),
            ((n - 1) * 7).to_string(),
        )
    }),
    ("enum of arrays", [10_000, 20_000, 40_000], |n| {
        (
            listed(n, |i| format!("[{i},{}]", i + 1)),
            format!("[{},{n}]", n - 1),
        )
    }),
    ("enum of objects", [10_000, 20_000, 40_000], |n| {
        let object = |i| format!(r#"{{"id": {i}, "name": "n{i}"}}"#);
        (listed(n, object), object(n - 1))
    }),
];

fn one_of(n: usize, arm: impl Fn(usize) -> String) -> String {
    let arms: Vec<String> = (0..n).map(arm).collect();
    format!(r#"{{"type": "object", "oneOf": [{}]}}"#, arms.join(","))
}

fn listed(n: usize, value: impl Fn(usize) -> String) -> String {
    let values: Vec<String> = (0..n).map(value).collect();
    format!(r#"{{"enum": [{}]}}"#, values.join(","))
}

fn members(of: impl Iterator<Item = usize>, member: impl Fn(usize) -> String) -> String {
    let members: Vec<String> = of.map(member).collect();
    format!("{{{}}}", members.join(", "))
}

fn items(n: usize, item: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..n).map(item).collect();
    format!("[{}]", items.join(", "))
}

fn url(i: usize) -> String {
    format!(r#""https://example.com/articles/2026/{i}""#)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, family, size] = arguments.as_slice()
        && flag == "--row"
    {
        println!("{}", row(family.parse()?, size.parse()?)?);
        return Ok(());
    }
    let program = std::env::current_exe()?;
    for (index, (name, sizes, _)) in FAMILIES.iter().enumerate() {
        if !arguments.is_empty() && !arguments.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        println!("{name}");
        for size in sizes {
            let row = Command::new(&program)
                .args(["--row", &index.to_string(), &size.to_string()])
                .output()?;
            let text = String::from_utf8_lossy(&row.stdout);
            let text = if row.status.success() {
                text.trim()
            } else {
                "ended abnormally"
            };
            println!("  {size:>6}  {text}");
        }
    }
    Ok(())
}

fn row(family: usize, size: usize) -> Result<String, Box<dyn Error>> {
    let (name, _, make) = FAMILIES.get(family).ok_or("no such family")?;
    let (schema, document) = make(size);
    let vocabulary = Vocabulary::from_tokens((0..=u8::MAX).map(|byte| vec![byte]), &[])?;
    let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary)));
    let mut row = String::new();
    let clock = Clock::new();
    let constraint = parse(&schema).and_then(|grammar| {
        CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default())
            .map_err(|error| error.to_string())
    });
    write!(row, "compiled in {}", seconds(clock.elapsed()))?;
    let mut refused = constraint.as_ref().err().cloned();
    if let Ok(constraint) = &constraint {
        let clock = Clock::new();
        let mut slowest = Duration::ZERO;
        let checked = match name.ends_with(MASKED) {
            true => read_with_masks(&mut constraint.matcher(), document.as_bytes(), &mut slowest),
            false => constraint.matcher().check_text(document.as_bytes()),
        };
        let states = constraint.state_bytes() >> 20;
        write!(
            row,
            ", read in {}, states {states} MB",
            seconds(clock.elapsed())
        )?;
        if !slowest.is_zero() {
            write!(row, ", slowest step {:.1} ms", 1e3 * slowest.as_secs_f64())?;
        }
        refused = match checked {
            Ok(None) => None,
            Ok(Some(refusal)) => Some(format!("{refusal:?}")),
            Err(error) => Some(error.to_string()),
        };
    }
    if let Some(peak) = peak_memory() {
        write!(row, ", peak {} MB", peak >> 20)?;
    }
    if let Some(reason) = refused {
        let reason: String = reason.chars().take(150).collect();
        write!(row, "; refused: {reason}")?;
    }
    Ok(row)
}

fn parse(source: &str) -> Result<Grammar, String> {
    if source.starts_with("root") {
        let grammar = gbnf::parse(source, &GbnfOptions::default());
        return grammar.map_err(|error| error.to_string());
    }
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let compiled = json_schema::compile_str(source, &options);
    compiled
        .map(|it| it.grammar)
        .map_err(|error| error.to_string())
}

/// Accepts a text byte by byte, with a mask before each.
fn read_with_masks(
    matcher: &mut Matcher,
    text: &[u8],
    slowest: &mut Duration,
) -> Result<Option<Refusal>, MatcherError> {
    for &byte in text {
        let begun = Instant::now();
        let token = TokenId(byte.into());
        let taken = match matcher.mask()?.contains(token) {
            true => matcher.accept_token(token).map(|()| true),
            false => Ok(false),
        };
        *slowest = begun.elapsed().max(*slowest);
        if !taken? {
            break;
        }
    }
    matcher.check_text(b"")
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

/// Processor time where the system reports it, otherwise wall-clock time, which other load on the machine lengthens.
struct Clock {
    on_processor: Option<Duration>,
    begun: Instant,
}

impl Clock {
    fn new() -> Self {
        Self {
            on_processor: time_on_processor(),
            begun: Instant::now(),
        }
    }

    fn elapsed(&self) -> Duration {
        match (self.on_processor, time_on_processor()) {
            (Some(begun), Some(now)) => now - begun,
            _ => self.begun.elapsed(),
        }
    }
}

/// Returns how long this thread has run.
fn time_on_processor() -> Option<Duration> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = times.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Returns the peak memory of this process in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
