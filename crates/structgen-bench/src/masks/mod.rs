//! `structgen-bench masks`: the cost of compiling schemas and computing masks.

mod compared;
mod forced;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use structgen::KeyOrder;
use structgen::constraint::{Statistics, TablesSource, VocabularyTables};
use structgen::vocab::{Tokenizer, Vocabulary};
use structgen_maskbench::{
    Case, CaseError, FileResult, Status, Structgen, Summary, case_files, run_case_with,
};

use crate::lines::Lines;
use crate::{print, report, tables_folder};
use compared::Comparison;
use forced::Forcing;

/// Options of `structgen-bench masks`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The tokenizer.json with the vocabulary of the masks
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,
    /// Order of keys; with declared, instances are reordered first
    #[arg(long, value_enum, default_value_t = Order::Any)]
    order: Order,
    /// Recompute the tables of the tokenizer's vocabulary instead of caching them in the folder `tables` of structgen's
    /// cache folder
    #[arg(long)]
    no_cache: bool,
    /// Count how many tokens of accepted valid instances forcing saves, after all times are measured
    #[arg(long)]
    forced: bool,
    /// Compare up to this many masks of each instance with those of a naive computation, which tries every token, after
    /// all times are measured
    #[arg(long, value_name = "N")]
    compare: Option<NonZeroUsize>,
    /// Write one line of JSON per file
    #[arg(long, value_name = "OUT")]
    jsonl: Option<PathBuf>,
    /// MaskBench files, or folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    Declared,
    Any,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let files = case_files(&args.paths)?;
    if files.is_empty() {
        bail!("there are no MaskBench files (*.json) in the folders that were named");
    }
    if let Some(missing) = files.iter().find(|path| !path.is_file()) {
        bail!("{} is neither a file nor a folder", missing.display());
    }
    let name = args.tokenizer.display();
    let started = Instant::now();
    let tokenizer = Tokenizer::from_file(&args.tokenizer)
        .with_context(|| format!("the tokenizer {name} cannot be used"))?;
    let loaded = started.elapsed();
    let started = Instant::now();
    let (tables, source) = tables(tokenizer.vocabulary(), !args.no_cache);
    let tables = Arc::new(tables);
    let built = started.elapsed();

    let order = match args.order {
        Order::Declared => KeyOrder::Declared,
        Order::Any => KeyOrder::Any,
    };
    let mut engine = Structgen::new(tables.clone(), order, Vec::new());
    let mut lines = args.jsonl.as_deref().map(Lines::create).transpose()?;
    let mut results = Vec::with_capacity(files.len());
    let mut totals = Statistics::default();
    for path in &files {
        let result = match Case::read(path, order == KeyOrder::Declared) {
            Ok(case) => run_case_with(&mut engine, &case, &tokenizer, |compiled| {
                totals.add(&compiled.statistics());
            }),
            Err(error) => no_case(path, &error),
        };
        if let Some(lines) = lines.as_mut().filter(|_| !args.forced) {
            lines.add(&result)?;
        }
        results.push(result);
        if results.len() % 500 == 0 {
            report(&format!("{} of {} files", results.len(), files.len()));
        }
    }
    let memory = tables.memory();
    let mut saved = String::new();
    if args.forced {
        let mut forcing = Forcing::new(&tables, order);
        for (path, result) in files.iter().zip(&results) {
            let counts = forcing.count(path, &tokenizer);
            if let Some(lines) = &mut lines {
                lines.add(&Line { result, counts })?;
            }
        }
        saved = forcing.to_string();
    }
    if let Some(lines) = lines {
        lines.finish()?;
    }
    let compared = args.compare.map(|most| {
        let mut engine = Structgen::new(tables.clone(), order, Vec::new());
        Comparison::new(&files, &mut engine, order, &tokenizer, most.get())
    });
    print(&format!(
        "tokenizer {name}: {} ids, loaded in {:.0} ms\n\
         tables of the vocabulary: {source} in {:.1} ms, {:.1} MB, once for all schemas and not part of their times\n\
         {}\n{}{}{saved}{}{}",
        tokenizer.vocabulary().len(),
        loaded.as_secs_f64() * 1e3,
        built.as_secs_f64() * 1e3,
        memory as f64 / 1e6,
        Summary::new(&results),
        work(&totals),
        instances(&results),
        compared
            .as_ref()
            .map(Comparison::to_string)
            .unwrap_or_default(),
        remaining(&results),
    ))?;
    match compared {
        Some(compared) if compared.wrong > 0 => bail!("{} masks are wrong", compared.wrong),
        _ => Ok(()),
    }
}

/// Returns the tables of a vocabulary, and where they came from.
fn tables(vocabulary: &Arc<Vocabulary>, keep: bool) -> (VocabularyTables, &'static str) {
    let Some(folder) = tables_folder().filter(|_| keep) else {
        return (VocabularyTables::new(vocabulary.clone()), "computed");
    };
    match VocabularyTables::load_or_build(vocabulary.clone(), &folder) {
        (tables, TablesSource::Loaded) => (tables, "loaded from the cache"),
        (tables, _) => (tables, "computed for the cache"),
    }
}

/// Describes the work of the masks of all schemas.
fn work(totals: &Statistics) -> String {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let computed = totals.masks_computed;
    format!(
        "masks                      {computed} computed, {} at hand ({:.1}%), {} evicted, {:.1} MB kept\n\
         trie nodes walked          {} ({:.1} for each computed mask), {} tokens tried one by one\n\
         states                     {}\n",
        totals.masks_found,
        100.0 * share(totals.masks_found, totals.masks_found + computed),
        totals.masks_evicted,
        totals.mask_bytes as f64 / 1e6,
        totals.nodes_walked,
        share(totals.nodes_walked, computed),
        totals.tokens_tried,
        totals.states,
    )
}

/// Returns a record for a file that is not MaskBench's, so that the others continue.
fn no_case(path: &Path, error: &CaseError) -> FileResult {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    FileResult {
        status: Status::CompileError,
        error: Some(error.to_string()),
        ..FileResult::new(file.into_owned())
    }
}

/// Lists what was misjudged: a line per file, with the outcome and the reason.
fn remaining(results: &[FileResult]) -> String {
    let wrong = results.iter().filter(|result| !result.status.is_right());
    wrong
        .map(|result| {
            let outcome = match result.status {
                Status::Ok | Status::Unsatisfiable => "right",
                Status::CompileError => "refused",
                Status::ValidationError => "valid rejected",
                Status::InvalidationError => "invalid accepted",
                Status::Undecided => "undecided",
            };
            let reason = result.error.as_deref().unwrap_or("no reason was given");
            let reason: Vec<&str> = reason.split_whitespace().collect();
            format!("{}: {outcome}: {}\n", result.file, reason.join(" "))
        })
        .collect()
}

/// Describes how the instances of compiled schemas were judged.
fn instances(results: &[FileResult]) -> String {
    let compiled = results
        .iter()
        .filter(|result| result.status != Status::CompileError);
    let sum = compiled.fold([0; 5], |[a, b, c, d, e], result| {
        let (valid, invalid) = (result.valid, result.invalid);
        [
            a + valid.0,
            b + valid.1,
            c + invalid.0,
            d + invalid.1,
            e + result.undecided,
        ]
    });
    let [accepted, valid, rejected, invalid, undecided] = sum;
    let undecided = match undecided {
        0 => String::new(),
        undecided => format!("instances undecided        {undecided}\n"),
    };
    format!(
        "valid instances accepted   {accepted} of {valid}\ninvalid instances rejected {rejected} of {invalid}\n{undecided}"
    )
}

/// The line for a file whose forced tokens are counted.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    result: &'a FileResult,
    #[serde(flatten)]
    counts: forced::Counts,
}
