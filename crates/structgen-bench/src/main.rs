//! Structgen and llguidance in one process, one thread, schema by schema.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use structgen_bench::llguidance_engine::LlGuidance;
use structgen_constraint::VocabularyTables;
use structgen_maskbench::{
    Case, FileResult, KeyOrder, Percentiles, Status, Structgen, Summary, case_files, run_case,
};
use structgen_vocab::{TokenId, Tokenizer};

/// Runs MaskBench on structgen and llguidance, side by side, and prints the ratios.
#[derive(Parser)]
struct Arguments {
    /// A tokenizer.json.
    #[arg(long)]
    tokenizer: PathBuf,
    /// Keys in any order; by default they come as declared, and instances are reordered first.
    #[arg(long)]
    any_order: bool,
    /// Only structgen.
    #[arg(long)]
    alone: bool,
    /// Take every n-th file.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Print refusals and misjudged instances, grouped.
    #[arg(long)]
    explain: bool,
    /// Print every step of structgen that took at least so many microseconds, with what had been taken.
    #[arg(long)]
    steps_over: Option<u64>,
    /// MaskBench files or folders.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let tokenizer = Arc::new(Tokenizer::from_file(&arguments.tokenizer)?);
    let begin = Instant::now();
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    println!(
        "tables of the tokenizer: {:.0} ms, {} KiB",
        begin.elapsed().as_secs_f64() * 1e3,
        tables.memory() / 1024
    );
    let eos = end_of_sequence(&tokenizer).context("the tokenizer has no special token")?;
    let order = if arguments.any_order {
        KeyOrder::Any
    } else {
        KeyOrder::Declared
    };
    let mut ours = Structgen::new(tables.clone(), order, vec![eos]);
    let mut theirs = LlGuidance::new(&tokenizer, eos)?;

    let mut results: Vec<(FileResult, Option<FileResult>)> = Vec::new();
    for path in case_files(&arguments.paths)?
        .iter()
        .step_by(arguments.every.max(1))
    {
        let case = Case::read(path, !arguments.any_order)?;
        let our_result = run_case(&mut ours, &case, &tokenizer);
        if let Some(least) = arguments.steps_over {
            print_steps(&case, &tokenizer, &our_result, least * 1_000)?;
        }
        let their_result = (!arguments.alone).then(|| run_case(&mut theirs, &case, &tokenizer));
        results.push((our_result, their_result));
    }

    println!(
        "\nstructgen\n{}",
        Summary::new(results.iter().map(|(ours, _)| ours))
    );
    if !arguments.alone {
        println!(
            "\nllguidance\n{}",
            Summary::new(results.iter().filter_map(|(_, theirs)| theirs.as_ref()))
        );
        compare(&results);
    }
    if arguments.explain {
        explain(&results);
    }
    Ok(())
}

/// Any special token serves as the end: instances are encoded without special tokens.
fn end_of_sequence(tokenizer: &Tokenizer) -> Option<TokenId> {
    tokenizer
        .vocabulary()
        .special_tokens()
        .map(|(id, _)| id)
        .next()
}

fn compare(results: &[(FileResult, Option<FileResult>)]) {
    let both: Vec<(&FileResult, &FileResult)> = results
        .iter()
        .filter_map(|(ours, theirs)| Some((ours, theirs.as_ref()?)))
        .filter(|(ours, theirs)| ours.status == Status::Ok && theirs.status == Status::Ok)
        .collect();
    let ours = Summary::new(both.iter().map(|&(ours, _)| ours));
    let theirs = Summary::new(both.iter().map(|&(_, theirs)| theirs));
    println!(
        "\nstructgen / llguidance, over the {} schemas that both judge right",
        both.len()
    );
    println!("ratio                      {}", Percentiles::HEADER);
    for (name, ours, theirs) in [
        ("compile + first mask", &ours.ttfm_us, &theirs.ttfm_us),
        ("mask + accept", &ours.tbm_us, &theirs.tbm_us),
    ] {
        println!("{name:<27}{ours}   structgen");
        println!("{name:<27}{theirs}   llguidance");
        let ratio = |a: f64, b: f64| format!("{:.2}", a / b);
        println!(
            "{name:<27}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}   ratio",
            ratio(ours.average, theirs.average),
            ratio(ours.p50, theirs.p50),
            ratio(ours.p90, theirs.p90),
            ratio(ours.p99, theirs.p99),
            ratio(ours.p999, theirs.p999),
            ratio(ours.max, theirs.max)
        );
    }
}

/// Groups what went wrong by its message, pointers left out.
fn explain(results: &[(FileResult, Option<FileResult>)]) {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (result, _) in results {
        if let Some(error) = &result.error {
            let reason = match result.status {
                Status::CompileError => error
                    .split_once(": ")
                    .map_or(error.as_str(), |(_, reason)| reason),
                _ => error,
            };
            groups
                .entry(format!("{:?}: {reason}", result.status))
                .or_default()
                .push(&result.file);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    println!();
    slowest(results, "compile + first mask", |result| {
        result.ttfm_us.unwrap_or(0.0)
    });
    slowest(results, "mask + accept", |result| {
        result
            .tbm_ns
            .iter()
            .max()
            .map_or(0.0, |&ns| ns as f64 / 1e3)
    });
    for (reason, files) in groups {
        println!("{:>6}  {reason}  (such as {})", files.len(), files[0]);
    }
}

/// The files with the largest of some time.
fn slowest(
    results: &[(FileResult, Option<FileResult>)],
    name: &str,
    time: impl Fn(&FileResult) -> f64,
) {
    let mut sorted: Vec<_> = results
        .iter()
        .map(|(result, _)| (time(result), &result.file))
        .collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (time, file) in sorted.into_iter().take(8) {
        println!("{time:>12.0} us  {name}: {file}");
    }
}

/// The steps that took long: the time, the text so far and the token.
fn print_steps(
    case: &Case,
    tokenizer: &Tokenizer,
    result: &FileResult,
    least_ns: u64,
) -> anyhow::Result<()> {
    let mut times = result.tbm_ns.iter();
    for instance in &case.instances {
        let tokens = tokenizer.encode(&instance.text)?;
        for (i, &token) in tokens.iter().enumerate() {
            let Some(&ns) = times.next() else {
                return Ok(());
            };
            if ns >= least_ns {
                let before = tokenizer.decode_bytes(&tokens[i.saturating_sub(12)..i]);
                let next = tokenizer.decode_bytes(&[token]);
                println!(
                    "{:>9.1} us  {} step {i}: ...{} | {}",
                    ns as f64 / 1e3,
                    case.file,
                    String::from_utf8_lossy(&before),
                    String::from_utf8_lossy(&next)
                );
            }
            // An instance that is refused ends there; its times say nothing of what follows.
            if !instance.is_valid {
                break;
            }
        }
        if !instance.is_valid {
            return Ok(());
        }
    }
    Ok(())
}
