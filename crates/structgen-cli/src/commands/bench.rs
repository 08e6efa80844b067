//! `structgen bench`: measurements.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use structgen::constraint::VocabularyTables;
use structgen::grammar::KeyOrder;
use structgen::vocab::Tokenizer;

use crate::Outcome;
use crate::error::DONE;
use crate::masks::{Bench, Summary};
use crate::output::{tell, write};

/// Options of `structgen bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Compile the schemas of MaskBench files and time the masks of their instances, on one thread
    Masks(MasksArgs),
}

#[derive(clap::Args, Debug)]
struct MasksArgs {
    /// The tokenizer.json whose vocabulary the masks are of
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,
    /// In which order keys may come; with declared, instances are put into that order first
    #[arg(long, value_enum, default_value_t = Order::Any)]
    order: Order,
    /// Write one line of JSON for each file
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

pub(crate) fn run(args: &Args) -> Outcome {
    let Command::Masks(args) = &args.command;
    let files = files(&args.paths)?;
    let name = args.tokenizer.display();
    let started = Instant::now();
    let tokenizer = Tokenizer::from_file(&args.tokenizer)
        .with_context(|| format!("the tokenizer {name} cannot be used"))?;
    let loaded = started.elapsed();
    let started = Instant::now();
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    let built = started.elapsed();

    let order = match args.order {
        Order::Declared => KeyOrder::Declared,
        Order::Any => KeyOrder::Any,
    };
    let mut lines = args.jsonl.as_deref().map(create).transpose()?;
    let mut bench = Bench::new(&tokenizer, tables.clone(), order);
    let mut summary = Summary::default();
    for (done, path) in files.iter().enumerate() {
        let record = bench.measure(path);
        if let Some((out, out_path)) = &mut lines {
            serde_json::to_writer(&mut *out, &record)
                .map_err(std::io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .with_context(|| format!("{} cannot be written", out_path.display()))?;
        }
        summary.add(record);
        if (done + 1) % 500 == 0 {
            tell(&format!("{} of {} files", done + 1, files.len()));
        }
    }
    if let Some((out, out_path)) = &mut lines {
        out.flush()
            .with_context(|| format!("{} cannot be written", out_path.display()))?;
    }
    write(&format!(
        "tokenizer   {name}: {} ids, loaded in {:.0} ms\n\
         tables      built once in {:.1} ms, {:.1} MB; not part of TTFM\n{summary}",
        tokenizer.vocabulary().len(),
        loaded.as_secs_f64() * 1e3,
        built.as_secs_f64() * 1e3,
        tables.memory() as f64 / 1e6,
    ))?;
    Ok(DONE)
}

fn create(path: &Path) -> anyhow::Result<(BufWriter<File>, PathBuf)> {
    let file =
        File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok((BufWriter::new(file), path.to_owned()))
}

/// The files, those of folders sorted by name.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            if !path.is_file() {
                bail!("{} is neither a file nor a folder", path.display());
            }
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in
            std::fs::read_dir(path).with_context(|| format!("{} cannot be read", path.display()))?
        {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.push(path);
            }
        }
        found.sort();
        files.extend(found);
    }
    if files.is_empty() {
        bail!("there are no MaskBench files (*.json) in the folders that were named");
    }
    Ok(files)
}
