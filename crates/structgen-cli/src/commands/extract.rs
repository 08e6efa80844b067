//! `structgen extract`: JSON that fits a schema, from a text.

use std::path::PathBuf;

use structgen::decode::GenerateError;
use structgen::grammar::Whitespace;
use structgen::{Error, GenerateOptions, SchemaExtractor};

use crate::Outcome;
use crate::args::{ModelArgs, SamplingArgs, read_schema};
use crate::error::{DONE, Failure};
use crate::input::TextArgs;
use crate::output::write_line;
use crate::schema_args::SchemaArgs;

/// Options of `structgen extract`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Standard output has one JSON document and nothing else. With --jsonl it has one line for each line \
    of the input, in order: the document, or {\"error\":…,\"line\":…}.\n\n\
    Exit codes: 0 done, 1 an output was cut before it was complete, 2 bad input."
)]
pub(crate) struct Args {
    /// The JSON Schema
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// Read many texts: a line is a text, or an object {"text":…}
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// The most tokens of an output
    #[arg(long, value_name = "N")]
    pub(crate) max_new_tokens: Option<usize>,
    #[command(flatten)]
    pub(crate) options: SchemaArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    // What is cheap to check comes first: nobody waits for a model to hear that a file is missing.
    let mut schema_options = args.options.options(None)?;
    if args.model.model.is_none() {
        // The form that the embedded model was trained to write.
        schema_options.whitespace.get_or_insert(Whitespace::Compact);
    }
    let (schema, constraint) =
        read_schema(&args.schema, args.options.at.as_deref(), &schema_options)?;
    let options = GenerateOptions {
        sampling: args.sampling.params()?,
        max_new_tokens: args.max_new_tokens,
        ..GenerateOptions::default()
    };
    if args.jsonl {
        let lines = args.text.open_lines()?;
        let extractor =
            SchemaExtractor::with_constraint(args.model.load()?, schema, &constraint, options)?;
        return super::extract_jsonl::run(extractor, lines);
    }
    let text = args.text.read()?;
    let mut extractor =
        SchemaExtractor::with_constraint(args.model.load()?, schema, &constraint, options)?;
    let extraction = extractor.extract(&text).map_err(failure)?;
    write_line(&extraction.json)?;
    Ok(DONE)
}

/// An output that was cut is no bad input.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Generate(GenerateError::Incomplete(_)) => Failure::incomplete(error),
        _ => error.into(),
    }
}
