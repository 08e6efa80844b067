//! Random patterns with nested counters, and random texts written under their masks.
//!
//! ```text
//! cargo run --release -p structgen-constraint --example nested_counters -- --tokenizer tokenizer.json
//! cargo run --release -p structgen-constraint --example nested_counters -- --tokenizer tokenizer.json PATTERN...
//! ```
//!
//! A walk accepts a random token of each mask, at most 300. The program reports walks that ended in an error, tokens
//! that a mask allowed and the matcher refused, and the slowest step.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_frontend::regex::{RegexOptions, parse};
use structgen_grammar::{Expr, GrammarBuilder, JsonForm, Regular};
use structgen_vocab::{TokenId, Tokenizer};

#[path = "../../../tests/src/random.rs"]
#[allow(unreachable_pub, reason = "shared with the tests of the whole")]
mod random;

use random::SplitMix;

/// The number of random patterns.
const PATTERNS: u64 = 400;

/// The number of texts written for each pattern.
const WALKS: u64 = 4;

/// The maximum number of tokens of a text.
const LENGTH: usize = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let mut tokenizer = None;
    let mut patterns = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--tokenizer" => tokenizer = arguments.next(),
            _ => patterns.push(argument),
        }
    }
    let Some(tokenizer) = tokenizer else {
        return Err("usage: nested_counters --tokenizer FILE [PATTERN...]".into());
    };
    let tokenizer = Tokenizer::from_file(tokenizer)?;
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    let is_given = !patterns.is_empty();
    if !is_given {
        let mut random = SplitMix::new(1);
        patterns = (0..PATTERNS)
            .map(|_| format!("^{}$", pattern(&mut random, 0)))
            .collect();
    }
    let mut total = Figures::default();
    for (number, pattern) in patterns.iter().enumerate() {
        let figures = measure(pattern, number as u64, &tables)?;
        if is_given || !figures.failures.is_empty() {
            println!("{pattern}: {}", figures.summary());
            figures
                .failures
                .iter()
                .for_each(|failure| println!("    {failure}"));
        }
        total.add(figures);
    }
    println!("{} patterns: {}", patterns.len(), total.summary());
    Ok(())
}

/// The measurements of a pattern's walks.
#[derive(Default)]
struct Figures {
    refused: u64,
    walks: u64,
    steps: u64,
    time: Duration,
    slowest: Duration,
    state_bytes: usize,
    failures: Vec<String>,
}

impl Figures {
    fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.walks += other.walks;
        self.steps += other.steps;
        self.time += other.time;
        self.slowest = self.slowest.max(other.slowest);
        self.state_bytes = self.state_bytes.max(other.state_bytes);
        self.failures.extend(other.failures);
    }

    fn summary(&self) -> String {
        format!(
            "{} refused when compiled, {} walks, {} failed, {} steps, {:.1} µs on average, {:.1} ms at most, {:.1} MB",
            self.refused,
            self.walks,
            self.failures.len(),
            self.steps,
            self.time.as_secs_f64() * 1e6 / self.steps.max(1) as f64,
            self.slowest.as_secs_f64() * 1e3,
            self.state_bytes as f64 / 1e6,
        )
    }
}

fn measure(
    pattern: &str,
    seed: u64,
    tables: &Arc<VocabularyTables>,
) -> Result<Figures, Box<dyn Error>> {
    let mut figures = Figures::default();
    let set = parse(pattern, RegexOptions::json_schema())?;
    let constraint = match compile(set, tables) {
        Ok(constraint) => constraint,
        Err(error) => {
            println!("{pattern}: {error}");
            figures.refused += 1;
            return Ok(figures);
        }
    };
    for walk in 0..WALKS {
        let mut random = SplitMix::new(seed << 8 | walk);
        figures.walks += 1;
        if let Err(failure) = write(&constraint, &mut random, &mut figures) {
            figures.failures.push(failure);
        }
    }
    figures.state_bytes = constraint.state_bytes();
    Ok(figures)
}

fn compile(
    set: Regular,
    tables: &Arc<VocabularyTables>,
) -> Result<CompiledConstraint, Box<dyn Error>> {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let set = builder.expr(Expr::Regular(set));
    builder.define(root, set);
    let grammar = builder.finish(root, JsonForm::generate());
    Ok(CompiledConstraint::new(
        grammar,
        tables,
        &ConstraintOptions::default(),
    )?)
}

/// Writes a text.
fn write(
    constraint: &CompiledConstraint,
    random: &mut SplitMix,
    figures: &mut Figures,
) -> Result<(), String> {
    let mut matcher = constraint.matcher();
    for step in 0..LENGTH {
        let start = Instant::now();
        let mask = matcher
            .mask()
            .map_err(|error| format!("the mask of step {step}: {error}"))?;
        let computed = start.elapsed();
        if mask.count() == 0 {
            return Ok(());
        }
        let token = choose(&mask.bits().iter().collect::<Vec<_>>(), random);
        let start = Instant::now();
        let accepted = matcher.accept_token(token);
        let took = computed + start.elapsed();
        accepted.map_err(|error| format!("token {token} of step {step}: {error}"))?;
        figures.steps += 1;
        figures.time += took;
        figures.slowest = figures.slowest.max(took);
    }
    Ok(())
}

fn choose(tokens: &[TokenId], random: &mut SplitMix) -> TokenId {
    tokens[random.below(tokens.len())]
}

/// Returns a random sequence in which most parts are counted.
fn pattern(random: &mut SplitMix, depth: u64) -> String {
    const ATOMS: [&str; 9] = ["\\S", "\\s", "\\w", ".", "[a-z]", "x", "a", " ", "[^,]"];
    let parts = 1 + random.below(3);
    let mut pattern = String::new();
    for _ in 0..parts {
        let is_group = depth == 0 || depth < 3 && random.below(3) == 0;
        let body = match is_group {
            true => format!("({})", self::pattern(random, depth + 1)),
            false => ATOMS[random.below(ATOMS.len())].to_owned(),
        };
        let most = [3, 20, 100][random.below(3)];
        let least = match random.below(3) {
            0 => 0,
            1 => 1,
            _ => random.below(most + 1),
        };
        let counter = match random.below(8) {
            0 if !is_group => String::new(),
            1 => "?".to_owned(),
            2 => "*".to_owned(),
            3 => "+".to_owned(),
            _ => format!("{{{least},{most}}}"),
        };
        pattern += &body;
        pattern += &counter;
    }
    pattern
}
