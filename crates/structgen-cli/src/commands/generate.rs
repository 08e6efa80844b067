//! `structgen generate`: text behind a prompt, free or under a constraint, as it comes.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use structgen::decode::{ContextOverflow, Delta, Generation};
use structgen::tools::{Message, ToolGrammar};
use structgen::vocab::Vocabulary;
use structgen::{Constraint, GenerateOptions, Model};

use super::extract::failure;
use crate::Outcome;
use crate::args::{ModelArgs, RegexArgs, SamplingArgs, read_grammar, read_schema};
use crate::error::{DONE, Failure};
use crate::input::{TextArgs, read_text_file};
use crate::output::{tell, write, write_line};
use crate::result_args::ResultArgs;
use crate::schema_args::SchemaArgs;
use crate::strategy_args::{BeamArgs, ContrastArgs, FaithfulArgs, JumpForwardArg, SpeculationArgs};
use crate::tool_args::ToolArgs;

/// Options of `structgen generate`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 done, 1 the output was cut before it was complete, 2 bad input."
)]
pub(crate) struct Args {
    #[command(flatten)]
    prompt: TextArgs,
    /// Put the prompt through the model's chat template
    #[arg(long)]
    chat: bool,
    /// A system message for the chat template
    #[arg(long, value_name = "TEXT", requires = "chat")]
    system: Option<String>,
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// The most tokens to generate; without it, what the context leaves, and no more than 4096
    #[arg(long, value_name = "N")]
    max_new_tokens: Option<usize>,
    /// Go on where the text outgrows the model's context: its first N tokens stay, and the last ones, and are run again. Without it, that is an error
    #[arg(long, value_name = "N", conflicts_with = "beams")]
    crop_context: Option<usize>,
    /// So many outputs behind the prompt, which is run once, each as JSON on a line of its own: {"text"}, or {"error"} where it was cut
    #[arg(long, value_name = "N", conflicts_with_all = ["tools", "speculate"])]
    sequences: Option<usize>,
    /// Where only one text can follow: take the one token that is allowed, or all of the text in the tokens that the tokenizer gives
    #[arg(long, value_enum, default_value_t = JumpForwardArg::Exact)]
    jump_forward: JumpForwardArg,
    /// A text that ends the output; may be repeated
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// Print the number of tokens and the speed to standard error
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    beams: BeamArgs,
    #[command(flatten)]
    speculation: SpeculationArgs,
    #[command(flatten)]
    contrast: ContrastArgs,
    #[command(flatten)]
    faithful: FaithfulArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Constraint")]
struct ConstraintArgs {
    /// Any JSON value
    #[arg(long, group = "constraint_kind")]
    json: bool,
    /// JSON that fits a schema
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    json_schema: Option<PathBuf>,
    /// Text that matches a regular expression
    #[arg(long, value_name = "PATTERN", group = "constraint_kind")]
    regex: Option<String>,
    /// Text of a grammar in GBNF
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    grammar: Option<PathBuf>,
    /// One of these texts; may be repeated
    #[arg(long, value_name = "TEXT", group = "constraint_kind")]
    choice: Vec<String>,
    /// One of the lines of a file
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    choices_file: Option<PathBuf>,
    /// Text, or calls of tools: a JSON list of {"name", "description", "parameters"}, or as OpenAI's API takes them. What was written is
    /// printed as JSON: {"text", "reasoning", "calls"}
    #[arg(long, value_name = "FILE", group = "constraint_kind")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    regex_options: RegexArgs,
    #[command(flatten)]
    options: SchemaArgs,
    #[command(flatten)]
    calls: ToolArgs,
}

const MAX_NEW_TOKENS: usize = 4_096;

pub(crate) fn run(args: &Args) -> Outcome {
    let tools = args.constraint.read_tools()?;
    let constraint = match &tools {
        Some(tools) => Some(Constraint::tools(tools)),
        None => args.constraint.read()?,
    };
    args.results.check(constraint.as_ref())?;
    let sampling = args.sampling.params()?;
    let prompt = args.prompt.read()?;
    let mut model = args.model.load()?;
    let compiled = constraint
        .map(|constraint| model.compile(&constraint))
        .transpose()?;
    let tokens = if args.chat {
        model.chat_prompt(args.system.as_deref(), &prompt)?
    } else {
        model.encode_prompt(&prompt)?
    };
    let most = args.max_new_tokens.unwrap_or(match args.crop_context {
        Some(_) => MAX_NEW_TOKENS,
        None => model.room_behind(&tokens, MAX_NEW_TOKENS),
    });
    let mut options = GenerateOptions {
        sampling,
        max_new_tokens: Some(most),
        stop: args.stop.clone(),
        jump_forward: args.jump_forward.into(),
        overflow: match args.crop_context {
            Some(keep) => ContextOverflow::Crop { keep },
            None => ContextOverflow::Error,
        },
        ..GenerateOptions::default()
    };
    args.results.ask(&mut options);
    let compiled = compiled.as_ref();
    let mut lines = args.results.lines(compiled);
    if let Some(beams) = args.beams.options() {
        let outputs = model.beam_search(&tokens, compiled, &options, &beams);
        for output in outputs.map_err(failure)? {
            let mut line = args.describe(&output.generation, &model)?;
            line.insert("score".to_owned(), output.score.into());
            line.insert("log_prob".to_owned(), output.log_prob.into());
            write_line(&Value::from(line).to_string())?;
        }
        return Ok(DONE);
    }
    let outputs = args
        .faithful
        .outputs(&mut model, &tokens, compiled, &options);
    if let Some(outputs) = outputs {
        for output in outputs.map_err(failure)? {
            let mut line = args.describe(&output.generation, &model)?;
            line.insert("log_prob".to_owned(), output.log_prob.into());
            let masked = output.masked_log_prob();
            line.insert("masked_log_prob".to_owned(), masked.into());
            line.insert("weight".to_owned(), output.weight.into());
            write_line(&Value::from(line).to_string())?;
        }
        return Ok(DONE);
    }
    if let Some(n) = args.sequences {
        let outputs = model.generate_many(&tokens, n, compiled, &options)?;
        return args.print_many(outputs, &model);
    }
    let mut written: io::Result<()> = Ok(());
    let mut begun = false;
    let is_whole = tools.is_some() || args.results.is_whole();
    let mut draft = args.speculation.load(&args.model)?;
    let mut heads = args.speculation.load_heads(&args.model)?;
    let mut speculation = args.speculation.speculation(draft.as_mut(), heads.as_mut());
    let mut amateur = args.contrast.load(&args.model)?;
    let mut contrastive = args.contrast.contrastive(amateur.as_mut());
    let guidance = args.contrast.guidance(&model)?;
    let search = args.contrast.search();
    let on_delta = |delta: Delta<'_>| {
        if let Some(lines) = &mut lines {
            return lines.push(&delta);
        }
        // Calls are printed as what they mean, and what is told of an output when it is complete.
        if is_whole {
            return ControlFlow::Continue(());
        }
        written = write(delta.text);
        begun = true;
        if written.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let result = match (&mut speculation, &mut contrastive, &guidance) {
        (Some(speculation), ..) => {
            model.stream_speculative(&tokens, compiled, &options, speculation, on_delta)
        }
        (None, Some(contrastive), _) => {
            model.stream_contrastive(&tokens, compiled, &options, contrastive, on_delta)
        }
        (None, None, Some(guidance)) => {
            model.stream_guided(&tokens, compiled, &options, guidance, on_delta)
        }
        (None, None, None) if let Some(search) = &search => {
            model.stream_contrastive_search(&tokens, compiled, &options, search, on_delta)
        }
        (None, None, None) => model.stream(&tokens, compiled, &options, on_delta),
    };
    written?;
    if let Some(lines) = &mut lines {
        lines.result()?;
    }
    // The shell's next line begins on a line of its own, whatever came of the output.
    if begun || (result.is_ok() && !is_whole && lines.is_none()) {
        write("\n")?;
    }
    let generation = result.map_err(failure)?;
    if let Some(tools) = &tools {
        let message = parse(tools, &generation, model.tokenizer().vocabulary())?;
        write_line(&message.to_json().to_string())?;
    }
    if let Some(lines) = lines {
        let vocabulary = model.tokenizer().vocabulary();
        let told = args.results.describe(&generation, vocabulary)?;
        lines.end(generation.finish.to_string(), told)?;
    } else if args.results.is_whole() {
        write_line(&Value::from(args.describe(&generation, &model)?).to_string())?;
    }
    if args.stats {
        let seconds = generation.stats.total_time.as_secs_f64();
        tell(&format!(
            "{} prompt tokens, {} new tokens ({} forced) in {:.0} ms, {:.0} tokens/s; ended: {}",
            generation.stats.prompt_tokens,
            generation.tokens.len(),
            generation.stats.forced_tokens,
            seconds * 1e3,
            generation.tokens.len() as f64 / seconds,
            generation.finish,
        ));
        if let Some(speculation) = &speculation {
            let stats = speculation.stats();
            let kept: u64 = stats.kept.iter().sum();
            tell(&format!(
                "{:.2} tokens for each of {} runs; {kept} of {} drafted tokens kept, {} runs of the draft, {} of heads",
                stats.tokens_per_run(),
                stats.target_runs,
                stats.tested.iter().sum::<u64>(),
                stats.draft_runs,
                stats.head_runs,
            ));
        }
    }
    Ok(DONE)
}

impl Args {
    /// An output as JSON.
    fn describe(&self, output: &Generation, model: &Model) -> anyhow::Result<Map<String, Value>> {
        let vocabulary = model.tokenizer().vocabulary();
        let mut told = self.results.describe(output, vocabulary)?;
        told.shift_insert(0, "text".to_owned(), output.text.as_str().into());
        Ok(told)
    }

    /// Prints each of several outputs on a line; the command fails like the first that failed.
    fn print_many(&self, outputs: Vec<structgen::Result<Generation>>, model: &Model) -> Outcome {
        let mut outcome = Ok(DONE);
        for output in outputs {
            let line = match output {
                Ok(output) => self.describe(&output, model)?.into(),
                Err(error) => {
                    let failure = failure(error);
                    let line = json!({"error": failure.to_string()});
                    outcome = outcome.and(Err(failure));
                    line
                }
            };
            write_line(&line.to_string())?;
        }
        outcome
    }
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
    fn read_tools(&self) -> Result<Option<ToolGrammar>, Failure> {
        let Some(path) = &self.tools else {
            return Ok(None);
        };
        Ok(Some(self.calls.read(path, self.options.options(None)?)?))
    }

    fn read(&self) -> Result<Option<Constraint>, Failure> {
        let options = self.options.options(None)?;
        Ok(if self.json {
            Some(Constraint::any_json(&options)?)
        } else if let Some(path) = &self.json_schema {
            Some(read_schema(path, self.options.at.as_deref(), &options)?.1)
        } else if let Some(pattern) = &self.regex {
            Some(self.regex_options.read(pattern)?)
        } else if let Some(path) = &self.grammar {
            Some(read_grammar(path)?)
        } else if let Some(path) = &self.choices_file {
            Some(Constraint::choices(read_text_file(path)?.lines())?)
        } else if self.choice.is_empty() {
            None
        } else {
            Some(Constraint::choices(&self.choice)?)
        })
    }
}
