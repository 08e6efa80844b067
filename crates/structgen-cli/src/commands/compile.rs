//! `structgen compile`: how each keyword of a schema was compiled.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use serde_json::json;
use structgen::automata::Limits;
use structgen::constraint::{ConstraintOptions, WarmLimits};
use structgen::vocab::{TokenId, Tokenizer};
use structgen::{CancelToken, Checker, Constraint};

use crate::Outcome;
use crate::args::{CacheArgs, TimeoutArgs, read_schema, whole};
use crate::error::DONE;
use crate::output::{warn, write, write_line};
use crate::schema_args::SchemaArgs;

/// Options of `structgen compile`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "A line for each keyword that has an effect: its JSON Pointer, and whether it is enforced, an annotation, narrowed by the \
    profile, or dropped by leniency; then the sizes and limits.\n\n\
    Exit codes: 0 the schema compiles, 2 it does not, or other bad input."
)]
pub(crate) struct Args {
    /// JSON Schema: a JSON or YAML file, - for standard input, or the schema itself
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print the compiled grammar instead of the report
    #[arg(long, conflicts_with = "json")]
    grammar: bool,
    #[command(flatten)]
    compiled: CompiledArgs,
    #[command(flatten)]
    options: SchemaArgs,
    #[command(flatten)]
    timeout: TimeoutArgs,
}

/// Where to write the compiled constraint.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Compiled constraint")]
struct CompiledArgs {
    /// Also compile for the vocabulary of this tokenizer.json, and write the constraint with the masks that are quick
    /// to compute; programs load it with `CompiledConstraint::load`
    #[arg(long, value_name = "FILE", requires = "tokenizer")]
    out: Option<PathBuf>,
    /// Path to tokenizer.json
    #[arg(long, value_name = "FILE", requires = "out")]
    tokenizer: Option<PathBuf>,
    /// End-of-sequence token id; may be repeated
    #[arg(long, value_name = "ID", requires = "out", value_parser = whole::<u32>)]
    eos: Vec<u32>,
    #[command(flatten)]
    cache: CacheArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut options = args.options.options(None)?;
    let token = args.timeout.token();
    options.cancel.clone_from(&token);
    let (_, constraint) = read_schema(&args.schema, args.options.at.as_deref(), &options)?;
    let compiled = write_compiled(&args.compiled, &constraint, token.as_ref())?;
    if args.grammar {
        write(&constraint.grammar().to_string())?;
        return Ok(DONE);
    }
    let checker = Checker::cancellable(&constraint, token)
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
        if let Some(compiled) = compiled {
            write_line(&compiled)?;
        }
        let dropped = report.dropped().count();
        if dropped > 0 {
            warn(&format!(
                "{dropped} assertions were dropped: what fits here need not be valid"
            ));
        }
    }
    Ok(DONE)
}

/// Writes the constraint for a vocabulary to a file, if requested; returns what it contains.
fn write_compiled(
    args: &CompiledArgs,
    constraint: &Constraint,
    token: Option<&CancelToken>,
) -> anyhow::Result<Option<String>> {
    let (Some(out), Some(tokenizer)) = (&args.out, &args.tokenizer) else {
        return Ok(None);
    };
    let loaded = Tokenizer::from_file(tokenizer)
        .with_context(|| format!("the tokenizer {} cannot be used", tokenizer.display()))?;
    let (tables, _) = args.cache.tables(loaded.vocabulary());
    let mut options = ConstraintOptions {
        eos: args.eos.iter().copied().map(TokenId).collect(),
        ..ConstraintOptions::default()
    };
    options.limits.cancel = token.cloned();
    let compiled = constraint.compile_with(&Arc::new(tables), &options)?;
    let report = compiled.warm(&WarmLimits::default())?;
    compiled
        .save(out)
        .with_context(|| format!("{} cannot be written", out.display()))?;
    let extent = if report.is_complete {
        ", all there are"
    } else {
        ""
    };
    Ok(Some(format!(
        "compiled constraint: {}, with the masks of {} states{extent}",
        out.display(),
        report.states
    )))
}
