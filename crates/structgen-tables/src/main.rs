//! `structgen-tables`: the commands of `structgen` that read and write tables.
//!
//! They are an executable of their own because DataFusion takes minutes to build. `structgen sql`, `structgen extract
//! --input` and `structgen cluster` run it.
//!
//! Exit codes are those of `structgen`: 0 done, 1 done except for some rows, 2 not done. Standard output contains only
//! results; all else goes to standard error.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(not(feature = "cluster"))]
#[path = "no_cluster.rs"]
mod cluster;
mod extract;
mod hashing;
mod model;
mod model_hash;
mod quotes;
mod sql;
mod terminal;

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};

/// SQL and extraction over Parquet, CSV and JSON Lines.
#[derive(Parser)]
#[command(name = "structgen-tables", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print only errors to standard error, no notes
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print to standard error how long it took
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run a query with the functions extract, extract_json, generate, classify, matches and tokens.
    Sql(Box<sql::Args>),
    /// Extract a value from each row of a table.
    Extract(Box<extract::Args>),
    /// Run the scheduler or an executor of a cluster.
    Cluster(cluster::Args),
}

/// The outcome of a command: how many rows failed.
type Outcome = anyhow::Result<u64>;

fn main() -> ExitCode {
    let Cli {
        command,
        quiet,
        verbose,
    } = Cli::parse();
    terminal::set_quiet(quiet);
    let began = Instant::now();
    let outcome = match command {
        Command::Sql(args) => sql::run(&args),
        Command::Extract(args) => extract::run(&args),
        Command::Cluster(args) => cluster::run(&args),
    };
    if verbose {
        terminal::say(&format!("it took {:.1?}", began.elapsed()));
    }
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) if terminal::is_reader_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::say_error(&format!("error: {}", terminal::in_one_line(&error)));
            ExitCode::from(2)
        }
    }
}
