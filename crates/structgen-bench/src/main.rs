//! The `structgen-bench` command line: structgen's costs, alone and compared with its peers, and its accuracy.

mod decode;
mod extract;
mod lines;
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
    /// Time the decoding loop against a bare one, its strategies, and the cache, by default on one thread
    Decode(decode::Args),
    /// Measure the accuracy of a model's extractions, on texts with correct documents
    Extract(extract::Args),
    /// Run MaskBench on structgen and llguidance, and print the ratios
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

/// Writes a line to standard error. Errors are ignored: nobody is reading.
fn report(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Reads a file as text.
fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Returns the folder of cached vocabulary tables, if the system has a cache folder.
fn tables_folder() -> Option<PathBuf> {
    let search = ModelOptions::new().search();
    Some(search.cache_dir()?.join("tables"))
}
