//! `structgen extract`: JSON that fits a schema, from a text.

mod remote;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use anyhow::anyhow;
use serde::de::IgnoredAny;
use serde_json::Value;
use structgen::decode::FinishReason;
use structgen::grammar::Whitespace;
use structgen::{Error, Extracting, Extraction, LongText, SchemaExtractor, Strategy};

use super::extract_jsonl::{self, Extracts};
use super::generate::failure;
use crate::Outcome;
use crate::args::{ModelArgs, at_least_one, read_schema};
use crate::error::DONE;
use crate::extraction::{ExtractionArgs, PassedOn};
use crate::input::TextArgs;
use crate::interrupt;
use crate::output::{detail, note, write_line};
use crate::schema_args::{ShortSchemaArgs, SourceArg};
use crate::settings::{Settings, SettingsArgs};

/// Options of `structgen extract`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Standard output has one JSON document and nothing else; several outputs (-n) are one on each line. With --jsonl it has one \
    line for each line of the input, in order: the document, {\"id\":…,\"value\":…} where the line has an id, or {\"error\":…,\"line\":…}.\n\n\
    With --spans, --confidence or --alternatives a document is {\"value\":…,\"fields\":[…]}, where a field has \"pointer\", \"value\" and what is asked \
    for: \"confidence\", \"probability\", \"spans\" with \"grounded\", \"alternatives\". With --details it has \"outputs\", what the model wrote: one, or \
    one for each window of a long text.\n\n\
    With --input, rows of Parquet, CSV or JSON Lines are read and written: structgen extract --input --help.\n\n\
    Exit codes: 0 done, 1 an output was cut before it was complete, 2 bad input."
)]
pub(crate) struct Args {
    /// The JSON Schema: a file with JSON or YAML, - for standard input, or the schema itself
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    text: TextArgs,
    /// Read many texts: a line is a text, or an object {"text":…} that may have an "id"
    #[arg(long, conflicts_with_all = ["outputs", "events", "pretty"])]
    jsonl: bool,
    /// How many texts run side by side, each in a session of the model with weights of its own. The default is the number of cores, and 1
    /// for --model, where one session runs texts side by side. With --server it is the number of requests at the same time, 8 by default
    #[arg(long, value_name = "N", requires = "jsonl", value_parser = at_least_one::<NonZeroUsize>)]
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
    /// text has no value for and must be there is written freely, with a note on standard error. This is the default of the
    /// embedded model
    #[arg(long, conflicts_with = "ungrounded")]
    grounded: bool,
    /// Strings and numbers may be any that the schema allows, whether or not the text has them. This is the default with --model
    #[arg(long)]
    ungrounded: bool,
    #[command(flatten)]
    schema_options: ShortSchemaArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    results: ExtractionArgs,
    #[command(flatten)]
    model: ModelArgs,
    /// Use a server, such as `structgen serve`, instead of a model here: its URL. --model is then the name of one of its models
    #[arg(
        long,
        value_name = "URL",
        help_heading = "Model",
        conflicts_with_all = [
            "variant", "device", "threads", "single_tokens", "small_first", "outputs", "events", "details"
        ]
    )]
    server: Option<String>,
    /// The server's key; without it, STRUCTGEN_API_KEY is taken where it is set
    #[arg(long, value_name = "KEY", requires = "server", help_heading = "Model")]
    api_key: Option<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    // What is cheap to check comes first: nobody waits for a model to hear that a file is missing.
    let mut settings = args.settings.settings()?;
    args.results.results.ask(&mut settings.options);
    settings.check()?;
    if let (Some(flag), true) = (args.results.of_one_output(), settings.lists_outputs()) {
        return Err(anyhow!(
            "{flag} is for one output, and several are asked for, by -n, --set sequences or the strategy {}",
            settings.strategy.name()
        )
        .into());
    }
    if args.results.results.pretty && settings.lists_outputs() {
        return Err(anyhow!("--pretty is for one output, and several are asked for").into());
    }
    args.schema_options.apply(&mut settings.schema);
    match (args.grounded, args.ungrounded) {
        (true, _) => settings.schema.source = Some(SourceArg::Input),
        (_, true) => settings.schema.source = Some(SourceArg::Model),
        _ => {}
    }
    let schema_options = settings.schema.options(None)?;
    let (schema, constraint) =
        read_schema(&args.schema, settings.schema.at.as_deref(), &schema_options)?;
    if let Some(url) = &args.server {
        return args.run_on(url, &settings, &schema);
    }
    if args.results.alternatives() > 0 || args.results.small_first {
        settings.keep_prefixes();
    }
    let extractor = |workers| -> anyhow::Result<SchemaExtractor> {
        let model = match args.results.small_first {
            true => settings.load(&args.model.embedded(), workers)?,
            false => settings.load(&args.model, workers)?,
        };
        let strategy = settings.strategy(&model)?;
        let mut extractor =
            schema.extractor(model, &schema_options, &constraint, &settings.options)?;
        if args.results.small_first {
            let settings = settings.without_strategy();
            let larger = settings.load(&args.model, NonZeroUsize::MIN)?;
            // Values are put into a document of the embedded model, which writes no whitespace.
            let options = schema_options.clone().with_whitespace(Whitespace::Compact);
            let constraint = schema.compile(&options)?;
            let larger = schema.extractor(larger, &options, &constraint, &settings.options)?;
            extractor = extractor.with_larger(larger, args.results.below);
        }
        settings.report_seed(Some(extractor.compiled()));
        let long_text = match args.refuse_long {
            true => LongText::Refuse,
            false => LongText::Windows,
        };
        Ok(extractor
            .with_strategy(strategy)
            .with_long_text(long_text)
            .with_alternatives(args.results.alternatives()))
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
        let mut local = Local {
            extractor,
            results: &args.results,
            passed_on: PassedOn::default(),
        };
        let outcome = extract_jsonl::run(&mut local, lines, output)?;
        if args.results.small_first {
            local.passed_on.report();
        }
        return Ok(outcome);
    }
    let text = args.text.read()?;
    let extractor = extractor(NonZeroUsize::MIN)?;
    args.one(&settings, &extractor, &text)
}

/// A model here, which extracts from the lines of `--jsonl`.
struct Local<'a> {
    extractor: SchemaExtractor,
    results: &'a ExtractionArgs,
    passed_on: PassedOn,
}

impl Extracts for Local<'_> {
    type Running = Extracting<IgnoredAny>;

    fn capacity(&self) -> usize {
        self.extractor.model().engine().capacity()
    }

    fn submit(&self, text: String) -> anyhow::Result<Self::Running> {
        Ok(self.extractor.submit(&text)?)
    }

    fn wait(&mut self, running: Self::Running, id: Option<&Value>) -> anyhow::Result<String> {
        let found = running.wait()?;
        self.passed_on.add(&found);
        self.results.print(&found, id, self.extractor.model())
    }

    fn may_be_cut(&self) -> bool {
        self.results.alternatives() > 0 || self.results.small_first
    }
}

impl Args {
    /// The sessions that run side by side.
    fn workers(&self) -> NonZeroUsize {
        let default = match self.model.model {
            // Several copies of larger weights may not fit into memory.
            Some(_) if !self.results.small_first => NonZeroUsize::MIN,
            _ => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        self.jobs.unwrap_or(default)
    }

    /// Extracts from one text.
    fn one(&self, settings: &Settings, extractor: &SchemaExtractor, text: &str) -> Outcome {
        let model = extractor.model();
        if self.results.results.events {
            let outputs = self
                .results
                .results
                .print_events(model, extractor.request(text)?)?;
            outputs.all().map_err(|error| failure(error.into()))?;
            return Ok(DONE);
        }
        if settings.lists_outputs() {
            return self.list(extractor, text);
        }
        let found: Extraction<IgnoredAny> = extractor.submit(text)?.wait().map_err(failure)?;
        if interrupt::happened() {
            // Other values of its fields may be missing.
            return Ok(DONE);
        }
        for pointer in &found.ungrounded {
            note(&format!("note: the text has no value for {pointer}"));
        }
        let document = self.results.print(&found, None, model)?;
        write_line(&self.results.results.shown(&document))?;
        detail(&format!(
            "{} tokens in {:.0} ms",
            found.tokens(),
            found.stats.total_time.as_secs_f64() * 1e3
        ));
        if self.results.small_first {
            let mut passed_on = PassedOn::default();
            passed_on.add(&found);
            passed_on.report();
        }
        Ok(DONE)
    }

    /// Prints each of several outputs on a line; the command fails like the first that failed.
    fn list(&self, extractor: &SchemaExtractor, text: &str) -> Outcome {
        let model = extractor.model();
        let outputs = model.submit(extractor.request(text)?)?.wait();
        let mut outcome = Ok(DONE);
        for output in outputs.map_err(Error::from)?.outputs {
            match output {
                Ok(output) if output.generation.finish == FinishReason::Cancelled => {}
                Err(_) if interrupt::happened() => {}
                Ok(output) if self.results.results.is_whole() => {
                    let object = self.results.results.object(&output, model)?;
                    write_line(&Value::from(object).to_string())?;
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
