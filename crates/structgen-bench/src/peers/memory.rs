//! Peak memory, with each engine in its own process.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use structgen::constraint::VocabularyTables;
use structgen::vocab::Tokenizer;
use structgen_bench::llguidance_engine::LlGuidance;
use structgen_maskbench::{Case, Engine, Instance, KeyOrder, Structgen, run_case};

use super::end_of_sequence;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Peer {
    Structgen,
    Llguidance,
}

/// A case in the form for a child process: instances are already reordered, since that takes structgen's memory.
#[derive(Serialize, Deserialize)]
struct Line {
    file: String,
    schema: String,
    instances: Vec<(String, bool)>,
}

/// A child's measurements, in KiB.
#[derive(Serialize, Deserialize)]
struct Memory {
    /// The peak with only the tokenizer loaded.
    before: u64,
    /// The peak over all files.
    peak: u64,
}

/// Runs one child per engine and prints their reports.
pub(crate) fn compare(tokenizer: &Path, order: KeyOrder, files: &[PathBuf]) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("structgen-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = compare_in(&folder, tokenizer, order, files);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn compare_in(
    folder: &Path,
    tokenizer: &Path,
    order: KeyOrder,
    files: &[PathBuf],
) -> anyhow::Result<()> {
    let prepared = folder.join("cases.jsonl");
    let mut out = BufWriter::new(std::fs::File::create(&prepared)?);
    for path in files {
        let case = Case::read(path, order == KeyOrder::Declared)?;
        let instances = case.instances.into_iter();
        let line = Line {
            file: case.file,
            schema: case.schema_text,
            instances: instances.map(|i| (i.text, i.is_valid)).collect(),
        };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
    }
    out.into_inner().context("the cases cannot be written")?;

    println!("peak memory over {} files, MiB", files.len());
    println!("                 tokenizer only       peak     growth");
    let mut found = Vec::new();
    for (peer, name) in [
        (Peer::Structgen, "structgen"),
        (Peer::Llguidance, "llguidance"),
    ] {
        let mut child = Command::new(std::env::current_exe()?);
        child
            .args(["peers", "--only", name, "--tokenizer"])
            .arg(tokenizer);
        if order == KeyOrder::Any {
            child.arg("--any-order");
        }
        let output = child.arg(&prepared).output()?;
        if !output.status.success() {
            bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let memory: Memory = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the child for {peer:?}"))?;
        let growth = memory.peak.saturating_sub(memory.before);
        println!(
            "{name:<17}{:>14.1}{:>11.1}{:>11.1}",
            mib(memory.before),
            mib(memory.peak),
            mib(growth)
        );
        found.push((memory.peak as f64, growth as f64));
    }
    println!(
        "ratio{:>37.3}{:>11.3}",
        found[0].0 / found[1].0,
        found[0].1 / found[1].1
    );
    Ok(())
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// The child process: runs all prepared cases on one engine and prints its memory.
pub(crate) fn measure(
    peer: Peer,
    tokenizer: &Path,
    order: KeyOrder,
    prepared: &Path,
) -> anyhow::Result<()> {
    let tokenizer = Arc::new(Tokenizer::from_file(tokenizer)?);
    let eos = end_of_sequence(&tokenizer).context("the tokenizer has no special token")?;
    // Reading the tokenizer's file briefly takes more memory, which does not belong to any engine.
    std::fs::write("/proc/self/clear_refs", "5").context("the peak cannot be reset")?;
    let before = peak()?;
    match peer {
        Peer::Structgen => {
            let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
            run_all(
                &mut Structgen::new(tables, order, vec![eos]),
                &tokenizer,
                prepared,
            )?;
        }
        Peer::Llguidance => {
            run_all(&mut LlGuidance::new(&tokenizer, eos)?, &tokenizer, prepared)?;
        }
    }
    let memory = Memory {
        before,
        peak: peak()?,
    };
    println!("{}", serde_json::to_string(&memory)?);
    Ok(())
}

fn run_all<E: Engine>(
    engine: &mut E,
    tokenizer: &Tokenizer,
    prepared: &Path,
) -> anyhow::Result<()> {
    for line in BufReader::new(std::fs::File::open(prepared)?).lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let instances = line.instances.into_iter();
        let case = Case {
            file: line.file,
            schema: serde_json::from_str(&line.schema)?,
            schema_text: line.schema,
            instances: instances
                .map(|(text, is_valid)| Instance { text, is_valid })
                .collect(),
        };
        run_case(engine, &case, tokenizer);
    }
    Ok(())
}

/// Returns the peak resident memory of this process, in KiB.
pub(crate) fn peak() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .context("the system tells no peak of memory")?;
    let number = line.trim().trim_end_matches("kB").trim();
    Ok(number.parse()?)
}
