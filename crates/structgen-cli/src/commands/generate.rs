//! `structgen generate`: streams text after a prompt, free or constrained.

mod remote;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::bail;
use serde_json::{Value, json};
use structgen::decode::request::{ContextOverflow, Report};
use structgen::decode::{FinishReason, GenerateError, Generation, Output, Run};
use structgen::tools::{Message, ToolGrammar};
use structgen::vocab::Vocabulary;
use structgen::{Constraint, Error, Model, Request, SchemaExtractor, Strategy};
use structgen_lab::advise::{Observed, Symptom};
use structgen_lab::heldout::Score;

use crate::Outcome;
use crate::args::{GrammarSource, ModelArgs, SchemaFile};
use crate::chat_args::{ChatArgs, Prompt};
use crate::constraint_args::{ConstraintArgs, Source};
use crate::error::{DONE, Failure};
use crate::extraction::note_ungrounded;
use crate::input::{TextArgs, read_text_file};
use crate::interrupt;
use crate::output::{note, write, write_line};
use crate::results::{ResultArgs, report_stats};
use crate::settings::{Scope, Settings, SettingsArgs};
use crate::tool_args::{ToolsFile, read_structural_tag};

/// The help of `--json-schema`.
const SCHEMA: &str = "Generate JSON that matches a schema: a JSON or YAML file, - for standard input, or the schema itself. With the embedded \
    model this works as extract does: the prompt, or the last message of a user, is the text, and the values come from it";

/// Options of `structgen generate`.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("schema", |schema| schema.long("json-schema").help(SCHEMA)),
    after_help = "Text is printed as it comes. Several outputs (-n, --strategy beam) are a line of JSON each, with score, log_prob and weight \
    where the strategy has them. -v prints token counts and speed to standard error.\n\n\
    Everything else is a parameter of --set and --params: options of schemas, patterns, tools, chat templates and models, and more of how to \
    generate. structgen params lists them.\n\n\
    Exit codes: 0 done, which includes free text that ends at --max-tokens; 1 a constrained output was cut before it was \
    complete, as by --stop; 2 bad input, which includes a --max-tokens within which no output can be complete."
)]
pub(crate) struct Args {
    #[command(flatten)]
    prompt: TextArgs,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    constraint: OutputConstraintArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// What outputs have to match.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Constraint")]
struct OutputConstraintArgs {
    /// Generate any JSON value
    #[arg(long, group = "constraint")]
    json: bool,
    #[command(flatten)]
    text: ConstraintArgs,
    /// Generate one of the given texts; may be repeated
    #[arg(
        long,
        value_name = "TEXT",
        group = "constraint",
        allow_hyphen_values = true
    )]
    choice: Vec<String>,
    /// Generate text or tool calls: a JSON array of {"name", "description", "parameters"}, or tools in the form of
    /// OpenAI's API. Prints the output as JSON: {"text", "reasoning", "calls"}. --set tools.choice and others say how
    /// they are called
    #[arg(
        long,
        value_name = "FILE",
        group = "constraint",
        conflicts_with_all = ["outputs", "events", "confidence", "details"]
    )]
    tools: Option<PathBuf>,
}

/// A constraint as it was given, and compiled.
struct Given {
    form: Form,
    constraint: Option<Constraint>,
}

/// How a constraint was given.
enum Form {
    Free,
    Json,
    Schema(SchemaFile),
    Regex(String),
    Grammar(GrammarSource),
    Choices(Vec<String>),
    Tools(ToolsFile, Box<ToolGrammar>),
    /// The text of the tag.
    StructuralTag(String),
}

pub(crate) fn run(args: &Args) -> Outcome {
    let settings = args.settings.settings()?;
    args.check(&settings)?;
    let given = args.constraint.read(&settings)?;
    let constraint = given.constraint.as_ref();
    args.results.check(constraint, given.tools().is_some())?;
    match &args.model.server {
        Some(url) => args.run_on(url, &settings, &given),
        None => args.run_here(settings, given),
    }
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
    /// Checks what can be checked before anything is read.
    fn check(&self, settings: &Settings) -> anyhow::Result<()> {
        settings.check_scopes("generate", &self.scopes(settings))?;
        let has_tools = self.constraint.tools.is_some();
        let of_one = [
            ("--pretty", self.results.pretty),
            ("--tools", has_tools),
            ("--events", self.results.events),
        ];
        if let Some((flag, _)) = { of_one.iter() }.find(|(_, is_given)| *is_given)
            && settings.lists_outputs()
        {
            bail!(
                "{flag} is for one output, and several are asked for, by -n, --set sequences or the strategy {}",
                settings.strategy.name()
            );
        }
        if self.model.server.is_some() {
            if self.results.confidence {
                bail!("--confidence cannot be used with --server");
            }
            if has_tools && !self.chat.is_used() {
                bail!(
                    "--tools needs --chat with --server: a server gives tools to the model's chat template"
                );
            }
            return Ok(());
        }
        let is_extraction = self.constraint.text.schema.is_some() && self.model.model.is_none();
        if let (true, Some(name)) = (is_extraction, self.for_template(settings)?) {
            bail!(
                "{name} is for a chat template, and with --json-schema the embedded model extracts values from the text, without a template: leave it out, or name a model with --model"
            );
        }
        Ok(())
    }

    /// Returns what parameters have an effect on.
    fn scopes(&self, settings: &Settings) -> Vec<Scope> {
        let constraint = &self.constraint;
        let has_schema = constraint.text.schema.is_some();
        let compiles_schemas = has_schema
            || constraint.json
            || constraint.tools.is_some()
            || settings.structural_tag.is_some();
        let scopes = [
            (Scope::Generate, true),
            (Scope::Load, true),
            (Scope::Details, self.results.details),
            (Scope::Folder, self.model.model.is_some()),
            (Scope::Server, self.model.server.is_some()),
            (Scope::Schema, compiles_schemas),
            (Scope::SchemaFile, has_schema),
            (Scope::Regex, constraint.text.regex.is_some()),
            (Scope::Tools, constraint.tools.is_some()),
            (Scope::Chat, self.chat.is_used()),
            (Scope::Messages, self.chat.has_messages()),
        ];
        let scopes = scopes.into_iter().filter(|(_, is_given)| *is_given);
        scopes.map(|(scope, _)| scope).collect()
    }

    /// Returns an option that only matters to a chat template, if one was given.
    fn for_template(&self, settings: &Settings) -> anyhow::Result<Option<&'static str>> {
        if self.chat.has_system() {
            return Ok(Some("--system"));
        }
        let mut changed = settings.changed()?.into_iter();
        let of_chat = changed.find(|row| row.name.starts_with("chat."));
        Ok(of_chat.map(|row| row.name))
    }

    /// Generates with a local model.
    fn run_here(&self, mut settings: Settings, given: Given) -> Outcome {
        self.results.ask(&mut settings.options);
        // At temperatures above 1, samples may be nonsense, which the probabilities reveal.
        let is_hot = settings.options.sampling.temperature > 1.0;
        settings.options.log_probs |= is_hot && matches!(settings.strategy, Strategy::Sample);
        settings.check()?;
        let tools = given.tools_file();
        let prompt = self.chat.read(&self.prompt, &settings.chat, tools)?;
        let model = settings.load(self.model.model.as_deref(), NonZeroUsize::MIN)?;
        let asked = Asked::new(&settings, &model, &given, &prompt)?;
        settings.report_seed(asked.request.constraint.as_ref());
        match settings.lists_outputs() {
            true => self.list(&model, asked.request),
            false => self.print(&model, asked, given.tools()),
        }
    }

    /// Prints an output.
    fn print(&self, model: &Model, asked: Asked, tools: Option<&ToolGrammar>) -> Outcome {
        let Asked { request, extractor } = asked;
        let is_free = request.constraint.is_none();
        // Events are about the text as the model writes it.
        let extractor = extractor.filter(|_| !self.results.events);
        let formatted = |text: &str| extractor.as_ref()?.formatted(text);
        let is_object = tools.is_some() || self.results.is_whole();
        let outputs = if self.results.events {
            self.results.print_events(model, request)?
        } else if is_object || self.results.pretty || formatted("").is_some() {
            model.submit(request)?.wait().map_err(Error::from)?
        } else {
            let outputs = print_text(model.submit(request.with_events())?)?;
            outputs.map_err(|error| failure(error.into()))?
        };
        let report = outputs.report.clone();
        if interrupt::happened() && is_object {
            // The output may be incomplete.
            return Ok(DONE);
        }
        let outputs = outputs.all().map_err(|error| failure(error.into()))?;
        for output in &outputs {
            let text = &output.generation.text;
            if let Some(tools) = tools {
                let message = parse(tools, &output.generation, model.tokenizer().vocabulary())?;
                write_line(&self.results.shown(&message.to_json().to_string()))?;
            } else if is_object {
                let object = Value::from(self.results.object(output, model)?);
                write_line(&self.results.shown(&object.to_string()))?;
            } else if self.results.pretty {
                write_line(&self.results.shown(text))?;
            } else if let Some(text) = formatted(text) {
                write_line(&text)?;
            }
        }
        let free = is_free.then(|| &**model.tokenizer().vocabulary());
        report_outputs(&outputs, &report, free);
        Ok(DONE)
    }

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
        report_outputs(&complete, &outputs.report, free);
        outcome
    }
}

/// A request to a local model.
struct Asked {
    request: Request,
    /// What the embedded model extracts with.
    extractor: Option<SchemaExtractor>,
}

impl Asked {
    fn new(
        settings: &Settings,
        model: &Model,
        given: &Given,
        prompt: &Prompt,
    ) -> anyhow::Result<Self> {
        if let Prompt::Text(text) = prompt
            && settings.options.overflow == ContextOverflow::Error
        {
            model.check_length(text)?;
        }
        let strategy = settings.strategy(model)?;
        // The embedded model handles texts with schemas only, no other prompts.
        if let (Form::Schema(schema), Some(constraint), true) =
            (&given.form, &given.constraint, model.is_embedded())
        {
            let options = settings.schema.options(None)?;
            let extractor =
                schema.extractor(model.clone(), &options, constraint, &settings.options)?;
            // The samplers of its requests depend on the strategy.
            let extractor = extractor.with_strategy(strategy.clone());
            let (request, ungrounded) = extractor.request_with_ungrounded(&prompt.text()?)?;
            note_ungrounded(&ungrounded);
            return Ok(Self {
                request: request.with_strategy(strategy),
                extractor: Some(extractor),
            });
        }
        let compiled = { given.constraint.as_ref() }
            .map(|constraint| model.compile(constraint))
            .transpose()?;
        let prompt = prompt.encode(model)?;
        let options = settings.options_after(&prompt, model);
        let request = Request::new(prompt, compiled).with_options(options);
        Ok(Self {
            request: request.with_strategy(strategy),
            extractor: None,
        })
    }
}

/// Prints what outputs took, if that is asked for, and advice on them.
fn report_outputs(outputs: &[Output], report: &Report, free: Option<&Vocabulary>) {
    report_stats(outputs, report);
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

impl OutputConstraintArgs {
    /// Reads and compiles the constraint.
    fn read(&self, settings: &Settings) -> anyhow::Result<Given> {
        self.check(settings)?;
        let options = settings.schema.options(None)?;
        let at = settings.schema.at.as_deref();
        if let Some((constraint, source)) = self.text.read(at, &options, &settings.regex)? {
            let form = match source {
                Source::Schema(schema) => Form::Schema(schema.0),
                Source::Grammar(grammar) => Form::Grammar(*grammar),
                Source::Regex(pattern) => Form::Regex(pattern),
            };
            return Ok(Given::new(form, constraint));
        }
        if let Some(path) = &self.tools {
            let file = ToolsFile::read(path)?;
            let grammar = settings.tools.grammar(&file, options)?;
            let constraint = Constraint::tools(&grammar);
            return Ok(Given::new(Form::Tools(file, Box::new(grammar)), constraint));
        }
        if let Some(path) = &settings.structural_tag {
            let (text, constraint) = read_structural_tag(path, &options)?;
            return Ok(Given::new(Form::StructuralTag(text), constraint));
        }
        if self.json {
            return Ok(Given::new(Form::Json, Constraint::any_json(&options)?));
        }
        let mut choices = self.choice.clone();
        if let Some(path) = &settings.choices_file {
            choices.extend(read_text_file(path)?.lines().map(str::to_owned));
        } else if choices.is_empty() {
            return Ok(Given {
                form: Form::Free,
                constraint: None,
            });
        }
        let constraint = Constraint::choices(&choices)?;
        Ok(Given::new(Form::Choices(choices), constraint))
    }

    /// Refuses constraints of `--set` beside others.
    fn check(&self, settings: &Settings) -> anyhow::Result<()> {
        let is_other = self.text.is_given() || self.json || self.tools.is_some();
        let choices = settings.choices_file.is_some();
        let tag = settings.structural_tag.is_some();
        if choices && (is_other || tag) {
            bail!("choices_file has no effect on generate beside another constraint than --choice");
        }
        if tag && (is_other || !self.choice.is_empty()) {
            bail!("structural_tag has no effect on generate beside another constraint");
        }
        Ok(())
    }
}

impl Given {
    fn new(form: Form, constraint: Constraint) -> Self {
        Self {
            form,
            constraint: Some(constraint),
        }
    }

    fn tools(&self) -> Option<&ToolGrammar> {
        match &self.form {
            Form::Tools(_, grammar) => Some(grammar),
            _ => None,
        }
    }

    fn tools_file(&self) -> Option<&ToolsFile> {
        match &self.form {
            Form::Tools(file, _) => Some(file),
            _ => None,
        }
    }
}
