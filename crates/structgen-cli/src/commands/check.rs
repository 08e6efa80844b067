//! `structgen check`: does a text fit, and if not, where and why.

use std::path::PathBuf;

use structgen::{Checker, Constraint, Misfit, Profile};

use crate::Outcome;
use crate::args::{RegexArgs, TimeoutArgs, read_grammar, read_schema};
use crate::error::{DONE, does_not_fit};
use crate::input::TextArgs;
use crate::output::{tell, write_line};
use crate::schema_args::SchemaArgs;
use crate::tool_args::ToolArgs;

/// Options of `structgen check`.
#[derive(clap::Args, Debug)]
#[command(
    group(clap::ArgGroup::new("against").required(true)),
    after_help = "Schemas are taken exactly: any order of keys, any way to write a number or a string, whitespace up to a bound.\n\
    With --jsonl, a line of the input is {\"id\", \"json_schema\" | \"regex\" | \"gbnf\", \"draft\"?, \"instances\": [text, …]} and a line of \
    the output {\"id\", \"ok\", \"accepted\": [bool, …], \"error\"?}, where \"ok\" says whether the constraint compiled.\n\n\
    With --jsonl, --timeout is for each line.\n\n\
    Exit codes: 0 the text fits (--jsonl: every line was answered), 1 it does not, 2 bad input."
)]
pub(crate) struct Args {
    /// A JSON Schema
    #[arg(long, value_name = "FILE", group = "against")]
    schema: Option<PathBuf>,
    /// A regular expression
    #[arg(long, value_name = "PATTERN", group = "against")]
    regex: Option<String>,
    /// A grammar in GBNF
    #[arg(long, value_name = "FILE", group = "against")]
    grammar: Option<PathBuf>,
    /// Tools that may be called: a JSON list of {"name", "description", "parameters"}, or as OpenAI's API takes them
    #[arg(long, value_name = "FILE", group = "against")]
    tools: Option<PathBuf>,
    /// Many constraints and texts, one constraint a line
    #[arg(long, group = "against", conflicts_with = "at")]
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
    let mut options = args.options.options(Some(Profile::Exact))?;
    if args.jsonl {
        let lines = args.text.open_lines()?;
        return super::check_jsonl::run(options, &args.regex_options, &args.timeout, lines);
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
    let (text, name) = args.text.read_bytes()?;
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
    const BEFORE: usize = 40;
    const BEHIND: usize = 30;
    let line = text
        .split(|&byte| byte == b'\n')
        .nth(misfit.line - 1)
        .unwrap_or_default();
    let line: Vec<char> = String::from_utf8_lossy(line)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let at = (misfit.column - 1).min(line.len());
    let from = at.saturating_sub(BEFORE);
    let shown: String = line[from..line.len().min(at + BEHIND)].iter().collect();
    let mut message = format!(
        "{name} does not fit: {misfit}\n  {shown}\n  {}^",
        " ".repeat(at - from)
    );
    if misfit.may_end
        && text
            .get(misfit.offset..)
            .is_some_and(|rest| rest == b"\n" || rest == b"\r\n")
    {
        message.push_str("\nThe text ends with a line break, which belongs to it; use printf instead of echo to leave it out.");
    }
    message
}
