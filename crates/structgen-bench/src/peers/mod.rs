//! `structgen-bench peers`: structgen and llguidance in one process, one thread, schema by schema.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod choices;
mod memory;
mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use sha2::{Digest, Sha256};
use structgen::constraint::VocabularyTables;
use structgen::vocab::{TokenId, Tokenizer};
use structgen_bench::grammars::{self, Gbnf, Lark};
use structgen_bench::llguidance_engine::LlGuidance;
use structgen_maskbench::{
    Case, FileResult, KeyOrder, Status, Structgen, Summary, case_files, run_case,
};

use crate::lines::Lines;

/// Options of `structgen-bench peers`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Path to tokenizer.json.
    #[arg(long)]
    tokenizer: PathBuf,
    /// Allow keys in any order; by default they come as declared, and instances are reordered first.
    #[arg(long)]
    any_order: bool,
    /// Run only structgen.
    #[arg(long)]
    alone: bool,
    /// Take every n-th file only.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Take only the files with int(sha256(file name), 16) % 10 == 4: a fifth of MaskBench's half with even hashes.
    #[arg(long)]
    sample: bool,
    /// Number of times to compile and replay each schema in each engine; also reports the best of each step.
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// Measure the peak memory of each engine instead of times, each in its own process.
    #[arg(
        long,
        conflicts_with_all = ["alone", "runs", "grammars", "choices", "jsonl", "explain", "steps_over"]
    )]
    memory: bool,
    /// Instead of MaskBench, run the JSON, SQL and C-like grammars in GBNF, and llguidance on the same languages in its
    /// own syntax.
    #[arg(
        long,
        conflicts_with_all = ["alone", "choices", "jsonl", "explain", "every", "sample", "any_order", "paths"]
    )]
    grammars: bool,
    /// Instead of MaskBench, run lists of this many choices on structgen.
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u64).range(1..),
        conflicts_with_all = [
            "alone", "runs", "jsonl", "explain", "steps_over", "every", "sample", "any_order", "paths"
        ]
    )]
    choices: Option<u64>,
    /// Write one line of JSON per file, with structgen's times of the first run.
    #[arg(long, value_name = "OUT")]
    jsonl: Option<PathBuf>,
    /// The engine whose memory this process, a child of one with --memory, measures.
    #[arg(long, hide = true)]
    only: Option<memory::Peer>,
    /// Print refusals and misjudged instances, grouped.
    #[arg(long)]
    explain: bool,
    /// Print every step of structgen that took at least this many microseconds in the best of the runs, if llguidance
    /// judges correctly as well, with the text before it.
    #[arg(long)]
    steps_over: Option<u64>,
    /// MaskBench files or folders.
    #[arg(required_unless_present_any = ["grammars", "choices"])]
    paths: Vec<PathBuf>,
}

impl Arguments {
    fn order(&self) -> KeyOrder {
        if self.any_order {
            KeyOrder::Any
        } else {
            KeyOrder::Declared
        }
    }

    /// Returns the files to measure.
    fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = case_files(&self.paths)?;
        if self.sample {
            files.retain(|path| {
                let name = path.file_name().unwrap_or_default();
                is_in_sample(name.as_encoded_bytes())
            });
        }
        Ok(files.into_iter().step_by(self.every.max(1)).collect())
    }
}

/// Returns whether a file's hash, as a decimal number, ends in the digit 4.
fn is_in_sample(name: &[u8]) -> bool {
    let digest = Sha256::digest(name);
    digest
        .iter()
        .fold(0, |rest, &byte| (rest * 256 + u32::from(byte)) % 10)
        == 4
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(peer) = arguments.only {
        return memory::measure(
            peer,
            &arguments.tokenizer,
            arguments.order(),
            &arguments.paths[0],
        );
    }
    if arguments.memory {
        return memory::compare(&arguments.tokenizer, arguments.order(), &arguments.files()?);
    }
    let tokenizer = Arc::new(Tokenizer::from_file(&arguments.tokenizer)?);
    let begin = Instant::now();
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    println!(
        "tables of the tokenizer: {:.0} ms, {} KiB",
        begin.elapsed().as_secs_f64() * 1e3,
        tables.memory() / 1024
    );
    let eos = end_of_sequence(&tokenizer).context("the tokenizer has no special token")?;
    if let Some(count) = arguments.choices {
        return choices::time(&tokenizer, &tables, eos, count);
    }
    if arguments.grammars {
        return time_grammars(&tokenizer, &tables, eos, arguments);
    }
    let mut ours = Structgen::new(tables, arguments.order(), vec![eos]);
    let mut theirs = LlGuidance::new(&tokenizer, eos)?;
    let mut lines = arguments.jsonl.as_deref().map(Lines::create).transpose()?;

    let (mut first, mut best) = (Vec::new(), Vec::new());
    for path in &arguments.files()? {
        let case = Case::read(path, !arguments.any_order)?;
        let mut runs = Vec::new();
        for _ in 0..arguments.runs.max(1) {
            // The engines take turns, so that disturbances of the machine affect both.
            let our_result = run_case(&mut ours, &case, &tokenizer);
            let their_result = (!arguments.alone).then(|| run_case(&mut theirs, &case, &tokenizer));
            runs.push((our_result, their_result));
        }
        let fastest = best_of(&runs);
        if let Some(least) = arguments.steps_over
            && fastest
                .1
                .as_ref()
                .is_none_or(|theirs| theirs.status == Status::Ok)
        {
            report::print_steps(&case, &tokenizer, &fastest.0, least * 1_000)?;
        }
        if let Some(lines) = &mut lines {
            lines.add(&runs[0].0)?;
        }
        best.push(fastest);
        first.push(runs.swap_remove(0));
    }
    if let Some(lines) = lines {
        lines.finish()?;
    }

    println!(
        "\nstructgen\n{}",
        Summary::new(first.iter().map(|(ours, _)| ours))
    );
    let best_title = format!("each step's best of {} fresh runs", arguments.runs);
    if arguments.alone {
        if arguments.runs > 1 {
            println!(
                "\nstructgen, {best_title}\n{}",
                Summary::new(best.iter().map(|(ours, _)| ours))
            );
        }
    } else {
        println!(
            "\nllguidance\n{}",
            Summary::new(first.iter().filter_map(|(_, theirs)| theirs.as_ref()))
        );
        report::compare(&first, "one run");
        if arguments.runs > 1 {
            report::compare(&best, &best_title);
        }
    }
    if arguments.explain {
        report::explain(&first);
    }
    Ok(())
}

/// Times every grammar over its long texts in two ways: all texts on one compiled grammar, as in a server, and each
/// text on its own.
///
/// # Errors
/// If a file cannot be read, or an engine gave up on a text, which would make its figures incomparable.
fn time_grammars(
    tokenizer: &Arc<Tokenizer>,
    tables: &Arc<VocabularyTables>,
    eos: TokenId,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let runs = arguments.runs.max(1);
    let mut ours = Gbnf::new(tables.clone(), eos);
    let mut theirs = Lark(LlGuidance::new(tokenizer, eos)?);
    let mut given_up = 0;
    for name in grammars::NAMES {
        let (gbnf, lark) = grammars::sources(name)?;
        let texts = grammars::texts(name)?;
        let afresh = texts.iter().map(|text| vec![text.clone()]).collect();
        let ways = [
            ("all texts on one compiled grammar", vec![texts]),
            ("each text compiled afresh", afresh),
        ];
        for (way, groups) in ways {
            let (mut first, mut best) = (Vec::new(), Vec::new());
            for (i, group) in groups.into_iter().enumerate() {
                let gbnf = grammars::case(name, gbnf.clone(), group.clone());
                let lark = grammars::case(name, lark.clone(), group);
                let mut results = Vec::new();
                for _ in 0..runs {
                    let our_result = run_case(&mut ours, &gbnf, tokenizer);
                    let their_result = run_case(&mut theirs, &lark, tokenizer);
                    for (engine, result) in
                        [("structgen", &our_result), ("llguidance", &their_result)]
                    {
                        if let Some(error) = &result.error {
                            let line = error.lines().next().unwrap_or_default();
                            println!("{engine} gives up on {name}, {way}, case {i}: {line}");
                            given_up += 1;
                        }
                    }
                    results.push((our_result, Some(their_result)));
                }
                let fastest = best_of(&results);
                if let Some(least) = arguments.steps_over {
                    report::print_steps(&gbnf, tokenizer, &fastest.0, least * 1_000)?;
                }
                best.push(fastest);
                first.push(results.swap_remove(0));
            }
            if first.iter().chain(&best).any(has_error) {
                continue;
            }
            report::compare(&first, &format!("{name}, {way}, one run"));
            if runs > 1 {
                let title = format!("{name}, {way}, each step's best of {runs} fresh runs");
                report::compare(&best, &title);
            }
        }
    }
    anyhow::ensure!(given_up == 0, "an engine gave up {given_up} times");
    Ok(())
}

/// Returns whether either engine gave up or misjudged.
fn has_error((ours, theirs): &(FileResult, Option<FileResult>)) -> bool {
    ours.error.is_some() || theirs.as_ref().is_some_and(|theirs| theirs.error.is_some())
}

/// Returns the first result of each engine, with the best time of all runs at every step.
fn best_of(runs: &[(FileResult, Option<FileResult>)]) -> (FileResult, Option<FileResult>) {
    let (mut ours, mut theirs) = runs[0].clone();
    for run in &runs[1..] {
        ours.keep_best(&run.0);
        if let (Some(best), Some(result)) = (&mut theirs, &run.1) {
            best.keep_best(result);
        }
    }
    (ours, theirs)
}

/// Returns any special token as the end: instances are encoded without special tokens.
fn end_of_sequence(tokenizer: &Tokenizer) -> Option<TokenId> {
    tokenizer
        .vocabulary()
        .special_tokens()
        .map(|(id, _)| id)
        .next()
}
