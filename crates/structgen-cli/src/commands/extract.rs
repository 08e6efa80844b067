//! `structgen extract`: JSON that fits a schema, from a text.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use anyhow::anyhow;
use serde::de::IgnoredAny;
use serde_json::Value;
use structgen::grammar::Whitespace;
use structgen::{Error, Extraction, LongText, SchemaExtractor, Source, Strategy};

use super::extract_jsonl;
use super::generate::failure;
use crate::Outcome;
use crate::args::{ModelArgs, read_schema};
use crate::error::DONE;
use crate::input::TextArgs;
use crate::output::{tell, write_line};
use crate::results::ResultArgs;
use crate::settings::{Settings, SettingsArgs};

/// Options of `structgen extract`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Standard output has one JSON document and nothing else; several outputs (-n) are one on each line. With --jsonl it has one \
    line for each line of the input, in order: the document, {\"id\":…,\"value\":…} where the line has an id, or {\"error\":…,\"line\":…}.\n\n\
    Exit codes: 0 done, 1 an output was cut before it was complete, 2 bad input."
)]
pub(crate) struct Args {
    /// The JSON Schema
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    text: TextArgs,
    /// Read many texts: a line is a text, or an object {"text":…} that may have an "id"
    #[arg(long, conflicts_with_all = ["outputs", "events"])]
    jsonl: bool,
    /// How many texts run side by side, each in a session of the model with weights of its own. The default is the number of cores, and 1
    /// for --model, where one session runs texts side by side
    #[arg(long, value_name = "N", requires = "jsonl")]
    jobs: Option<NonZeroUsize>,
    /// Append the lines to a file, going on after those that it has. Line n of the file is that of line n of the input, errors included; an id
    /// that both have must be the same
    #[arg(long, value_name = "OUT", requires = "jsonl")]
    resume: Option<PathBuf>,
    /// A text that is longer than the model's context is an error. Without this it is read in overlapping windows, whose answers become
    /// one by how probable they are
    #[arg(long)]
    refuse_long: bool,
    /// Strings and numbers come from the text: spans of it, and numbers, dates, times and addresses however the text writes them. What the
    /// text has no value for and must be there is written freely, with a note on standard error
    #[arg(long)]
    grounded: bool,
    /// Print the output as JSON: {"text", "sources", "ungrounded"}, where a source reports where in the text a value is, in bytes and
    /// characters
    #[arg(long, requires = "grounded", conflicts_with_all = ["events", "outputs"])]
    spans: bool,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    model: ModelArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    // What is cheap to check comes first: nobody waits for a model to hear that a file is missing.
    let mut settings = args.settings.settings()?;
    args.results.ask(&mut settings.options);
    settings.check()?;
    let mut schema_options = settings.schema.options(None)?;
    if args.model.model.is_none() {
        // The form that the embedded model was trained to write.
        schema_options.whitespace.get_or_insert(Whitespace::Compact);
    }
    if args.grounded {
        schema_options = schema_options.with_source(Source::Input);
    }
    let (schema, constraint) =
        read_schema(&args.schema, settings.schema.at.as_deref(), &schema_options)?;
    let extractor = |workers| -> anyhow::Result<SchemaExtractor> {
        let model = settings.load(&args.model, workers)?;
        let strategy = settings.strategy(&model)?;
        let options = settings.options.clone();
        let extractor = SchemaExtractor::with_constraint(model, schema, &constraint, options)?;
        settings.report_seed(Some(extractor.compiled()));
        let long_text = match args.refuse_long {
            true => LongText::Refuse,
            false => LongText::Windows,
        };
        Ok(extractor.with_strategy(strategy).with_long_text(long_text))
    };
    if args.jsonl {
        if settings.options.sequences != 1 || matches!(settings.strategy, Strategy::Smc(_)) {
            return Err(anyhow!(
                "--jsonl writes one output for each text, and several are asked for, by sequences or the strategy {}",
                settings.strategy.name()
            )
            .into());
        }
        let lines = args.text.open_lines()?;
        let output = extract_jsonl::Output::open(args.resume.as_deref())?;
        let extractor = extractor(args.workers())?;
        return extract_jsonl::run(&extractor, &args.results, args.spans, lines, output);
    }
    let text = args.text.read()?;
    let extractor = extractor(NonZeroUsize::MIN)?;
    args.one(&settings, &extractor, &text)
}

impl Args {
    /// The sessions that run side by side.
    fn workers(&self) -> NonZeroUsize {
        let default = match self.model.model {
            // Several copies of larger weights may not fit into memory.
            Some(_) => NonZeroUsize::MIN,
            None => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        self.jobs.unwrap_or(default)
    }

    /// Extracts from one text.
    fn one(&self, settings: &Settings, extractor: &SchemaExtractor, text: &str) -> Outcome {
        let model = extractor.model();
        if self.results.events {
            let outputs = self.results.print_events(model, extractor.request(text)?)?;
            outputs.all().map_err(|error| failure(error.into()))?;
            return Ok(DONE);
        }
        if settings.lists_outputs() {
            return self.list(extractor, text);
        }
        let found: Extraction<IgnoredAny> = extractor.submit(text)?.wait().map_err(failure)?;
        for pointer in &found.ungrounded {
            tell(&format!("note: the text has no value for {pointer}"));
        }
        let line = match self.spans || self.results.is_whole() {
            true => Value::from(self.results.extraction(&found, model, self.spans)?).to_string(),
            false => found.json,
        };
        write_line(&line)?;
        Ok(DONE)
    }

    /// Prints each of several outputs on a line; the command fails like the first that failed.
    fn list(&self, extractor: &SchemaExtractor, text: &str) -> Outcome {
        let model = extractor.model();
        let outputs = model.submit(extractor.request(text)?)?.wait();
        let mut outcome = Ok(DONE);
        for output in outputs.map_err(Error::from)?.outputs {
            match output {
                Ok(output) if self.results.is_whole() => {
                    write_line(&Value::from(self.results.object(&output, model)?).to_string())?;
                }
                Ok(output) => write_line(&output.generation.text)?,
                Err(error) => {
                    let failure = failure(error.into());
                    let line = serde_json::json!({"error": failure.to_string()});
                    write_line(&line.to_string())?;
                    outcome = outcome.and(Err(failure));
                }
            }
        }
        outcome
    }
}
