//! `structgen check --jsonl`: many constraints, each with its texts.

use std::io::{BufRead, BufReader, Read};

use anyhow::bail;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use structgen::{Checker, Constraint, SchemaOptions};

use crate::Outcome;
use crate::args::{RegexArgs, TimeoutArgs};
use crate::error::{DONE, bad_input};
use crate::output::{tell, write_line};
use crate::schema_args::parse_draft;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(default)]
    id: Value,
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
struct Answer {
    id: Value,
    ok: bool,
    accepted: Vec<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(
    mut options: SchemaOptions,
    regex_options: &RegexArgs,
    timeout: &TimeoutArgs,
    input: Box<dyn Read>,
) -> Outcome {
    let mut bad = 0_u64;
    let mut number = 0_u64;
    let draft = options.draft;
    for line in BufReader::new(input).split(b'\n') {
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
                    Ok(accepted) => Answer {
                        id: request.id,
                        ok: true,
                        accepted,
                        error: None,
                    },
                    Err(error) => Answer {
                        id: request.id,
                        ok: false,
                        accepted: Vec::new(),
                        error: Some(format!("{error:#}")),
                    },
                }
            }
            Err(error) => {
                bad += 1;
                let message = format!("line {number} is no request: {error}");
                tell(&message);
                Answer {
                    id: Value::Null,
                    ok: false,
                    accepted: Vec::new(),
                    error: Some(message),
                }
            }
        };
        write_line(&serde_json::to_string(&answer)?)?;
    }
    if bad > 0 {
        tell(&format!("error: {bad} of {number} lines are no requests"));
        return Ok(bad_input());
    }
    Ok(DONE)
}

fn answer(
    request: &Request<'_>,
    options: &mut SchemaOptions,
    regex_options: &RegexArgs,
) -> anyhow::Result<Vec<bool>> {
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
    Ok(accepted)
}
