//! `structgen extract`: extracts JSON that matches a schema from a text.

mod remote;

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use anyhow::{anyhow, bail};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use structgen::decode::FinishReason;
use structgen::grammar::Whitespace;
use structgen::{
    Constraint, Error, Extracting, Extraction, LongText, SchemaExtractor, SchemaOptions, Strategy,
    format_json,
};

use super::extract_jsonl::{self, Answer, Extracts};
use super::generate::failure;
use crate::Outcome;
use crate::args::{ModelArgs, SchemaFile, at_least_one, parallel, read_schema};
use crate::error::DONE;
use crate::extraction::{ExtractionArgs, PassedOn, note_ungrounded};
use crate::input::{TEXT_OR_LINES, TextArgs};
use crate::interrupt;
use crate::output::{self, detail, write_line};
use crate::schema_args::SourceArg;
use crate::settings::{Scope, Settings, SettingsArgs};

/// Options of `structgen extract`.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("text", |text| text.help(TEXT_OR_LINES)),
    after_help = "Standard output has one JSON document and nothing else; several outputs (-n) are one on each line. With --jsonl it has one \
    line for each line of the input, in order: the document, {\"id\":…,\"value\":…} where the line has an id, or {\"error\":…,\"line\":…}.\n\n\
    With --spans, --confidence or --alternatives a document is {\"value\":…,\"fields\":[…]}, where a field has \"pointer\", \"value\" and what is asked \
    for: \"confidence\", \"probability\", \"spans\" with \"grounded\", \"alternatives\". With --details it has \"outputs\", what the model wrote: one, or \
    one for each window of a long text.\n\n\
    With --input, rows of Parquet, CSV or JSON Lines are read and written: structgen extract --input --help.\n\n\
    Exit codes: 0 done, 1 an output was cut before it was complete, 2 bad input."
)]
pub(crate) struct Args {
    /// JSON Schema: a JSON or YAML file, - for standard input, or the schema itself
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    text: TextArgs,
    /// Read one text per line: plain text, or an object {"text":…} with an optional "id"
    #[arg(long, conflicts_with_all = ["outputs", "events", "pretty"])]
    jsonl: bool,
    /// Number of texts to process in parallel, each in its own model session with its own copy of the weights, which is
    /// opened when it is needed; at most 4 per core [default: the number of cores; 1 with --model, where one session
    /// batches texts; 8 with --server, where it is the number of concurrent requests, without a maximum]
    #[arg(long, value_name = "N", requires = "jsonl", value_parser = at_least_one::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    /// Append to a file, and skip the input lines that it already covers. Line n of the file belongs to line n of the
    /// input, errors included; ids that both have must agree. Cannot be used with --output
    #[arg(long, value_name = "OUT", requires = "jsonl")]
    resume: Option<PathBuf>,
    /// Try the lines of OUT again that are errors, in their places. OUT is replaced once all of them were tried; until
    /// then, progress is in OUT.retry, from which the same command continues
    #[arg(long, requires = "resume")]
    retry_errors: bool,
    /// Fail on a text that exceeds the model's context. By default it is read in overlapping windows, whose answers are
    /// merged by probability
    #[arg(long)]
    refuse_long: bool,
    /// Take strings and numbers from the text only: spans of it, and numbers, dates, times and addresses in any
    /// spelling that it uses. A required value that the text lacks is generated freely, with a note on standard error.
    /// Default for the embedded model
    #[arg(long, conflicts_with = "ungrounded")]
    grounded: bool,
    /// Allow any strings and numbers that the schema allows, whether or not they are in the text. Default with --model
    #[arg(long)]
    ungrounded: bool,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    results: ExtractionArgs,
    #[command(flatten)]
    model: ModelArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut settings = args.settings.settings()?;
    // Cheap checks come first: a missing file is reported before a model is loaded.
    args.check(&settings)?;
    args.results.results.ask(&mut settings.options);
    settings.check()?;
    match (args.grounded, args.ungrounded) {
        (true, _) => settings.schema.source = Some(SourceArg::Input),
        (_, true) => settings.schema.source = Some(SourceArg::Model),
        _ => {}
    }
    let options = settings.schema.options(None)?;
    let (file, constraint) = read_schema(&args.schema, settings.schema.at.as_deref(), &options)?;
    if let Some(url) = &args.model.server {
        return args.run_on(url, &settings, &file);
    }
    if args.results.alternatives() > 0 || args.results.small_first {
        settings.keep_prefixes();
    }
    let schema = Schema {
        file,
        options,
        constraint,
    };
    match args.jsonl {
        true => args.lines(&settings, &schema),
        false => {
            let text = args.text.read()?;
            let extractor = args.extractor(&settings, &schema, NonZeroUsize::MIN)?;
            args.one(&settings, &extractor, &text)
        }
    }
}

/// A schema, compiled with the user's options.
struct Schema {
    file: SchemaFile,
    options: SchemaOptions,
    constraint: Constraint,
}

/// Returns a document on one line, whatever whitespace the model wrote.
fn on_one_line(json: &str) -> Cow<'_, str> {
    match json.contains(['\n', '\r']) {
        true => format_json(json, Whitespace::Compact).into(),
        false => json.into(),
    }
}

/// A local model that extracts from the lines of `--jsonl`.
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

    fn wait(&mut self, running: Self::Running, id: Option<&RawValue>) -> anyhow::Result<Answer> {
        let found = running.wait()?;
        self.passed_on.add(&found);
        let document = self.results.print(&found, id, self.extractor.model())?;
        let ungrounded = found.ungrounded;
        Ok(Answer {
            document,
            ungrounded,
        })
    }

    fn may_be_cut(&self) -> bool {
        self.results.alternatives() > 0 || self.results.small_first
    }
}

impl Args {
    /// Checks what can be checked before anything is read.
    fn check(&self, settings: &Settings) -> anyhow::Result<()> {
        if self.resume.is_some() && output::is_file() {
            bail!("--resume writes to its own file: it cannot be used with --output");
        }
        if let Some(resume) = &self.resume
            && self.text.has_lines_of(resume)
        {
            let resume = resume.display();
            bail!("{resume} is the input, and --resume would append to it");
        }
        let scopes = [
            (Scope::Load, true),
            (Scope::Schema, true),
            (Scope::SchemaFile, true),
            (Scope::Details, self.results.results.details),
            (Scope::Folder, self.model.model.is_some()),
            (Scope::Server, self.model.server.is_some()),
        ];
        let scopes = scopes.into_iter().filter(|(_, is_given)| *is_given);
        let scopes: Vec<Scope> = scopes.map(|(scope, _)| scope).collect();
        settings.check_scopes("extract", &scopes)?;
        // Of a search, --jsonl writes the best output.
        let has_several = settings.options.sequences != 1;
        let has_several = has_several || matches!(settings.strategy, Strategy::Smc(_));
        let of_one = { self.results.of_one_output() }
            .or(self.results.results.pretty.then_some("--pretty"))
            .or(self.model.server.as_ref().map(|_| "--server"))
            .filter(|_| settings.lists_outputs())
            .or((self.jsonl && has_several).then_some("--jsonl"));
        if let Some(flag) = of_one {
            bail!(
                "{flag} is for one output, and several are asked for, by -n, --set sequences or the strategy {}",
                settings.strategy.name()
            );
        }
        Ok(())
    }

    /// Loads the model, and the larger one beside it.
    fn extractor(
        &self,
        settings: &Settings,
        schema: &Schema,
        workers: NonZeroUsize,
    ) -> anyhow::Result<SchemaExtractor> {
        let folder = self.model.model.as_deref();
        let model = match self.results.small_first {
            true => settings.for_embedded().load(None, workers)?,
            false => settings.load(folder, workers)?,
        };
        let strategy = settings.strategy(&model)?;
        let (file, options) = (&schema.file, &schema.options);
        let mut extractor =
            file.extractor(model, options, &schema.constraint, &settings.options)?;
        if self.results.small_first {
            let settings = settings.without_strategy();
            let larger = settings.load(folder, NonZeroUsize::MIN)?;
            // The values are parsed out of the embedded model's output, which has no whitespace.
            let options = options.clone().with_whitespace(Whitespace::Compact);
            let constraint = file.compile(&options)?;
            let larger = file.extractor(larger, &options, &constraint, &settings.options)?;
            extractor = extractor.with_larger(larger, self.results.below);
        }
        settings.report_seed(Some(extractor.compiled()));
        let long_text = match self.refuse_long {
            true => LongText::Refuse,
            false => LongText::Windows,
        };
        Ok(extractor
            .with_strategy(strategy)
            .with_long_text(long_text)
            .with_alternatives(self.results.alternatives()))
    }

    /// Extracts from each line of the input.
    fn lines(&self, settings: &Settings, schema: &Schema) -> Outcome {
        let lines = self.text.open_lines()?;
        let output = extract_jsonl::Output::open(self.resume.as_deref(), self.retry_errors)?;
        let mut local = Local {
            extractor: self.extractor(settings, schema, self.workers()?)?,
            results: &self.results,
            passed_on: PassedOn::default(),
        };
        let outcome = extract_jsonl::run(&mut local, lines, output)?;
        let sessions = local.extractor.model().engine().schedulers();
        detail(&format!("model sessions in use: {sessions}"));
        if self.results.small_first {
            local.passed_on.report();
        }
        Ok(outcome)
    }

    /// Returns the number of sessions to run in parallel.
    fn workers(&self) -> anyhow::Result<NonZeroUsize> {
        if let Some(jobs) = self.jobs {
            return parallel(jobs).map_err(|error| anyhow!("--jobs is {jobs}, and {error}"));
        }
        Ok(match self.model.model {
            // Several copies of a larger model's weights may not fit into memory.
            Some(_) if !self.results.small_first => NonZeroUsize::MIN,
            _ => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        })
    }

    /// Extracts from one text.
    fn one(&self, settings: &Settings, extractor: &SchemaExtractor, text: &str) -> Outcome {
        let model = extractor.model();
        if self.results.results.events {
            let (request, ungrounded) = extractor.request_with_ungrounded(text)?;
            note_ungrounded(&ungrounded);
            let outputs = self.results.results.print_events(model, request)?;
            outputs.all().map_err(|error| failure(error.into()))?;
            return Ok(DONE);
        }
        if settings.lists_outputs() {
            return self.list(extractor, text);
        }
        let found: Extraction<IgnoredAny> = extractor.submit(text)?.wait().map_err(failure)?;
        if interrupt::happened() {
            // The alternative values of its fields may be incomplete.
            return Ok(DONE);
        }
        note_ungrounded(&found.ungrounded);
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

    /// Prints several outputs, one per line; the command fails with the first error among them.
    fn list(&self, extractor: &SchemaExtractor, text: &str) -> Outcome {
        let model = extractor.model();
        let (request, ungrounded) = extractor.request_with_ungrounded(text)?;
        note_ungrounded(&ungrounded);
        let outputs = model.submit(request)?.wait();
        let mut outcome = Ok(DONE);
        for output in outputs.map_err(Error::from)?.outputs {
            match output {
                Ok(output) if output.generation.finish == FinishReason::Cancelled => {}
                Err(_) if interrupt::happened() => {}
                Ok(output) if self.results.results.is_whole() => {
                    let object = self.results.results.object(&output, model)?;
                    write_line(&Value::from(object).to_string())?;
                }
                Ok(output) => write_line(&on_one_line(&output.generation.text))?,
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
