//! `structgen generate`: text after a prompt, free or under a constraint, as it comes.

mod remote;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::bail;
use serde_json::{Value, json};
use structgen::decode::{FinishReason, GenerateError, Generation, Output, Run, request::Report};
use structgen::tools::{Message, ToolGrammar};
use structgen::vocab::Vocabulary;
use structgen::{Constraint, Error, Model, Request, Strategy};
use structgen_lab::advise::{Observed, Symptom};
use structgen_lab::heldout::Score;

use crate::Outcome;
use crate::args::{ModelArgs, SchemaFile, read_grammar, read_schema};
use crate::chat_args::{ChatArgs, Prompt};
use crate::error::{DONE, Failure};
use crate::input::{TextArgs, read_text_file};
use crate::interrupt;
use crate::output::{note, write, write_line};
use crate::results::{ResultArgs, report_stats};
use crate::schema_args::ShortSchemaArgs;
use crate::settings::{Settings, SettingsArgs};
use crate::tool_args::{ToolArgs, read_structural_tag};

/// Options of `structgen generate`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Text is printed as it comes. Several outputs (-n, --strategy beam) are a line of JSON each, with score, log_prob and weight \
    where the strategy has them.\n\nExit codes: 0 done, 1 the output was cut before it was complete, 2 bad input."
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
    /// Print the number of tokens and the speed to standard error
    #[arg(long, help_heading = "Results")]
    stats: bool,
    #[command(flatten)]
    model: ModelArgs,
    /// Use a server, such as `structgen serve`, instead of a model here: its URL. --model is then the name of one of its models
    #[arg(
        long,
        value_name = "URL",
        help_heading = "Model",
        conflicts_with_all = [
            "variant", "device", "threads", "single_tokens", "events", "confidence", "details", "documents",
            "chat_template", "tool_format"
        ]
    )]
    server: Option<String>,
    /// The server's key; without it, STRUCTGEN_API_KEY is taken where it is set
    #[arg(long, value_name = "KEY", requires = "server", help_heading = "Model")]
    api_key: Option<String>,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Constraint")]
struct ConstraintArgs {
    /// Any JSON value
    #[arg(long, group = "constraint_kind")]
    json: bool,
    /// JSON that fits a schema: a file with JSON or YAML, - for standard input, or the schema itself. The embedded model is asked as extract asks it: the prompt is the text, and values come from it
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    json_schema: Option<PathBuf>,
    /// Text that matches a regular expression
    #[arg(
        long,
        value_name = "PATTERN",
        group = "constraint_kind",
        allow_hyphen_values = true
    )]
    regex: Option<String>,
    /// Text of a grammar in GBNF: a file, - for standard input, or the grammar itself
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    grammar: Option<PathBuf>,
    /// One of these texts; may be repeated
    #[arg(
        long,
        value_name = "TEXT",
        group = "constraint_kind",
        allow_hyphen_values = true
    )]
    choice: Vec<String>,
    /// Text, or calls of tools: a JSON list of {"name", "description", "parameters"}, or as OpenAI's API takes them. What was written is
    /// printed as JSON: {"text", "reasoning", "calls"}
    #[arg(
        long,
        value_name = "FILE",
        group = "constraint_kind",
        conflicts_with_all = ["outputs", "events", "confidence", "details"]
    )]
    tools: Option<PathBuf>,
    /// Text that is free in some places and fixed in others: a structural tag as XGrammar has them
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
    let tools = args.constraint.read_tools(&settings)?;
    let (schema, constraint) = match &tools {
        Some(tools) => (None, Some(Constraint::tools(tools))),
        None => args.constraint.read(&settings)?,
    };
    args.results.check(constraint.as_ref(), tools.is_some())?;
    args.results.ask(&mut settings.options);
    // Above one, what is drawn may be nonsense, which shows in the probabilities.
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
    let prompt = args
        .chat
        .read(&args.prompt, args.constraint.tools.as_deref())?;
    let model = settings.load(&args.model, NonZeroUsize::MIN)?;
    // The embedded model knows texts and schemas, and no other prompts.
    let extractor = match (schema, &constraint) {
        (Some(schema), Some(constraint)) if model.is_embedded() && !args.chat.is_used() => {
            let options = settings.schema.options(None)?;
            let extractor =
                schema.extractor(model.clone(), &options, constraint, &settings.options)?;
            // Which samplers its requests have depends on the strategy.
            Some(extractor.with_strategy(settings.strategy(&model)?))
        }
        _ => None,
    };
    let request = match (&extractor, &prompt) {
        (Some(extractor), Prompt::Text(text)) => extractor.request(text)?,
        _ => {
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
    // Events are of the text as the model writes it.
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
        // It is not known to be complete.
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

/// An error for what is of one output, where there are several.
fn bail_of_one(settings: &Settings, what: &str) -> anyhow::Result<()> {
    bail!(
        "{what} is for one output, and several are asked for, by -n, --set sequences or the strategy {}",
        settings.strategy.name()
    )
}

/// Prints the text as it comes. The inner error is the request's own.
fn print_text(mut run: Run) -> std::io::Result<Result<structgen::decode::Outputs, GenerateError>> {
    let mut has_begun = false;
    // Dropping the run, where nobody reads what is written, cancels the request.
    for event in run.by_ref() {
        write(&event.text)?;
        has_begun = true;
    }
    let outputs = run.wait();
    let is_complete =
        { outputs.as_ref() }.is_ok_and(|outputs| outputs.outputs.iter().all(Result::is_ok));
    // The shell's next line begins on a line of its own, whatever came of the output.
    if has_begun || is_complete {
        write("\n")?;
    }
    Ok(outputs)
}

/// An output that was cut is no bad input.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Generate(GenerateError::Incomplete(_)) => Failure::incomplete(error),
        _ => error.into(),
    }
}

impl Args {
    /// Prints each of several outputs on a line; the command fails like the first that failed.
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

/// What an output shows that a parameter would change. Of free text the vocabulary is given: what is written under a
/// constraint is never cut off, and improbable where the constraint wants it.
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

/// What was written, from its tokens: special ones are part of calls and of no text.
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
    fn read_tools(&self, settings: &Settings) -> anyhow::Result<Option<ToolGrammar>> {
        let Some(path) = &self.tools else {
            return Ok(None);
        };
        Ok(Some(self.calls.read(path, settings.schema.options(None)?)?))
    }

    /// The constraint, and the schema where it is one.
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
            Some(read_grammar(path)?)
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
