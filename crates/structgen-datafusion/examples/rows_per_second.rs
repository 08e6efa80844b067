//! Compares the rows per second of `extract` in SQL over a Parquet file with a loop over the library with the same
//! model.
//!
//! `cargo run --release -p structgen-datafusion --example rows_per_second -- [ROWS]`
//!
//! Both are measured alternately, in one process, with 1, 2 and 4 workers. The program creates the file.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use parquet::arrow::ArrowWriter;
use structgen::decode::SchedulerLimits;
use structgen::{GenerateOptions, Model, ModelOptions, SchemaExtractor, SchemaOptions};
use structgen_datafusion::{FunctionOptions, Functions, Schemas};

const SCHEMA: &str = r#"{"type": "object", "required": ["name", "city"],
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rows: usize = env::args().nth(1).map_or(Ok(2_000), |it| it.parse())?;
    structgen::runtime::ensure(|line| drop(writeln!(io::stderr(), "{line}")))?;
    let texts: Vec<String> = (0..rows).map(text).collect();
    let path = env::temp_dir().join(format!("structgen-rows-{}.parquet", std::process::id()));
    write(&path, &texts)?;
    let mut out = io::stdout();
    writeln!(out, "workers  loop/s  SQL/s  ratio  resident MB")?;
    for workers in [1, 2, 4] {
        let model = model(workers)?;
        let (mut of_loop, mut of_sql) = (0.0_f64, 0.0_f64);
        // Warm up with the first rows of each; then take the better of two turns.
        for turn in 0..3 {
            let some = if turn == 0 { rows / 10 } else { rows };
            let start = Instant::now();
            run_loop(&model, &texts[..some])?;
            let looped = some as f64 / start.elapsed().as_secs_f64();
            let start = Instant::now();
            run_sql(&model, &path, some).await?;
            let queried = some as f64 / start.elapsed().as_secs_f64();
            if turn > 0 {
                (of_loop, of_sql) = (of_loop.max(looped), of_sql.max(queried));
            }
        }
        let (ratio, memory) = (of_sql / of_loop, resident());
        writeln!(
            out,
            "{workers:7} {of_loop:7.0} {of_sql:6.0} {ratio:6.2} {memory:12}"
        )?;
    }
    fs::remove_file(path)?;
    Ok(())
}

fn text(row: usize) -> String {
    let names = [
        "Ruben Keller",
        "Ada Byron",
        "Mia Brandt",
        "Jo Lund",
        "Ines Roth",
    ];
    let cities = ["Utrecht", "London", "Graz", "Oslo", "Porto", "Lyon", "Brno"];
    let (name, city) = (names[row % names.len()], cities[row % cities.len()]);
    format!("Ticket {row}: my name is {name}, I live in {city}, and the parcel has not come.")
}

fn write(path: &Path, texts: &[String]) -> Result<(), Box<dyn Error>> {
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("body", column)])?;
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn model(workers: usize) -> structgen::Result<Model> {
    let mut limits = SchedulerLimits::default();
    limits.rows = 1;
    let workers = NonZeroUsize::new(workers).unwrap_or(NonZeroUsize::MIN);
    Model::embedded(
        &ModelOptions::new()
            .with_workers(workers)
            .with_limits(limits),
    )
}

/// The code that one would write without tables.
fn run_loop(model: &Model, texts: &[String]) -> Result<(), Box<dyn Error>> {
    let schema = serde_json::from_str(SCHEMA)?;
    let extractor = SchemaExtractor::new(
        model.clone(),
        schema,
        &SchemaOptions::new(),
        GenerateOptions::default(),
    )?;
    for found in extractor.extract_all(texts) {
        found?;
    }
    Ok(())
}

async fn run_sql(model: &Model, path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let model = model.clone();
    let options = FunctionOptions::new().with_schemas(Schemas::new().with("person", SCHEMA));
    let functions = Functions::new(move || Ok(model.clone()), options);
    let config = Functions::session_config()
        .with_target_partitions(1)
        .with_batch_size(256);
    let mut context = SessionContext::new_with_config(config);
    functions.register(&mut context)?;
    let path = path.to_str().ok_or("the path is no text")?;
    context
        .register_parquet("mails", path, ParquetReadOptions::default())
        .await?;
    let sql = format!("SELECT extract(body, 'person').* FROM mails LIMIT {rows}");
    let plan = context
        .state()
        .statement_to_plan(functions.statement(&sql)?)
        .await?;
    let found = context.execute_logical_plan(plan).await?.collect().await?;
    let count: usize = found.iter().map(RecordBatch::num_rows).sum();
    assert_eq!((count, functions.errors()), (rows, 0));
    Ok(())
}

/// Returns the memory of this process in megabytes, if the system reports it.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1_024
}
