//! Masks per second of matchers that share one constraint, on 1, 2 and 4 threads.
//!
//! ```text
//! cargo run --release -p structgen-constraint --example parallel_matchers -- --tokenizer tokenizer.json SCHEMA...
//! ```
//!
//! A schema is a JSON Schema, or a MaskBench file that contains one. Its documents are drawn from its own masks. A step
//! is a mask and an accepted token. `linear` is the rate divided by that of one thread times the number of threads.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use structgen_constraint::{CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables};
use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_grammar::Grammar;
use structgen_vocab::{TokenId, Tokenizer};

#[path = "../../../tests/src/random.rs"]
#[allow(unreachable_pub, reason = "shared with the tests of the whole")]
mod random;

use random::SplitMix;

const THREADS: [usize; 3] = [1, 2, 4];

/// The number of documents of each schema.
const DOCUMENTS: u64 = 16;

/// From this length on, a document takes the shortest known completion.
const LENGTH: usize = 200;

/// The minimum number of steps of each thread when all masks are cached: few, so that some runs are undisturbed by
/// other load on the machine.
const WARM_STEPS: usize = 10_000;

/// How long each measurement is repeated. The fastest run counts, because other load only slows a run down.
const TIME: Duration = Duration::from_secs(4);

type Document = Vec<TokenId>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut tokenizer = None;
    let mut schemas: Vec<PathBuf> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--tokenizer" => tokenizer = arguments.next(),
            _ => schemas.push(argument.into()),
        }
    }
    let Some(tokenizer) = tokenizer.filter(|_| !schemas.is_empty()) else {
        return Err("usage: parallel_matchers --tokenizer FILE SCHEMA...".into());
    };
    let tokenizer = Tokenizer::from_file(tokenizer)?;
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    for schema in schemas {
        measure(&schema, &tables)?;
    }
    Ok(())
}

fn measure(file: &Path, tables: &Arc<VocabularyTables>) -> Result<(), Box<dyn Error>> {
    let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(file)?)?;
    if value.get("tests").is_some() {
        value = value["schema"].take();
    }
    let grammar = json_schema::compile(&value, &SchemaOptions::new())?.grammar;
    let fresh = || compile(&grammar, tables);
    let walked = fresh()?;
    let documents: Result<Vec<Document>, _> =
        (0..DOCUMENTS).map(|seed| document(&walked, seed)).collect();
    let documents = documents?;
    let steps: usize = documents.iter().map(Vec::len).sum();
    let states = walked.statistics().states;
    println!(
        "{}: {} documents, {steps} steps, {states} states",
        file.display(),
        documents.len()
    );
    report("every mask known", |threads| {
        let rounds = WARM_STEPS.div_ceil(steps);
        let took = run(threads, |thread| {
            for _ in 0..rounds {
                walk_all(&walked, &documents, thread);
            }
        });
        Ok((threads * rounds * steps, took))
    })?;
    report("first visits, different documents", |threads| {
        let constraint = fresh()?;
        let took = run(threads, |thread| {
            for document in documents.iter().skip(thread).step_by(threads) {
                walk(&constraint, document);
            }
        });
        Ok((steps, took))
    })?;
    report("first visits, the same documents", |threads| {
        let constraint = fresh()?;
        let took = run(threads, |_| walk_all(&constraint, &documents, 0));
        Ok((threads * steps, took))
    })
}

fn compile(
    grammar: &Grammar,
    tables: &Arc<VocabularyTables>,
) -> Result<CompiledConstraint, Box<dyn Error>> {
    let options = ConstraintOptions::default();
    Ok(CompiledConstraint::new(grammar.clone(), tables, &options)?)
}

/// Prints the rates of `run`, which runs a number of threads and returns the number of steps and the time.
fn report(
    title: &str,
    mut way: impl FnMut(usize) -> Result<(usize, Duration), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    println!("  {title}");
    let mut rates = [0.0; THREADS.len()];
    // Thread counts alternate, so that other load affects all of them.
    let begun = Instant::now();
    while begun.elapsed() < TIME {
        for (rate, threads) in rates.iter_mut().zip(THREADS) {
            let (steps, took) = way(threads)?;
            *rate = f64::max(*rate, steps as f64 / took.as_secs_f64());
        }
    }
    for (rate, threads) in rates.into_iter().zip(THREADS) {
        let linear = rate / (rates[0] * threads as f64);
        println!("    {threads} threads  {rate:>12.0} masks/s  {linear:.2} of linear");
    }
    Ok(())
}

/// Runs threads that start together; returns the time from the first start to the last end.
fn run(threads: usize, work: impl Fn(usize) + Sync) -> Duration {
    let barrier = Barrier::new(threads);
    let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let threads = (0..threads).map(|thread| {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                let begun = Instant::now();
                work(thread);
                (begun, Instant::now())
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .filter_map(|it| it.join().ok())
            .collect()
    });
    let begun = times.iter().map(|(begun, _)| *begun).min();
    let ended = times.iter().map(|(_, ended)| *ended).max();
    assert_eq!(times.len(), threads, "no thread panics");
    begun
        .zip(ended)
        .map_or(Duration::ZERO, |(begun, ended)| ended - begun)
}

fn walk_all(constraint: &CompiledConstraint, documents: &[Document], first: usize) {
    let documents = documents.iter().cycle().skip(first).take(documents.len());
    documents.for_each(|document| walk(constraint, document));
}

/// Accepts a document, with a mask before every token.
fn walk(constraint: &CompiledConstraint, document: &Document) {
    let mut matcher = constraint.matcher();
    for &token in document {
        let allowed = matcher.mask().is_ok_and(|mask| mask.contains(token));
        let taken = matcher.accept_token(token);
        assert!(
            allowed && taken.is_ok(),
            "a document was drawn from these masks"
        );
    }
}

/// Draws a document from the masks.
fn document(constraint: &CompiledConstraint, seed: u64) -> Result<Document, Box<dyn Error>> {
    let mut matcher = constraint.matcher();
    let mut document = Vec::new();
    let mut random = SplitMix::new(seed);
    while !matcher.is_finished() {
        let mask = matcher.mask()?;
        let tokens: Vec<TokenId> = mask.bits().iter().collect();
        let token = match document.len() < LENGTH {
            true => tokens[random.below(tokens.len())],
            false => cheapest(&mut matcher, &tokens)?,
        };
        matcher.accept_token(token)?;
        document.push(token);
    }
    Ok(document)
}

/// Returns the token with the lowest known completion cost after it.
fn cheapest(matcher: &mut Matcher, tokens: &[TokenId]) -> Result<TokenId, Box<dyn Error>> {
    // Every byte is a token, and some byte leads towards the end.
    let vocabulary = matcher.constraint().vocabulary().clone();
    let is_byte = |token: &&TokenId| vocabulary.byte_tokens().contains(&Some(**token));
    let mut costs = Vec::new();
    for &token in tokens.iter().filter(is_byte) {
        costs.push((matcher.completion_cost_after(token)?, token));
    }
    let cheapest = costs.into_iter().min();
    Ok(cheapest.ok_or("no byte may come next")?.1)
}
