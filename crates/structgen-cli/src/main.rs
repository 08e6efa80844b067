//! The `structgen` command line.
//!
//! One file per command in `commands/`; what they share is beside it. Exit codes: 0 done, 1 the text does not match, 2 bad
//! input or usage, 130 interrupted. Standard output, or the file of `--output`, has results only, standard error everything
//! else.

mod args;
mod chat_args;
mod commands;
mod constraint_args;
mod error;
mod excerpt;
mod explaining;
mod extraction;
mod input;
mod interrupt;
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
    /// Explain why a text does not fit, or a token after a text: pointers, rules, what was expected, the nearest text that fits.
    Explain(Box<commands::explain::Args>),
    /// Show what may come after the beginning of a text: keys, rules and tokens.
    Mask(Box<commands::mask::Args>),
    /// Work something out of a grammar, a schema or a regular expression: texts, counts, comparisons, intersections, GBNF.
    Grammar(commands::grammar::Args),
    /// Serve models over HTTP, as OpenAI's API does.
    #[cfg(feature = "serve")]
    Serve(Box<commands::serve::Args>),
    /// Query tables with SQL whose functions run a model. The commands over tables are the program structgen-tables.
    Sql(commands::tables::SqlArgs),
    /// Run the scheduler or an executor of a cluster for sql --cluster. It is part of structgen-tables, where that is built with it.
    Cluster(commands::tables::ClusterArgs),
    /// Manage the ONNX Runtime library.
    Runtime(commands::runtime::Args),
    /// Name models on this machine, and show what one has and takes.
    Model(commands::model::Args),
    /// Check the runtime library, its devices, and a model.
    Doctor(commands::doctor::Args),
    /// Look at decoding: temperatures, one step, samplers, diversity, repetition, the cache, strategies.
    Lab(commands::lab::Args),
    /// Play with decoding in the terminal: step by step, with sliders, forwards and back.
    #[cfg(feature = "play")]
    Play(Box<commands::play::Args>),
    /// List what --set and --params take, or explain one parameter.
    Params(commands::params::Args),
    /// Print what completes this program's commands and flags in a shell.
    Completions(commands::completions::Args),
    /// Print the manual page of this program, or of a command, in roff.
    Man(commands::man::Args),
}

/// The parser of the command line. A value may begin with a minus sign where that makes a number: what is wrong with
/// the number is then told by who reads it.
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
    let matches = command_line().color(ColorArg::of_arguments()).get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
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

/// What a command comes to.
type Outcome = Result<ExitCode, Failure>;
