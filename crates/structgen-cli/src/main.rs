//! The `structgen` command line.
//!
//! One file per command in `commands/`; what they share is beside it. Exit codes: 0 done, 1 the text does not fit, 2 bad
//! input or usage. Standard output has results only, standard error everything else.

mod args;
mod chat_args;
mod commands;
mod error;
mod extraction;
mod input;
mod output;
mod process;
mod results;
mod schema_args;
mod settings;
mod tool_args;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::Failure;

/// Guaranteed JSON from real text: constrained generation with language models.
#[derive(Parser)]
#[command(
    name = "structgen",
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
    /// Show several texts, schemas, and the JSON extracted by the embedded model.
    Demo(commands::demo::Args),
    /// Extract JSON that fits a schema from a text.
    Extract(Box<commands::extract::Args>),
    /// Generate text after a prompt, free or under a constraint.
    Generate(Box<commands::generate::Args>),
    /// Report how probable each of some texts is after a prompt.
    Choose(commands::choose::Args),
    /// Compile a schema and report what became of each keyword.
    Compile(commands::compile::Args),
    /// Check whether a text fits a schema, a regular expression or a grammar.
    Check(commands::check::Args),
    /// Work something out of a grammar, a schema or a regular expression: texts, counts, comparisons, intersections, GBNF.
    Grammar(commands::grammar::Args),
    /// Manage the ONNX Runtime library.
    Runtime(commands::runtime::Args),
    /// Check the runtime library, its devices, and a model.
    Doctor(commands::doctor::Args),
    /// List what --set and --params take, or explain one parameter.
    Params(commands::params::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Extract(args) => commands::extract::run(&args),
        Command::Generate(args) => commands::generate::run(&args),
        Command::Choose(args) => commands::choose::run(&args),
        Command::Compile(args) => commands::compile::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Grammar(args) => commands::grammar::run(&args),
        Command::Runtime(args) => commands::runtime::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Params(args) => commands::params::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// What a command comes to.
type Outcome = Result<ExitCode, Failure>;
