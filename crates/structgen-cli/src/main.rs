//! The `structgen` command line.
//!
//! One file per command in `commands/`; shared code is beside it. Exit codes: 0 done, 1 the text does not match, 2 bad
//! input or usage, 130 interrupted. Standard output, or the file of `--output`, contains only results; all else goes to
//! standard error.

mod args;
mod arguments;
mod chat_args;
mod commands;
mod constraint_args;
mod error;
mod excerpt;
mod explaining;
mod extraction;
mod input;
mod interrupt;
mod model_settings;
mod models;
mod output;
mod process;
mod remote;
mod results;
mod schema_args;
mod schema_hints;
mod settings;
mod tool_args;
mod vocabulary_args;
mod yaml;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use error::Failure;
use output::{ColorArg, OutputArgs};

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
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Show several texts, schemas, and the JSON that the embedded model extracts.
    Demo(commands::demo::Args),
    /// Extract JSON that matches a schema from a text.
    Extract(Box<commands::extract::Args>),
    /// Generate text after a prompt, free or constrained.
    Generate(Box<commands::generate::Args>),
    /// Report how probable each of several texts is after a prompt.
    Choose(commands::choose::Args),
    /// Compile a schema and report how each keyword was compiled.
    Compile(commands::compile::Args),
    /// Check whether a text matches a schema, a regular expression or a grammar.
    Check(commands::check::Args),
    /// Explain why a text, or a token after it, does not match: pointers, rules, what was expected, and the nearest
    /// text that matches.
    Explain(Box<commands::explain::Args>),
    /// Show what is allowed after the beginning of a text: keys, rules and tokens.
    Mask(Box<commands::mask::Args>),
    /// Analyse or convert a grammar, a schema or a regular expression: sample, count, compare, intersect, write GBNF.
    Grammar(commands::grammar::Args),
    /// Serve models over HTTP, compatible with OpenAI's API.
    #[cfg(feature = "serve")]
    Serve(Box<commands::serve::Args>),
    /// Query tables with SQL functions that run a model. The commands over tables need the program structgen-tables.
    Sql(commands::tables::SqlArgs),
    /// Run the scheduler or an executor of a cluster, for sql --cluster. Part of structgen-tables, if it is built with
    /// this feature.
    Cluster(commands::tables::ClusterArgs),
    /// Manage the ONNX Runtime library.
    Runtime(commands::runtime::Args),
    /// Manage the models on this machine, and show their contents and memory needs.
    Model(commands::model::Args),
    /// Check the runtime library, its devices, and a model.
    Doctor(commands::doctor::Args),
    /// Inspect decoding: temperatures, single steps, samplers, diversity, repetition, the cache, strategies.
    Lab(commands::lab::Args),
    /// Play with decoding in the terminal: step by step, with sliders, forwards and backwards.
    #[cfg(feature = "play")]
    Play(Box<commands::play::Args>),
    /// List what --set and --params accept, or explain one parameter.
    Params(commands::params::Args),
    /// Print a shell completion script.
    Completions(commands::completions::Args),
    /// Print the manual page of this program, or of a command, in roff.
    Man(commands::man::Args),
}

/// Builds the command line's parser. A value may start with a minus sign if that makes it a number, so that whoever
/// reads the number reports what is wrong with it.
fn command_line() -> clap::Command {
    fn with_negative_numbers(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        });
        command.mut_subcommands(with_negative_numbers)
    }
    with_negative_numbers(Cli::command())
}

fn main() -> ExitCode {
    if let Some(args) = commands::tables::requested() {
        return commands::tables::start(args).unwrap_or_else(|failure| failure.report());
    }
    let parsed = arguments::parse(|| command_line().color(ColorArg::of_arguments()));
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return arguments::report(&error),
    };
    if let Err(error) = cli.output.open() {
        return Failure::from(error).report();
    }
    let result = run(cli.command);
    if interrupt::happened() {
        output::discard();
        return interrupt::outcome();
    }
    let result = result.and_then(|code| {
        output::commit()?;
        Ok(code)
    });
    match result {
        Ok(code) => code,
        Err(failure) => {
            output::discard();
            failure.report()
        }
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Extract(args) => commands::extract::run(&args),
        Command::Generate(args) => commands::generate::run(&args),
        Command::Choose(args) => commands::choose::run(&args),
        Command::Compile(args) => commands::compile::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Mask(args) => commands::mask::run(&args),
        Command::Grammar(args) => commands::grammar::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(&args),
        Command::Sql(args) => commands::tables::sql(&args),
        Command::Cluster(args) => commands::tables::cluster(&args),
        Command::Runtime(args) => commands::runtime::run(&args),
        Command::Model(args) => commands::model::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Lab(args) => commands::lab::run(&args),
        #[cfg(feature = "play")]
        Command::Play(args) => commands::play::run(&args),
        Command::Params(args) => commands::params::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    }
}

/// The outcome of a command.
type Outcome = Result<ExitCode, Failure>;
