//! `sql`: a query whose functions run a model.

mod output;
mod tables;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context;
use datafusion::arrow::array::RecordBatch;
use datafusion::execution::context::SessionContext;
use futures::StreamExt;
use structgen_datafusion::{Functions, Schemas};

use crate::model::{ModelArgs, RowArgs};
use crate::model_hash::model_hash;
use crate::terminal::say;
use crate::{Outcome, cluster};
use output::{Format, Output};

/// Number of partitions of tables on a cluster: enough that the last ones end at about the same time, and that little
/// work is lost with an executor.
const CLUSTER_PARTITIONS: usize = 64;

/// Options of `structgen sql`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Tables are files in single quotes, with * and ? for several of them: FROM 'mails/*.parquet'. Their names end in \
    .parquet, .csv, .jsonl, .ndjson or .json (one object on each line).\n\n\
    Exit codes: 0 done, 1 done, but some rows have no value, 2 not done."
)]
pub(crate) struct Args {
    /// SQL query: one statement in DataFusion's dialect
    #[arg(value_name = "SQL")]
    query: String,
    /// Let functions refer to the schema in a file by a name
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_named)]
    schema: Vec<(String, PathBuf)>,
    /// Write the rows to a file, which must end in .parquet, .csv or .jsonl. The file appears once it is complete
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output format without --output [default: table on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", conflicts_with = "output")]
    format: Option<Format>,
    /// Number of partitions of the tables to read in parallel [default: 1; 64 on a cluster]. All rows of a process go
    /// to the same workers, so a higher number only helps queries that do more than call the model; their rows come in
    /// any order unless the query sorts them
    #[arg(long, value_name = "N")]
    partitions: Option<NonZeroUsize>,
    /// Maximum number of rows per call of a function
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    batch_rows: u32,
    /// Run the query on the cluster of the scheduler at this URL, such as http://127.0.0.1:50050. Its executors read
    /// tables at the same paths as here
    #[arg(long, value_name = "URL", conflicts_with_all = ["workers", "rows_per_run", "device", "runtime"])]
    cluster: Option<String>,
    /// Hash of the model that executors must have, which each prints when it starts [default: that of the model here]
    #[arg(
        long,
        value_name = "HASH",
        requires = "cluster",
        conflicts_with = "model"
    )]
    model_hash: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    rows: RowArgs,
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
    let functions = args.functions(schemas)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.threads())
        .enable_all()
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

impl Args {
    fn functions(&self, schemas: Schemas) -> anyhow::Result<Functions> {
        let mut options = self.rows.function_options().with_schemas(schemas);
        if let Some(hash) = &self.model_hash {
            return Ok(Functions::planned(options.with_model_id(hash)));
        }
        if self.cluster.is_some() {
            options = options.with_model_id(model_hash(&self.model)?);
        }
        Ok(Functions::new(self.model.loader(), options))
    }

    fn partitions(&self) -> usize {
        let default = match self.cluster {
            Some(_) => CLUSTER_PARTITIONS,
            None => 1,
        };
        self.partitions.map_or(default, NonZeroUsize::get)
    }

    fn threads(&self) -> usize {
        match self.cluster {
            // The work is done elsewhere.
            Some(_) => 2,
            None => self.partitions() + 1,
        }
    }

    fn session(&self) -> anyhow::Result<SessionContext> {
        let config = Functions::session_config()
            .with_target_partitions(self.partitions())
            .with_batch_size(self.batch_rows as usize)
            // Views take more space than their rows when sent between processes; and columns should have the same type
            // on a cluster as here.
            .set_bool(
                "datafusion.execution.parquet.schema_force_view_types",
                false,
            )
            .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false);
        match self.cluster {
            Some(_) => cluster::session(config),
            None => Ok(SessionContext::new_with_config(config)),
        }
    }
}

async fn query(args: &Args, functions: &Functions, mut output: Output) -> anyhow::Result<()> {
    let mut context = args.session()?;
    functions.register(&mut context)?;
    let mut statement = functions.statement(&args.query)?;
    tables::register(&context, &mut statement).await?;
    let plan = context.state().statement_to_plan(statement).await?;
    // The columns have the types of the physical plan: a logical plan may lack the types that UNION converts to.
    if let Some(url) = &args.cluster {
        let plan = cluster::physical_plan(&context, &plan).await?;
        output.begin(&plan.schema())?;
        let take = |batch: RecordBatch| output.write(&batch);
        cluster::execute(url, &context, functions, plan, take).await?;
        return output.finish();
    }
    let frame = context.execute_logical_plan(plan).await?;
    let mut batches = frame.execute_stream().await?;
    output.begin(&batches.schema())?;
    while let Some(batch) = batches.next().await {
        output.write(&batch?)?;
    }
    output.finish()
}
