//! `structgen grammar`: prints, samples, counts, compares and converts grammars.

use std::path::Path;

use anyhow::{Context, anyhow};
use structgen::algebra::{
    AlgebraError, AlgebraLimits, Plain, Sampler, Side, ascii_only, at_most, count, difference,
    intersect, is_empty, only_in, plain, shortest, to_gbnf, without,
};
use structgen::frontend::regex::{self, RegexOptions};
use structgen::grammar::{Grammar, Regular, passes};
use structgen::{CancelToken, Constraint, Profile};

use crate::Outcome;
use crate::args::{TimeoutArgs, read_grammar, read_schema, whole};
use crate::error::{DONE, does_not_fit};
use crate::input::{is_inline_json, is_json_or_yaml};
use crate::output::{warn, write, write_line};
use crate::schema_args::SchemaArgs;

/// Options of `structgen grammar`.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "A SOURCE is a file: a JSON Schema where its name ends in .json, .yaml or .yml, GBNF otherwise (- for GBNF on standard input); a schema or a \
    grammar itself; or regex:PATTERN, a regular expression in the syntax of the Rust crate regex for the whole text. Schemas are taken as for generating, unless --profile says otherwise.\n\n\
    Exit codes: 0 done, 1 the answer is no (empty: no text matches; compare: the texts differ), 2 bad input, or a limit does not suffice."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    timeout: TimeoutArgs,
}

/// How much work an analysis may take.
#[derive(clap::Args, Debug)]
struct StatesArgs {
    /// Maximum number of states to visit before giving up; work and memory are limited in proportion
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole::<usize>)]
    max_states: usize,
}

/// Where to read a grammar from.
#[derive(clap::Args, Debug)]
struct Source {
    /// Grammar or schema file, or regex:PATTERN
    source: String,
    #[command(flatten)]
    options: SchemaArgs,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Print the grammar compiled from a source
    Print {
        #[command(flatten)]
        source: Source,
        /// Print it after the passes: rules that derive nothing are removed, and parts that need no stack become
        /// regular terminals
        #[arg(long)]
        passes: bool,
    },
    /// Convert a source to GBNF; fails on what needs a memory, such as keys in any order
    ToGbnf {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        states: StatesArgs,
    },
    /// Print a shortest matching text
    Shortest {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        states: StatesArgs,
    },
    /// Print random matching texts
    Sample {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        states: StatesArgs,
        /// Number of texts
        #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>)]
        number: u32,
        /// Seed; the same seed gives the same texts
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>)]
        seed: u64,
        /// Approximate maximum number of bytes per text
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u64>)]
        max_bytes: u64,
        /// Print each text as a JSON string, one per line
        #[arg(long)]
        json: bool,
    },
    /// Report whether no text matches
    Empty {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        states: StatesArgs,
    },
    /// Print how many texts match: a number, or infinite
    Count {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        states: StatesArgs,
    },
    /// Report whether two sources match the same texts, and if not, print a text that only one of them matches
    Compare {
        /// Grammar or schema file, or regex:PATTERN
        first: String,
        /// Grammar or schema file, or regex:PATTERN
        second: String,
        #[command(flatten)]
        options: SchemaArgs,
        #[command(flatten)]
        states: StatesArgs,
        /// Only check whether the second source matches every text that the first does
        #[arg(long)]
        within: bool,
    },
    /// Intersect a source with regular sets, and print the result in GBNF
    Intersect(IntersectArgs),
    /// Convert a grammar in another notation to GBNF
    Convert(super::convert::Args),
}

#[derive(clap::Args, Debug)]
#[command(group(clap::ArgGroup::new("sets").required(true).multiple(true)))]
struct IntersectArgs {
    #[command(flatten)]
    source: Source,
    /// Keep texts that match this regular expression from beginning to end
    #[arg(
        long,
        value_name = "PATTERN",
        group = "sets",
        allow_hyphen_values = true
    )]
    regex: Vec<String>,
    /// Keep texts that do not contain this string; may be repeated
    #[arg(long, value_name = "WORD", group = "sets", allow_hyphen_values = true)]
    without: Vec<String>,
    /// Keep texts of ASCII characters
    #[arg(long, group = "sets")]
    ascii: bool,
    /// Keep texts of at most this many characters
    #[arg(long, value_name = "N", group = "sets", value_parser = whole::<u32>)]
    max_characters: Option<u32>,
    #[command(flatten)]
    states: StatesArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match answer(args) {
        // That no text matches is an answer, even if compiling the schema is what finds it.
        Err(failure) if failure.is_unsatisfiable() => match args.command {
            Command::Count { .. } => {
                write_line("0")?;
                Ok(DONE)
            }
            Command::Shortest { .. }
            | Command::Sample { .. }
            | Command::Empty { .. }
            | Command::Intersect(_) => none_fits(),
            _ => Err(failure),
        },
        other => other,
    }
}

fn answer(args: &Args) -> Outcome {
    let token = args.timeout.token();
    let limits = |states: &StatesArgs| AlgebraLimits {
        cancel: token.clone(),
        ..AlgebraLimits::for_states(states.max_states)
    };
    let read_from =
        |source: &str, options: &SchemaArgs| read_source(source, options, token.as_ref());
    let read = |source: &Source| read_from(&source.source, &source.options);
    match &args.command {
        Command::Print { source, passes } => {
            let grammar = read(source)?;
            let grammar = if *passes {
                passes::run(grammar).0
            } else {
                grammar
            };
            write(&grammar.to_string())?;
        }
        Command::ToGbnf { source, states } => {
            let limits = limits(states);
            let made = plain(&read(source)?, &limits);
            write_gbnf(
                &made.with_context(|| cannot("written in GBNF", source))?,
                &limits,
            )?;
        }
        Command::Shortest { source, states } => match shortest(&read(source)?, &limits(states))? {
            Some(found) => {
                if !found.is_proven {
                    warn("there may be a shorter text; --max-states searches longer");
                }
                write_line(&String::from_utf8_lossy(&found.text))?;
            }
            None => return none_fits(),
        },
        Command::Sample {
            source,
            states,
            number,
            seed,
            max_bytes,
            json,
        } => {
            let mut sampler = match Sampler::new(&read(source)?, *seed, &limits(states)) {
                Err(AlgebraError::Empty) => return none_fits(),
                other => other?,
            };
            for _ in 0..*number {
                let text = sampler.sample(*max_bytes)?;
                let text = String::from_utf8_lossy(&text);
                match json {
                    true => write_line(&serde_json::to_string(&text)?)?,
                    false => write_line(&text)?,
                }
            }
        }
        Command::Empty { source, states } => {
            if is_empty(&read(source)?, &limits(states))? {
                return none_fits();
            }
            write_line("some text matches")?;
        }
        Command::Count { source, states } => {
            write_line(&count(&read(source)?, &limits(states))?.to_string())?;
        }
        Command::Compare {
            first,
            second,
            options,
            states,
            within,
        } => {
            let limits = limits(states);
            let one = read_from(first, options)?;
            let other = read_from(second, options)?;
            let found = match within {
                true => only_in(&one, &other, &limits)?.map(|text| (text, first)),
                false => difference(&one, &other, &limits)?.map(|witness| match witness.fits {
                    Side::First => (witness.text, first),
                    Side::Second => (witness.text, second),
                }),
            };
            if let Some((text, fits)) = found {
                let text = serde_json::to_string(&String::from_utf8_lossy(&text))?;
                write_line(&format!("only in {fits}: {text}"))?;
                return Ok(does_not_fit());
            }
            write_line(match within {
                true => "all texts of the first fit the second",
                false => "the texts are the same",
            })?;
        }
        Command::Convert(args) => return super::convert::run(args, token),
        Command::Intersect(args) => {
            let limits = limits(&args.states);
            let made = intersect(&read(&args.source)?, &args.set()?, &limits);
            match made {
                Err(AlgebraError::Empty) => return none_fits(),
                other => write_gbnf(
                    &other.with_context(|| cannot("intersected", &args.source))?,
                    &limits,
                )?,
            }
        }
    }
    Ok(DONE)
}

impl IntersectArgs {
    /// Returns the intersection of all options.
    fn set(&self) -> anyhow::Result<Regular> {
        let mut sets = Vec::new();
        for pattern in &self.regex {
            let set = regex::parse(pattern, RegexOptions::rust());
            sets.push(set.map_err(|error| {
                anyhow!("the regular expression {pattern:?} cannot be used: {error}")
            })?);
        }
        if !self.without.is_empty() {
            sets.push(without(&self.without));
        }
        if self.ascii {
            sets.push(ascii_only());
        }
        sets.extend(self.max_characters.map(at_most));
        Ok(Regular::Intersection(sets.into()))
    }
}

/// Reads the grammar of a source.
fn read_source(
    source: &str,
    options: &SchemaArgs,
    cancel: Option<&CancelToken>,
) -> anyhow::Result<Grammar> {
    let path = Path::new(source);
    let is_schema = is_inline_json(source) || is_json_or_yaml(path);
    let constraint = if let Some(pattern) = source.strip_prefix("regex:") {
        Constraint::regex(pattern).map_err(|error| {
            anyhow!("the regular expression {pattern:?} cannot be used: {error}")
        })?
    } else if is_schema {
        let at = options.at.as_deref();
        let mut options = options.options(Some(Profile::Generate))?;
        options.cancel = cancel.cloned();
        read_schema(path, at, &options)?.1
    } else {
        read_grammar(path, cancel)?
    };
    Ok(constraint.grammar().clone())
}

fn write_gbnf(made: &Plain, limits: &AlgebraLimits) -> anyhow::Result<()> {
    write(&to_gbnf(&made.grammar, limits)?)?;
    if let Some(depth) = made.deeper_than {
        warn(&format!(
            "the schema's JSON nests {depth} levels deep at most, and the grammar does not count them"
        ));
    }
    Ok(())
}

fn cannot(what: &str, source: &Source) -> String {
    format!("{} cannot be {what}", source.source)
}

fn none_fits() -> Outcome {
    write_line("no text matches")?;
    Ok(does_not_fit())
}
