//! A session with the functions on the embedded model.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use structgen::decode::SchedulerLimits;
use structgen::{Model, ModelOptions};
use structgen_datafusion::{FunctionOptions, Functions, Schemas};

pub(crate) const CONTACT: &str = r#"{
    "type": "object", "required": ["name", "city"],
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}, "age": {"type": ["integer", "null"]}}
}"#;

pub(crate) const TEXTS: [&str; 4] = [
    "My name is Ruben Keller and I live in Utrecht.",
    "Ada Byron, 36 years old, from London",
    "We met Mia Brandt in Graz.",
    "Jo Lund moved to Oslo at the age of 41.",
];

/// Returns a model with this number of workers, each with one row at a time.
pub(crate) fn model(workers: usize) -> structgen::Result<Model> {
    let mut limits = SchedulerLimits::default();
    limits.rows = 1;
    model_with(workers, limits)
}

pub(crate) fn model_with(workers: usize, limits: SchedulerLimits) -> structgen::Result<Model> {
    structgen::runtime::ensure(|line| drop(writeln!(std::io::stderr(), "{line}")))?;
    let workers = NonZeroUsize::new(workers).unwrap();
    Model::embedded(
        &ModelOptions::new()
            .with_workers(workers)
            .with_limits(limits),
    )
}

pub(crate) fn functions() -> Functions {
    functions_with(FunctionOptions::new())
}

pub(crate) fn functions_with(options: FunctionOptions) -> Functions {
    let schemas = Schemas::new().with("contact", CONTACT).with_files(false);
    Functions::new(|| model(2), options.with_schemas(schemas))
}

/// Returns a session with a table `mails` of one column.
pub(crate) fn session(
    functions: &Functions,
    config: SessionConfig,
    body: ArrayRef,
) -> SessionContext {
    let mut context = SessionContext::new_with_config(config);
    functions.register(&mut context).unwrap();
    let batch = RecordBatch::try_from_iter_with_nullable([("body", body, true)]).unwrap();
    let schema = batch.schema();
    // Batches of three rows, in two partitions.
    let half = batch.num_rows().div_ceil(2);
    let halves = [(0, half), (half, batch.num_rows() - half)];
    let partitions = halves.map(|(start, rows)| {
        let batches = (0..rows).step_by(3);
        let batches = batches.map(|at| batch.slice(start + at, 3.min(rows - at)));
        batches.collect::<Vec<_>>()
    });
    let table = MemTable::try_new(schema, partitions.into()).unwrap();
    context.register_table("mails", Arc::new(table)).unwrap();
    context
}

pub(crate) async fn rows(
    context: &SessionContext,
    functions: &Functions,
    sql: &str,
) -> Vec<RecordBatch> {
    try_rows(context, functions, sql).await.unwrap()
}

pub(crate) async fn try_rows(
    context: &SessionContext,
    functions: &Functions,
    sql: &str,
) -> datafusion::error::Result<Vec<RecordBatch>> {
    let statement = functions.statement(sql)?;
    let plan = context.state().statement_to_plan(statement).await?;
    context.execute_logical_plan(plan).await?.collect().await
}

/// Formats the rows as a table, sorted, without its borders.
pub(crate) fn printed(batches: &[RecordBatch]) -> Vec<String> {
    let table = pretty_format_batches(batches).unwrap().to_string();
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(1);
    let mut rows: Vec<String> = lines.map(str::to_owned).collect();
    rows.sort();
    rows
}
