//! `extract`: extracts a value from each row of a table, into a table.

pub(crate) mod files;
mod input;
mod part;
mod plan;
mod progress;
mod run;
mod sample;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use structgen_datafusion::{ExtraColumns, Functions};

use crate::Outcome;
use crate::model::{self, ModelArgs, RowArgs};
use crate::terminal::say;
use files::FileFormat;
use input::{Input, Selection};
use part::Extraction;
use plan::{PartFolder, Plan};

/// Number of rows that a dry run tries.
const TRIED_ROWS: u64 = 64;

/// Options of `structgen extract --input`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "The output has all rows of the input in their order: the columns that are kept, and the properties of the schema. Rows \
    without a value are NULL there, and in the file OUT.errors.jsonl with their numbers, from 0, and the reasons.\n\n\
    Rows are written in parts to the folder OUT.parts. A run that was killed goes on with the parts that are missing when it is started \
    again; the folder is removed when OUT is complete.\n\n\
    Exit codes: 0 done, 1 done, but some rows have no value, 2 not done."
)]
pub(crate) struct Args {
    /// Input tables: files that end in .parquet, .csv or .jsonl
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    input: Vec<PathBuf>,
    /// Column that contains the texts
    #[arg(long, value_name = "NAME")]
    column: String,
    /// JSON Schema: a file, or the schema itself
    #[arg(long, value_name = "FILE")]
    schema: String,
    /// Output file, which must end in .parquet, .csv or .jsonl
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Columns to keep, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    keep: Option<Vec<String>>,
    /// Columns to add to the values, separated by commas: error, confidence, spans
    #[arg(long, value_name = "NAMES", default_value = "")]
    columns: String,
    /// Process the first N rows only
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Process N rows only, evenly spread
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// Try a few rows, report how long all of them would take, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Maximum number of rows per part; a killed run has to repeat at most its current parts
    #[arg(long, value_name = "N", default_value = "1000")]
    part_rows: NonZeroU64,
    /// Start over, ignoring what an earlier run left, and replace the output
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    rows: RowArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let columns: ExtraColumns = args.columns.parse()?;
    let format = match &args.output {
        Some(output) => FileFormat::of(output)?,
        None => FileFormat::Parquet,
    };
    let functions = Functions::new(args.model.loader(), args.rows.function_options());
    let extractor = match format {
        FileFormat::Csv if columns.confidence || columns.spans => {
            bail!(
                "the columns confidence and spans are nested, which CSV cannot be: write .parquet or .jsonl"
            )
        }
        FileFormat::Csv => functions.flat_extractor(&args.schema, columns)?,
        _ => functions.extractor(&args.schema, columns)?,
    };
    let selection = Selection {
        text: args.column.clone(),
        keep: args.keep.clone(),
    };
    let mut inputs = Vec::new();
    for path in &args.input {
        inputs.push(Input::scan(path, &selection, args.part_rows.get())?);
    }
    let sample = match args.dry_run {
        true => Some(args.sample.unwrap_or(TRIED_ROWS).min(TRIED_ROWS)),
        false => args.sample,
    };
    let rows: u64 = inputs
        .iter()
        .flat_map(|(_, pieces)| pieces)
        .map(|it| it.rows)
        .sum();
    let identity = args.identity(&functions)?;
    let plan = Plan::new(inputs, identity, format, args.limit, sample);
    let extraction = Extraction::new(&plan, selection, extractor, columns)?;
    match &args.output {
        Some(output) if !args.dry_run => args.write(&extraction, output),
        _ => {
            let rows = args.limit.unwrap_or(rows).min(rows);
            try_rows(&extraction, args.sample.unwrap_or(rows).min(rows))
        }
    }
}

impl Args {
    /// Returns what the values depend on, each with a name for messages.
    fn identity(&self, functions: &Functions) -> anyhow::Result<Vec<(String, String)>> {
        let schema = functions.schema(&self.schema)?.text().to_owned();
        let named = |name: &str, value: String| (name.to_owned(), value);
        Ok(vec![
            named(
                "the version of structgen-tables",
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
            named(
                "the model or an option of it",
                model::identity(&self.model, &self.rows)?,
            ),
            named("the schema", schema),
            named("the column", self.column.clone()),
            named("what is kept", format!("{:?}", self.keep)),
            named("the columns beside the values", self.columns.clone()),
        ])
    }

    fn write(&self, extraction: &Extraction<'_>, output: &Path) -> Outcome {
        if !self.overwrite && output.exists() && !PartFolder::has_plan(output) {
            let path = output.display();
            bail!("{path} is there already; --overwrite replaces it");
        }
        let errors = files::with_suffix(output, ".errors.jsonl");
        let folder = PartFolder::open(output, extraction.plan(), self.overwrite)?;
        let start = Instant::now();
        let done = run::run(extraction, &folder)?;
        let bad = run::assemble(extraction, &folder, output, &errors)?;
        folder.finish()?;
        let rows = extraction.plan().rows();
        let seconds = start.elapsed().as_secs_f64();
        say(&format!(
            "{rows} rows, {done} of them now, in {seconds:.1} s ({:.0} rows a second)",
            done as f64 / seconds.max(1e-9)
        ));
        if bad > 0 {
            say(&format!(
                "{bad} rows have no value: see {}",
                errors.display()
            ));
        }
        Ok(bad)
    }
}

/// Extracts from a few rows, and reports how long all of them would take.
fn try_rows(extraction: &Extraction<'_>, rows: u64) -> Outcome {
    // Costs that occur once must not count per row.
    extraction.load()?;
    let start = Instant::now();
    let (mut tried, mut bad) = (0_u64, 0_u64);
    for partition in 0..extraction.plan().partitions.len() {
        extraction.each_batch(partition, |batch, errors| {
            tried += batch.num_rows() as u64;
            bad += errors.len() as u64;
            Ok(())
        })?;
    }
    let elapsed = start.elapsed().as_secs_f64();
    let each = elapsed / tried.max(1) as f64;
    let all = Duration::from_secs_f64(each * rows as f64);
    say(&format!(
        "{tried} rows tried in {elapsed:.1} s, {bad} of them without a value: {:.0} rows a second. All {rows} rows would take about {}.",
        1.0 / each.max(1e-9),
        progress::in_words(all)
    ));
    Ok(0)
}
