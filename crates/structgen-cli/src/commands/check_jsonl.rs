//! `structgen check --jsonl`: many constraints, each with its texts.

use std::io::BufRead;
use std::process::ExitCode;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use structgen::explain::Explainer;
use structgen::{Checker, Constraint, SchemaOptions};

use crate::args::{RegexArgs, TimeoutArgs};
use crate::error::{DONE, bad_input, does_not_fit};
use crate::explaining::reason;
use crate::output::{error, tell, write_line};
use crate::schema_args::parse_draft;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    json_schema: Option<&'a RawValue>,
    #[serde(default)]
    regex: Option<String>,
    #[serde(default)]
    gbnf: Option<String>,
    #[serde(default)]
    draft: Option<String>,
    instances: Vec<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    /// As it was written, since it may be a number that no type represents.
    id: Option<&'a RawValue>,
    ok: bool,
    accepted: Vec<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The answer about one of many texts.
#[derive(Serialize)]
struct LineAnswer {
    line: u64,
    /// Unknown if the text could not be checked within a limit.
    accepted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Checks each line against one constraint, each with its own deadline.
pub(crate) fn run_texts(
    explainer: &Explainer,
    timeout: &TimeoutArgs,
    input: Box<dyn BufRead + Send>,
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let (mut refused, mut unknown) = (0_u64, 0_u64);
    for (line, number) in input.split(b'\n').zip(1..) {
        let line = line?;
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        let (accepted, error) = check_line(explainer, timeout, text, is_json);
        refused += u64::from(accepted == Some(false));
        unknown += u64::from(accepted.is_none());
        let answer = LineAnswer {
            line: number,
            accepted,
            error,
        };
        write_line(&serde_json::to_string(&answer)?)?;
    }
    Ok(match (unknown, refused) {
        (0, 0) => DONE,
        (0, _) => does_not_fit(),
        _ => {
            error(&format!("lines that could not be checked: {unknown}"));
            bad_input()
        }
    })
}

/// Checks a line; returns whether it is accepted, if that could be determined, and why it is not.
fn check_line(
    explainer: &Explainer,
    timeout: &TimeoutArgs,
    text: &[u8],
    is_json: bool,
) -> (Option<bool>, Option<String>) {
    if is_json && let Err(error) = std::str::from_utf8(text) {
        return (None, Some(format!("the line is not UTF-8: {error}")));
    }
    let checker = explainer.checker().with_cancel_token(timeout.token());
    match checker.check(text) {
        Ok(None) => (Some(true), None),
        Ok(Some(mismatch)) => match explainer.explain_undecided(text, &mismatch) {
            Some(explanation) => (None, Some(reason(&explanation))),
            None => (Some(false), Some(mismatch.to_string())),
        },
        Err(error) => (None, Some(error.to_string())),
    }
}

pub(crate) fn run(
    mut options: SchemaOptions,
    regex_options: &RegexArgs,
    timeout: &TimeoutArgs,
    input: Box<dyn BufRead + Send>,
) -> anyhow::Result<ExitCode> {
    let mut bad = 0_u64;
    let mut number = 0_u64;
    let draft = options.draft;
    for line in input.split(b'\n') {
        let line = line?;
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match serde_json::from_slice::<Request<'_>>(&line) {
            Ok(request) => {
                options.draft = draft;
                options.cancel = timeout.token();
                match answer(&request, &mut options, regex_options) {
                    Ok((accepted, warnings)) => Answer {
                        id: request.id,
                        ok: true,
                        accepted,
                        error: None,
                        warnings,
                    },
                    Err(error) => Answer {
                        id: request.id,
                        ok: false,
                        accepted: Vec::new(),
                        error: Some(format!("{error:#}")),
                        warnings: Vec::new(),
                    },
                }
            }
            Err(error) => {
                bad += 1;
                let message = format!(
                    "line {number} is no request: {error} (for lines that are texts, name a constraint: --schema, --regex, --grammar)"
                );
                tell(&message);
                Answer {
                    id: None,
                    ok: false,
                    accepted: Vec::new(),
                    error: Some(message),
                    warnings: Vec::new(),
                }
            }
        };
        write_line(&serde_json::to_string(&answer)?)?;
    }
    if bad > 0 {
        error(&format!("{bad} of {number} lines are no requests"));
        return Ok(bad_input());
    }
    Ok(DONE)
}

fn answer(
    request: &Request<'_>,
    options: &mut SchemaOptions,
    regex_options: &RegexArgs,
) -> anyhow::Result<(Vec<bool>, Vec<String>)> {
    if let Some(name) = &request.draft {
        options.draft = parse_draft(name)?;
    }
    let constraint = match (request.json_schema, &request.regex, &request.gbnf) {
        (Some(schema), None, None) => Constraint::json_schema_str(schema.get(), options)?,
        (None, Some(pattern), None) => regex_options.read(pattern)?,
        (None, None, Some(grammar)) => Constraint::gbnf(grammar)?,
        _ => bail!("exactly one of json_schema, regex and gbnf has to be there"),
    };
    let checker = Checker::cancellable(&constraint, options.cancel.clone())?;
    let mut accepted = Vec::with_capacity(request.instances.len());
    for instance in &request.instances {
        accepted.push(checker.check(instance.as_bytes())?.is_none());
    }
    let warnings = constraint.report().warnings.iter();
    Ok((accepted, warnings.map(ToString::to_string).collect()))
}
