//! `structgen check`: whether a text matches, and if not, where and why.

use std::process::ExitCode;

use crate::Outcome;
use crate::constraint_args::CheckArgs;
use crate::error::DONE;
use crate::explaining::{code, refusal};
use crate::input::{TEXT_OR_LINES, TextArgs};
use crate::output::{tell, write_line};

/// Options of `structgen check`.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("text", |text| text.help(TEXT_OR_LINES)),
    after_help = "Schemas are taken exactly: any order of keys, any way to write a number or a string, whitespace up to a bound.\n\
    With --jsonl and a constraint, each line of the input, also an empty one, is a text (a value of JSON, for a schema), and of the output {\"line\", \"accepted\", \"error\"?}. \
    \"accepted\" is null for a line that could not be checked, such as within --timeout.\n\
    With --jsonl alone, a line of the input is {\"id\", \"json_schema\" | \"regex\" | \"gbnf\", \"draft\"?, \"instances\": [text, …]} and a line of \
    the output {\"id\", \"ok\", \"accepted\": [bool, …], \"error\"?, \"warnings\"?}, where \"ok\" says whether the constraint compiled.\n\n\
    With --jsonl, --timeout is for each line.\n\n\
    Exit codes: 0 the text matches (--jsonl alone: every line was answered), 1 it does not, 2 bad input, or a text that could not be checked."
)]
pub(crate) struct Args {
    /// Read one text per line; without a constraint, one constraint with its texts per line
    #[arg(long)]
    jsonl: bool,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    constraint: CheckArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    Ok(answer(args)?)
}

fn answer(args: &Args) -> anyhow::Result<ExitCode> {
    if args.jsonl && !args.constraint.is_given() {
        return super::check_jsonl::run(
            args.constraint.schema_options()?,
            &args.constraint.regex_options,
            &args.constraint.timeout,
            args.text.open_lines()?,
        );
    }
    let given = args.constraint.read()?;
    let is_json = args.constraint.has_schema();
    let checker = given.checker()?;
    if args.jsonl {
        let timeout = &args.constraint.timeout;
        let explainer = given.explainer_of(checker)?;
        return super::check_jsonl::run_texts(
            &explainer,
            timeout,
            args.text.open_lines()?,
            is_json,
        );
    }
    let (text, name) = match is_json {
        true => args.text.read_json_bytes()?,
        false => args.text.read_bytes()?,
    };
    match checker.check(&text)? {
        None => {
            write_line("the text matches")?;
            Ok(DONE)
        }
        Some(mismatch) => {
            let explanation = given
                .explainer_of(checker)?
                .explain_mismatch(&text, mismatch);
            tell(&refusal(&explanation, &text, &name));
            Ok(code(&explanation))
        }
    }
}
