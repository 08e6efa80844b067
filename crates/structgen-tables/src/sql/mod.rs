//! `sql`: a query whose functions run a model.

mod output;
mod tables;

use std::path::PathBuf;

use anyhow::Context;
use datafusion::execution::context::SessionContext;
use futures::StreamExt;
use structgen_datafusion::{Functions, Schemas};

use crate::Outcome;
use crate::model::ModelArgs;
use crate::terminal::say;
use output::{Format, Output};

/// Options of `structgen sql`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Tables are files in single quotes, with * and ? for several of them: FROM 'mails/*.parquet'. Their names end in \
    .parquet, .csv, .jsonl, .ndjson or .json (one object on each line).\n\n\
    Exit codes: 0 done, 1 done, but some rows have no value, 2 not done."
)]
pub(crate) struct Args {
    /// The query: one statement of DataFusion's SQL
    #[arg(value_name = "SQL")]
    query: String,
    /// Let the functions call the schema of a file by a name
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_named)]
    schema: Vec<(String, PathBuf)>,
    /// Write the rows to a file, whose name ends in .parquet, .csv or .jsonl. It is there when it is complete, and not
    /// before
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How rows are printed without --output; a table where standard output is a terminal, else jsonl
    #[arg(long, value_name = "FORMAT", conflicts_with = "output")]
    format: Option<Format>,
    /// How many partitions of the tables are read at the same time. All rows go to the same workers, so that more than
    /// one is for queries which do more than call the model; their rows come in any order unless the query sorts them
    #[arg(long, value_name = "N", default_value_t = 1)]
    partitions: usize,
    /// The most rows that a function is called with at a time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    batch_rows: u32,
    #[command(flatten)]
    model: ModelArgs,
}

fn parse_named(text: &str) -> Result<(String, PathBuf), &'static str> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("it must be NAME=FILE"),
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut schemas = Schemas::new();
    for (name, file) in &args.schema {
        let schema = std::fs::read_to_string(file)
            .with_context(|| format!("the schema {} cannot be read", file.display()))?;
        schemas = schemas.with(name, schema);
    }
    let output = Output::open(args.output.as_deref(), args.format)?;
    let functions = args.model.functions(schemas);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.partitions.max(1) + 1)
        .enable_time()
        .build()?;
    runtime.block_on(query(args, &functions, output))?;
    let (errors, rows) = (functions.errors(), functions.rows());
    if errors > 0 {
        say(&format!(
            "{errors} of {rows} rows could not be done and are NULL; extract(…, 'error') has a column that says why"
        ));
    }
    Ok(errors)
}

async fn query(args: &Args, functions: &Functions, mut output: Output) -> anyhow::Result<()> {
    let config = Functions::session_config()
        .with_target_partitions(args.partitions.max(1))
        .with_batch_size(args.batch_rows as usize);
    let mut context = SessionContext::new_with_config(config);
    functions.register(&mut context)?;
    let mut statement = functions.statement(&args.query)?;
    tables::register(&context, &mut statement).await?;
    let plan = context.state().statement_to_plan(statement).await?;
    let frame = context.execute_logical_plan(plan).await?;
    let schema = frame.schema().inner().clone();
    let mut batches = frame.execute_stream().await?;
    output.begin(&schema)?;
    while let Some(batch) = batches.next().await {
        output.write(&batch?)?;
    }
    output.finish()
}
