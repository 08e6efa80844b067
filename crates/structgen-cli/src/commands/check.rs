//! `structgen check`: does a text fit, and if not, where and why.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use structgen::{Checker, Constraint, Misfit, Profile};

use crate::Outcome;
use crate::args::{RegexArgs, TimeoutArgs, read_grammar, read_schema};
use crate::error::{DONE, does_not_fit};
use crate::excerpt::excerpt;
use crate::input::{TextArgs, is_yaml, utf8};
use crate::output::{tell, write_line};
use crate::schema_args::SchemaArgs;
use crate::tool_args::ToolArgs;
use crate::yaml;

/// Options of `structgen check`.
#[derive(clap::Args, Debug)]
#[command(
    group(clap::ArgGroup::new("against")),
    after_help = "Schemas are taken exactly: any order of keys, any way to write a number or a string, whitespace up to a bound.\n\
    With --jsonl and a constraint, each line of the input is a text (a value of JSON, for a schema), and of the output {\"line\", \"accepted\", \"error\"?}.\n\
    With --jsonl alone, a line of the input is {\"id\", \"json_schema\" | \"regex\" | \"gbnf\", \"draft\"?, \"instances\": [text, …]} and a line of \
    the output {\"id\", \"ok\", \"accepted\": [bool, …], \"error\"?, \"warnings\"?}, where \"ok\" says whether the constraint compiled.\n\n\
    With --jsonl, --timeout is for each line.\n\n\
    Exit codes: 0 the text fits (--jsonl alone: every line was answered), 1 it does not, 2 bad input."
)]
pub(crate) struct Args {
    /// A JSON Schema: a file with JSON or YAML, - for standard input, or the schema itself
    #[arg(
        long,
        value_name = "FILE",
        group = "against",
        required_unless_present_any = ["regex", "grammar", "tools", "jsonl"]
    )]
    schema: Option<PathBuf>,
    /// A regular expression
    #[arg(
        long,
        value_name = "PATTERN",
        group = "against",
        allow_hyphen_values = true
    )]
    regex: Option<String>,
    /// A grammar in GBNF: a file, - for standard input, or the grammar itself
    #[arg(long, value_name = "FILE", group = "against")]
    grammar: Option<PathBuf>,
    /// Tools that may be called: a JSON list of {"name", "description", "parameters"}, or as OpenAI's API takes them
    #[arg(long, value_name = "FILE", group = "against")]
    tools: Option<PathBuf>,
    /// Many texts, one a line; without a constraint, many constraints, each with its texts
    #[arg(long)]
    jsonl: bool,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    regex_options: RegexArgs,
    #[command(flatten)]
    options: SchemaArgs,
    #[command(flatten)]
    calls: ToolArgs,
    #[command(flatten)]
    timeout: TimeoutArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    Ok(answer(args)?)
}

fn answer(args: &Args) -> anyhow::Result<ExitCode> {
    let mut options = args.options.options(Some(Profile::Exact))?;
    let has_constraint = args.schema.is_some()
        || args.regex.is_some()
        || args.grammar.is_some()
        || args.tools.is_some();
    if args.options.at.is_some() && args.schema.is_none() {
        bail!("--at is for --schema, and there is none");
    }
    if args.jsonl && !has_constraint {
        return super::check_jsonl::run(
            options,
            &args.regex_options,
            &args.timeout,
            args.text.open_lines()?,
        );
    }
    let token = args.timeout.token();
    options.cancel.clone_from(&token);
    let constraint = if let Some(path) = &args.schema {
        read_schema(path, args.options.at.as_deref(), &options)?.1
    } else if let Some(path) = &args.grammar {
        read_grammar(path)?
    } else if let Some(path) = &args.tools {
        Constraint::tools(&args.calls.read(path, options)?)
    } else {
        args.regex_options
            .read(args.regex.as_deref().unwrap_or_default())?
    };
    let checker = Checker::cancellable(&constraint, token)?;
    if args.jsonl {
        let is_json = args.schema.is_some();
        return super::check_jsonl::run_texts(&checker, args.text.open_lines()?, is_json);
    }
    let (mut text, mut name) = args.text.read_bytes()?;
    if args.schema.is_some() && args.text.file.as_deref().is_some_and(is_yaml) {
        let yaml = utf8(text, &name)?;
        let json = yaml::to_json(&yaml);
        text = json
            .with_context(|| format!("{name} is not YAML that is JSON"))?
            .into_bytes();
        name.push_str(" (as JSON)");
    }
    match checker.check(&text)? {
        None => {
            write_line("the text fits")?;
            Ok(DONE)
        }
        Some(misfit) => {
            tell(&explain(&misfit, &text, &name));
            Ok(does_not_fit())
        }
    }
}

/// What does not fit, with the place marked.
fn explain(misfit: &Misfit, text: &[u8], name: &str) -> String {
    let shown = excerpt(text, misfit.line, misfit.column);
    let mut message = format!("{name} does not fit: {misfit}\n{shown}");
    if misfit.may_end
        && text
            .get(misfit.offset..)
            .is_some_and(|rest| rest == b"\n" || rest == b"\r\n")
    {
        message.push_str("\nThe text ends with a line break, which belongs to it; use printf instead of echo to leave it out.");
    }
    message
}
