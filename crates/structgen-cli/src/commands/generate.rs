//! `structgen generate`: streams text after a prompt, free or constrained.

mod remote;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{anyhow, bail};
use serde_json::{Value, json};
use structgen::decode::request::{ContextOverflow, Report};
use structgen::decode::{FinishReason, GenerateError, Generation, Output, Run};
use structgen::tools::{Message, ToolGrammar};
use structgen::vocab::Vocabulary;
use structgen::{Constraint, Error, Model, Request, Strategy};
use structgen_lab::advise::{Observed, Symptom};
use structgen_lab::heldout::Score;

use crate::Outcome;
use crate::args::{ModelArgs, SchemaFile, read_grammar, read_schema};
use crate::chat_args::{ChatArgs, Prompt};
use crate::error::{DONE, Failure};
use crate::extraction::note_ungrounded;
use crate::input::{TextArgs, read_text_file};
use crate::interrupt;
use crate::output::{note, write, write_line};
use crate::results::{ResultArgs, report_stats};
use crate::schema_args::ShortSchemaArgs;
use crate::settings::{Settings, SettingsArgs};
use crate::tool_args::{ToolArgs, ToolsFile, read_structural_tag};

/// Options of `structgen generate`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Text is printed as it comes. Several outputs (-n, --strategy beam) are a line of JSON each, with score, log_prob and weight \
    where the strategy has them.\n\nExit codes: 0 done, which includes free text that ends at --max-tokens; 1 a constrained output was cut before it was \
    complete, as by --stop; 2 bad input, which includes a --max-tokens within which no output can be complete."
)]
pub(crate) struct Args {
    #[command(flatten)]
    prompt: TextArgs,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    constraint: ConstraintArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    results: ResultArgs,
    /// Print token counts and speed to standard error
    #[arg(long, help_heading = "Results")]
    stats: bool,
    #[command(flatten)]
    model: ModelArgs,
    /// Use a server, such as `structgen serve`, instead of a local model. --model then names one of the server's models
    #[arg(
        long,
        value_name = "URL",
        help_heading = "Model",
        conflicts_with_all = [
            "variant", "device", "threads", "single_tokens", "no_reader", "events", "confidence", "details", "documents",
            "chat_template", "tool_format"
        ]
    )]
    server: Option<String>,
    /// API key for the server [default: STRUCTGEN_API_KEY, if set]
    #[arg(long, value_name = "KEY", requires = "server", help_heading = "Model")]
    api_key: Option<String>,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Constraint")]
struct ConstraintArgs {
    /// Generate any JSON value
    #[arg(long, group = "constraint_kind")]
    json: bool,
    /// Generate JSON that matches a schema: a JSON or YAML file, - for standard input, or the schema itself. With the
    /// embedded model this works as extract does: the prompt, or the last message of a user, is the text, and the
    /// values come from it
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    json_schema: Option<PathBuf>,
    /// Generate text that matches a regular expression
    #[arg(
        long,
        value_name = "PATTERN",
        group = "constraint_kind",
        allow_hyphen_values = true
    )]
    regex: Option<String>,
    /// Generate text that matches a GBNF grammar: a file, - for standard input, or the grammar itself
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    grammar: Option<PathBuf>,
    /// Generate one of the given texts; may be repeated
    #[arg(
        long,
        value_name = "TEXT",
        group = "constraint_kind",
        allow_hyphen_values = true
    )]
    choice: Vec<String>,
    /// Generate text or tool calls: a JSON array of {"name", "description", "parameters"}, or tools in the form of
    /// OpenAI's API. Prints the output as JSON: {"text", "reasoning", "calls"}
    #[arg(
        long,
        value_name = "FILE",
        group = "constraint_kind",
        conflicts_with_all = ["outputs", "events", "confidence", "details"]
    )]
    tools: Option<PathBuf>,
    /// Generate text that is free in some places and constrained in others: an XGrammar structural tag
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    structural_tag: Option<PathBuf>,
    #[command(flatten)]
    calls: ToolArgs,
    #[command(flatten)]
    schema_options: ShortSchemaArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut settings = args.settings.settings()?;
    args.constraint.schema_options.apply(&mut settings.schema);
    if let Some(url) = &args.server {
        return args.run_on(url, &settings);
    }
    let file = args.constraint.tools_file()?;
    let tools = { file.as_ref() }
        .map(|file| args.constraint.tool_grammar(file, &settings))
        .transpose()?;
    let (schema, constraint) = match &tools {
        Some(tools) => (None, Some(Constraint::tools(tools))),
        None => args.constraint.read(&settings)?,
    };
    args.results.check(constraint.as_ref(), tools.is_some())?;
    args.results.ask(&mut settings.options);
    // At temperatures above 1, samples may be nonsense, which the probabilities reveal.
    let is_hot = settings.options.sampling.temperature > 1.0;
    settings.options.log_probs |= is_hot && matches!(settings.strategy, Strategy::Sample);
    settings.check()?;
    let lists_outputs = settings.lists_outputs();
    if lists_outputs && args.results.pretty {
        bail_of_one(&settings, "--pretty")?;
    }
    if lists_outputs && (args.results.events || tools.is_some()) {
        let what = if tools.is_some() {
            "--tools"
        } else {
            "--events"
        };
        bail_of_one(&settings, what)?;
    }
    let extracts = args.constraint.json_schema.is_some() && args.model.model.is_none();
    if let (true, Some(flag)) = (extracts, args.chat.for_template()) {
        let error = "is for a chat template, and with --json-schema the embedded model extracts values from the text, without a template: leave it out, or name a model with --model";
        return Err(anyhow!("{flag} {error}").into());
    }
    let prompt = args.chat.read(&args.prompt, file.as_ref())?;
    let model = settings.load(&args.model, NonZeroUsize::MIN)?;
    // The embedded model handles texts with schemas only, no other prompts.
    let extractor = match (schema, &constraint) {
        (Some(schema), Some(constraint)) if model.is_embedded() => {
            let options = settings.schema.options(None)?;
            let extractor =
                schema.extractor(model.clone(), &options, constraint, &settings.options)?;
            // The samplers of its requests depend on the strategy.
            Some(extractor.with_strategy(settings.strategy(&model)?))
        }
        _ => None,
    };
    if let Prompt::Text(text) = &prompt
        && settings.options.overflow == ContextOverflow::Error
    {
        model.check_length(text)?;
    }
    let request = match &extractor {
        Some(extractor) => {
            let (request, ungrounded) = extractor.request_with_ungrounded(&prompt.text()?)?;
            note_ungrounded(&ungrounded);
            request
        }
        None => {
            let compiled = constraint
                .map(|constraint| model.compile(&constraint))
                .transpose()?;
            let prompt = prompt.encode(&model)?;
            let options = settings.options_after(&prompt, &model);
            Request::new(prompt, compiled).with_options(options)
        }
    };
    settings.report_seed(request.constraint.as_ref());
    let request = request.with_strategy(settings.strategy(&model)?);
    let is_free = request.constraint.is_none();
    if lists_outputs {
        return args.list(&model, request);
    }
    // Events are about the text as the model writes it.
    let extractor = extractor.filter(|_| !args.results.events);
    let formatted = |text: &str| extractor.as_ref()?.formatted(text);
    let is_whole = tools.is_some()
        || args.results.is_whole()
        || args.results.pretty
        || formatted("").is_some();
    let outputs = if args.results.events {
        args.results.print_events(&model, request)?
    } else if is_whole {
        model.submit(request)?.wait().map_err(Error::from)?
    } else {
        let outputs = print_text(model.submit(request.with_events())?)?;
        outputs.map_err(|error| failure(error.into()))?
    };
    let report = outputs.report.clone();
    if interrupt::happened() && (args.results.is_whole() || tools.is_some()) {
        // The output may be incomplete.
        return Ok(DONE);
    }
    let outputs = outputs.all().map_err(|error| failure(error.into()))?;
    for output in &outputs {
        if let Some(tools) = &tools {
            let message = parse(tools, &output.generation, model.tokenizer().vocabulary())?;
            write_line(&args.results.shown(&message.to_json().to_string()))?;
        } else if args.results.is_whole() {
            let object = Value::from(args.results.object(output, &model)?);
            write_line(&args.results.shown(&object.to_string()))?;
        } else if args.results.pretty {
            write_line(&args.results.shown(&output.generation.text))?;
        } else if let Some(text) = formatted(&output.generation.text) {
            write_line(&text)?;
        }
    }
    let free = is_free.then(|| &**model.tokenizer().vocabulary());
    args.report(&outputs, &report, free);
    Ok(DONE)
}

/// Returns an error about a flag that works with a single output only.
fn bail_of_one(settings: &Settings, what: &str) -> anyhow::Result<()> {
    bail!(
        "{what} is for one output, and several are asked for, by -n, --set sequences or the strategy {}",
        settings.strategy.name()
    )
}

/// Prints the text as it is generated. The inner error is the request's own.
fn print_text(mut run: Run) -> std::io::Result<Result<structgen::decode::Outputs, GenerateError>> {
    let mut has_begun = false;
    // If nobody reads the output, dropping the run cancels the request.
    for event in run.by_ref() {
        write(&event.text)?;
        has_begun = true;
    }
    let outputs = run.wait();
    let is_complete =
        { outputs.as_ref() }.is_ok_and(|outputs| outputs.outputs.iter().all(Result::is_ok));
    // End with a line break whatever happened, so that the shell's prompt starts on a new line.
    if has_begun || is_complete {
        write("\n")?;
    }
    Ok(outputs)
}

/// Maps errors to exit codes: a cut output is not bad input.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Generate(GenerateError::Incomplete(_)) => Failure::incomplete(error),
        _ => error.into(),
    }
}

impl Args {
    /// Prints several outputs, one per line; the command fails with the first error among them.
    fn list(&self, model: &Model, request: Request) -> Outcome {
        let is_free = request.constraint.is_none();
        let outputs = model.submit(request)?.wait().map_err(Error::from)?;
        let mut outcome = Ok(DONE);
        let mut complete = Vec::new();
        for output in outputs.outputs {
            let line = match output {
                Ok(output) if output.generation.finish == FinishReason::Cancelled => continue,
                Err(_) if interrupt::happened() => continue,
                Ok(output) => {
                    let line = self.results.object(&output, model)?;
                    complete.push(output);
                    Value::from(line)
                }
                Err(error) => {
                    let failure = failure(error.into());
                    let line = json!({"error": failure.to_string()});
                    outcome = outcome.and(Err(failure));
                    line
                }
            };
            write_line(&line.to_string())?;
        }
        let free = is_free.then(|| &**model.tokenizer().vocabulary());
        self.report(&complete, &outputs.report, free);
        outcome
    }

    fn report(&self, outputs: &[Output], report: &Report, free: Option<&Vocabulary>) {
        if self.stats {
            report_stats(outputs, report);
        }
        let shown = outputs
            .iter()
            .flat_map(|output| symptoms(&output.generation, free));
        let shown: Vec<Symptom> = shown.collect();
        for symptom in Symptom::ALL
            .into_iter()
            .filter(|symptom| shown.contains(symptom))
        {
            note(&format!("advice: {}", symptom.advice()));
        }
    }
}

/// Returns the symptoms in an output that a parameter could fix. `free` is the vocabulary if the text is unconstrained:
/// constrained text is never cut off, and is improbable wherever the constraint demands it.
fn symptoms(output: &Generation, free: Option<&Vocabulary>) -> Vec<Symptom> {
    let tokens: Vec<_> = output.tokens.iter().map(|token| token.id).collect();
    let log_probs = output.tokens.iter().filter_map(|token| token.log_probs);
    let score = Score {
        log_probs: log_probs
            .map(|log_probs| f64::from(log_probs.model))
            .collect(),
    };
    let scored = free.filter(|_| !score.log_probs.is_empty());
    Symptom::of(&Observed {
        tokens: &tokens,
        is_cut_off: free.is_some() && output.finish == FinishReason::MaxTokens,
        surprise: scored.map(|vocabulary| (score.surprise(), vocabulary.len())),
        speed: None,
    })
}

/// Parses the output from its tokens: special tokens are part of calls, but not of text.
fn parse(
    tools: &ToolGrammar,
    generation: &Generation,
    vocabulary: &Vocabulary,
) -> anyhow::Result<Message> {
    let mut parser = tools.parser();
    let mut events = Vec::new();
    for token in &generation.tokens {
        parser.push_token(vocabulary, token.id, &mut events)?;
    }
    parser.finish(&mut events)?;
    Ok(Message::from_events(events))
}

impl ConstraintArgs {
    fn tools_file(&self) -> anyhow::Result<Option<ToolsFile>> {
        self.tools.as_deref().map(ToolsFile::read).transpose()
    }

    fn tool_grammar(&self, file: &ToolsFile, settings: &Settings) -> anyhow::Result<ToolGrammar> {
        self.calls.grammar(file, settings.schema.options(None)?)
    }

    /// Returns the constraint, and the schema if it comes from one.
    fn read(
        &self,
        settings: &Settings,
    ) -> anyhow::Result<(Option<SchemaFile>, Option<Constraint>)> {
        let options = settings.schema.options(None)?;
        if let Some(path) = &self.json_schema {
            let (schema, constraint) = read_schema(path, settings.schema.at.as_deref(), &options)?;
            return Ok((Some(schema), Some(constraint)));
        }
        let constraint = if self.json {
            Some(Constraint::any_json(&options)?)
        } else if let Some(pattern) = &self.regex {
            Some(settings.regex.read(pattern)?)
        } else if let Some(path) = &self.grammar {
            Some(read_grammar(path, None)?)
        } else if let Some(path) = &self.structural_tag {
            Some(read_structural_tag(path, &options)?)
        } else if let Some(path) = &settings.choices_file {
            let more = read_text_file(path)?;
            let choices = self.choice.iter().map(String::as_str);
            Some(Constraint::choices(choices.chain(more.lines()))?)
        } else if self.choice.is_empty() {
            None
        } else {
            Some(Constraint::choices(&self.choice)?)
        };
        Ok((None, constraint))
    }
}
