//! `structgen compile`: what became of each keyword of a schema.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::json;
use structgen::Checker;
use structgen::automata::Limits;

use crate::Outcome;
use crate::args::read_schema;
use crate::error::DONE;
use crate::output::{tell, write, write_line};
use crate::schema_args::SchemaArgs;

/// Options of `structgen compile`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "A line for each keyword that has an effect: its JSON Pointer, and whether it is enforced, an annotation, narrowed by the \
    profile, or dropped by leniency; then the sizes and limits.\n\n\
    Exit codes: 0 the schema compiles, 2 it does not, or other bad input."
)]
pub(crate) struct Args {
    /// The JSON Schema
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Write the report as JSON
    #[arg(long)]
    json: bool,
    /// Write the grammar that the schema became, instead of the report
    #[arg(long, conflicts_with = "json")]
    grammar: bool,
    #[command(flatten)]
    options: SchemaArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, constraint) = read_schema(
        &args.schema,
        args.options.at.as_deref(),
        &args.options.options(None)?,
    )?;
    if args.grammar {
        write(&constraint.grammar().to_string())?;
        return Ok(DONE);
    }
    let checker = Checker::new(&constraint)
        .with_context(|| format!("the schema {} cannot be used", args.schema.display()))?;
    let (nodes, limit) = (checker.nodes(), Limits::default().nodes);
    let report = constraint.report();
    if args.json {
        let mut value = report.to_json();
        if let Some(usage) = value["usage"].as_array_mut() {
            usage.push(json!({"what": "nodes of the automaton", "used": nodes, "limit": limit}));
        }
        write_line(&serde_json::to_string_pretty(&value)?)?;
    } else {
        write(&report.to_string())?;
        write_line(&format!(
            "nodes of the automaton: {nodes} of at most {limit}"
        ))?;
        let dropped = report.dropped().count();
        if dropped > 0 {
            tell(&format!(
                "warning: {dropped} assertions were dropped: what fits here need not be valid"
            ));
        }
    }
    Ok(DONE)
}
