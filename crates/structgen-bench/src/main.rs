//! The `structgen-bench` command line: what structgen costs, alone and beside its peers, and how right it is.

mod decode;
mod extract;
mod masks;
mod model_args;
#[cfg(feature = "peers")]
mod peers;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use structgen::ModelOptions;

/// Benchmarks of structgen.
#[derive(Parser)]
#[command(
    name = "structgen-bench",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile the schemas of MaskBench files and time the masks of their instances, on one thread
    Masks(masks::Args),
    /// Time the decoding loop beside a bare one, its strategies, and the cache, on one thread
    Decode(decode::Args),
    /// Measure how right a model's extractions are, on texts with their right documents
    Extract(extract::Args),
    /// Run MaskBench on structgen and llguidance, side by side, and print the ratios
    #[cfg(feature = "peers")]
    Peers(peers::Arguments),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Masks(args) => masks::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Extract(args) => extract::run(&args),
        #[cfg(feature = "peers")]
        Command::Peers(args) => peers::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Writes to standard output.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line to standard error. Where nobody reads it, nobody misses it.
fn report(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The text of a file.
fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// The folder in which the tables of vocabularies are kept, if the system has a place for that.
fn tables_folder() -> Option<PathBuf> {
    let search = ModelOptions::new().search();
    Some(search.cache_dir()?.join("tables"))
}
