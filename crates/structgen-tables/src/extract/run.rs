//! A run: computes the missing partitions, and then joins all of them into one file.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, bail};
use datafusion::arrow::array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::files::{self, FileFormat, RowWriter};
use super::part::Extraction;
use super::plan::PartFolder;
use super::progress::Progress;

/// Number of partitions written at the same time: while one reads, writes, or waits for its last rows, the rows of the
/// other keep the workers busy.
const LANES: usize = 2;

/// Writes the missing partitions; returns how many rows these have.
pub(super) fn run(extraction: &Extraction<'_>, folder: &PartFolder) -> anyhow::Result<u64> {
    let partitions = &extraction.plan().partitions;
    let missing: Vec<usize> = (0..partitions.len())
        .filter(|&it| !folder.is_done(it))
        .collect();
    let rows: u64 = missing.iter().map(|&it| partitions[it].rows).sum();
    let all = extraction.plan().rows();
    if rows == 0 {
        return Ok(0);
    }
    extraction.load()?;
    let progress = Progress::new(all - rows, all);
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let lane = || -> anyhow::Result<()> {
        while let Some(&partition) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if has_failed.load(Ordering::Relaxed) {
                break;
            }
            let written =
                extraction.write_part(partition, folder, |rows, bad| progress.add(rows, bad));
            if let Err(error) = written {
                has_failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    };
    let outcomes = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        let outcomes = lanes.into_iter().map(|lane| lane.join());
        outcomes.collect::<Vec<_>>()
    });
    progress.finish();
    for outcome in outcomes {
        match outcome {
            Ok(outcome) => outcome?,
            Err(_) => bail!("a thread of the run ended early"),
        }
    }
    Ok(rows)
}

/// Joins all partitions into one file, in order, and their errors into another; returns how many rows have an error.
pub(super) fn assemble(
    extraction: &Extraction<'_>,
    folder: &PartFolder,
    output: &Path,
    errors: &Path,
) -> anyhow::Result<u64> {
    let bad = assemble_errors(extraction, folder, errors)?;
    let file = folder.temporary()?;
    let format = extraction.plan().format;
    let written = match format {
        FileFormat::Parquet => join_parquet(extraction, folder, file.reopen()?),
        FileFormat::Csv | FileFormat::Jsonl => join_lines(extraction, folder, file.reopen()?),
    };
    written
        .and_then(|()| Ok(files::persist(file, output)?))
        .with_context(|| format!("{} cannot be written", output.display()))?;
    Ok(bad)
}

fn join_parquet(extraction: &Extraction<'_>, folder: &PartFolder, to: File) -> anyhow::Result<()> {
    let mut writer = RowWriter::new(to, FileFormat::Parquet, extraction.schema())?;
    for (at, partition) in extraction.plan().partitions.iter().enumerate() {
        let path = folder.part(at);
        let file = File::open(&path)?;
        let mut rows = 0;
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            // A file's metadata about its columns is not part of a batch.
            let schema = extraction.schema().clone();
            writer.write(&RecordBatch::try_new(schema, batch.columns().to_vec())?)?;
        }
        if rows != partition.rows {
            bail!(
                "{} has {rows} rows instead of {}",
                path.display(),
                partition.rows
            );
        }
    }
    writer.finish()?;
    Ok(())
}

/// Concatenates text files; for CSV, with the header of the first one.
fn join_lines(extraction: &Extraction<'_>, folder: &PartFolder, to: File) -> anyhow::Result<()> {
    let mut to = io::BufWriter::new(to);
    let header = match extraction.plan().format {
        FileFormat::Csv => {
            RowWriter::new(Vec::new(), FileFormat::Csv, extraction.schema())?.finish()?
        }
        _ => Vec::new(),
    };
    to.write_all(&header)?;
    for at in 0..extraction.plan().partitions.len() {
        let mut part = BufReader::new(File::open(folder.part(at))?);
        part.seek_relative(i64::try_from(header.len())?)?;
        io::copy(&mut part, &mut to)?;
    }
    to.flush()?;
    Ok(())
}

fn assemble_errors(
    extraction: &Extraction<'_>,
    folder: &PartFolder,
    errors: &Path,
) -> anyhow::Result<u64> {
    let mut file = folder.temporary()?;
    let mut bad = 0;
    for at in 0..extraction.plan().partitions.len() {
        let part = match File::open(folder.errors(at)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            part => part?,
        };
        for line in BufReader::new(part).lines() {
            writeln!(file, "{}", line?)?;
            bad += 1;
        }
    }
    if bad > 0 {
        files::persist(file, errors)
            .with_context(|| format!("{} cannot be written", errors.display()))?;
    } else if errors.exists() {
        // The error file of an earlier run would be misleading.
        fs::remove_file(errors)?;
    }
    Ok(bad)
}
