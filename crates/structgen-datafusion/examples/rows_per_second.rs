//! Compares the rows per second of `extract` in SQL over Parquet files with a loop over the library with the same
//! model, and their results.
//!
//! `cargo run --release -p structgen-datafusion --example rows_per_second -- [ROWS [WORKERS…]]`
//!
//! Both are measured alternately, in one process, with 1, 2 and 4 workers if none are given. The program creates the
//! files. It prints the resident memory after each of them, since a long run should not need more than a short one.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use parquet::arrow::ArrowWriter;
use structgen::decode::SchedulerLimits;
use structgen::{GenerateOptions, Model, ModelOptions, SchemaExtractor, SchemaOptions};
use structgen_datafusion::{FunctionOptions, Functions, Schemas};

const SCHEMA: &str = r#"{"type": "object", "required": ["name", "city"],
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}}}"#;
/// The number of files.
const PARTS: usize = 20;
/// The most rows of a file that the loop extracts from.
const LOOPED: usize = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<usize> =
        { env::args().skip(1).map(|it| it.parse()) }.collect::<Result<_, _>>()?;
    let rows = given.first().copied().unwrap_or(2_000);
    let workers = given.get(1..).filter(|it| !it.is_empty());
    structgen::runtime::ensure(|line| drop(writeln!(io::stderr(), "{line}")))?;
    let folder = env::temp_dir().join(format!("structgen-rows-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let texts: Vec<String> = (0..rows).map(text).collect();
    let parts = { texts.chunks(rows.div_ceil(PARTS).max(1)).enumerate() }
        .map(|(at, texts)| Part::write(folder.join(format!("{at}.parquet")), texts.to_vec()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut out = io::stdout();
    writeln!(out, "workers  loop/s  SQL/s  ratio  resident MB")?;
    for &workers in workers.unwrap_or(&[1, 2, 4]) {
        writeln!(out, "{workers:7} {}", measure(workers, &parts).await?)?;
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}

/// The line of a number of workers.
async fn measure(workers: usize, parts: &[Part]) -> Result<String, Box<dyn Error>> {
    let model = model(workers)?;
    let Some(first) = parts.first() else {
        return Err("there are no rows".into());
    };
    // The first calls prepare what later ones share.
    run_loop(&model, &first.texts[..first.texts.len().min(100)])?;
    let (mut of_loop, mut of_sql) = (Rate::default(), Rate::default());
    let mut memory = Vec::new();
    for part in parts {
        let start = Instant::now();
        let looped = run_loop(&model, &part.texts[..part.texts.len().min(LOOPED)])?;
        of_loop.add(looped.len(), start);
        let start = Instant::now();
        let queried = run_sql(&model, &part.path).await?;
        of_sql.add(queried.len(), start);
        assert_eq!(queried.len(), part.texts.len());
        assert_eq!(looped, queried[..looped.len()]);
        memory.push(resident().to_string());
    }
    let (of_loop, of_sql) = (of_loop.per_second(), of_sql.per_second());
    let ratio = of_sql / of_loop;
    let memory = memory.join(" ");
    Ok(format!("{of_loop:7.0} {of_sql:6.0} {ratio:6.2}  {memory}"))
}

#[derive(Default)]
struct Rate {
    rows: usize,
    seconds: f64,
}

impl Rate {
    fn add(&mut self, rows: usize, start: Instant) {
        self.rows += rows;
        self.seconds += start.elapsed().as_secs_f64();
    }

    fn per_second(&self) -> f64 {
        self.rows as f64 / self.seconds
    }
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

/// Some of the rows, and their file.
struct Part {
    texts: Vec<String>,
    path: PathBuf,
}

impl Part {
    fn write(path: PathBuf, texts: Vec<String>) -> Result<Self, Box<dyn Error>> {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(&texts));
        let batch = RecordBatch::try_from_iter([("body", column)])?;
        let mut writer = ArrowWriter::try_new(File::create(&path)?, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(Self { texts, path })
    }
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

/// A name and a city.
type Row = [String; 2];

/// The code that one would write without tables.
fn run_loop(model: &Model, texts: &[String]) -> Result<Vec<Row>, Box<dyn Error>> {
    let schema = serde_json::from_str(SCHEMA)?;
    let extractor = SchemaExtractor::new(
        model.clone(),
        schema,
        &SchemaOptions::new(),
        GenerateOptions::default(),
    )?;
    let mut rows = Vec::with_capacity(texts.len());
    for found in extractor.extract_all(texts) {
        let value = found?.value;
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        rows.push([text("name"), text("city")]);
    }
    Ok(rows)
}

async fn run_sql(model: &Model, path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
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
    let sql = "SELECT extract(body, 'person').* FROM mails";
    let plan = context
        .state()
        .statement_to_plan(functions.statement(sql)?)
        .await?;
    let found = context.execute_logical_plan(plan).await?.collect().await?;
    assert_eq!(functions.errors(), 0);
    let mut rows = Vec::new();
    for batch in &found {
        let [names, cities] = [0, 1].map(|at| batch.column(at).as_string::<i32>());
        let pairs = names.iter().zip(cities.iter());
        rows.extend(pairs.map(|(name, city)| [name, city].map(|it| it.unwrap_or_default().into())));
    }
    Ok(rows)
}

/// Returns the memory of this process in megabytes, if the system reports it.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1_024
}
