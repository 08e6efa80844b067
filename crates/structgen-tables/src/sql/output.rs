//! Where the rows of a query go: standard output, or a file that appears once it is complete.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::pretty::pretty_format_batches;
use tempfile::NamedTempFile;

use crate::extract::files::{self, FileFormat, RowWriter};

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A table with borders; all rows are collected in memory first
    Table,
    /// One JSON object per line
    Jsonl,
    /// Comma-separated values, with a header
    Csv,
}

pub(crate) enum Output {
    /// All rows, to be laid out together.
    Table(Vec<RecordBatch>, Option<SchemaRef>),
    Printed(FileFormat, Option<RowWriter<io::Stdout>>),
    File {
        path: PathBuf,
        format: FileFormat,
        file: NamedTempFile,
        writer: Option<RowWriter<std::fs::File>>,
    },
}

impl Output {
    pub(super) fn open(path: Option<&Path>, format: Option<Format>) -> anyhow::Result<Self> {
        if let Some(path) = path {
            return Ok(Self::File {
                path: path.to_owned(),
                format: FileFormat::of(path)?,
                // Report a folder that cannot be written before computing any row.
                file: files::temporary_beside(path)?,
                writer: None,
            });
        }
        let is_terminal = io::stdout().is_terminal();
        Ok(match format {
            Some(Format::Csv) => Self::Printed(FileFormat::Csv, None),
            Some(Format::Table) => Self::Table(Vec::new(), None),
            None if is_terminal => Self::Table(Vec::new(), None),
            Some(Format::Jsonl) | None => Self::Printed(FileFormat::Jsonl, None),
        })
    }

    pub(super) fn begin(&mut self, schema: &SchemaRef) -> anyhow::Result<()> {
        match self {
            Self::Table(_, of) => *of = Some(SchemaRef::clone(schema)),
            Self::Printed(format, writer) => {
                *writer = Some(RowWriter::new(io::stdout(), *format, schema)?);
            }
            Self::File {
                format,
                file,
                writer,
                ..
            } => {
                *writer = Some(RowWriter::new(file.reopen()?, *format, schema)?);
            }
        }
        Ok(())
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        match self {
            Self::Table(batches, _) => {
                batches.push(batch.clone());
                Ok(())
            }
            Self::Printed(_, Some(writer)) => writer.write(batch),
            Self::File {
                writer: Some(writer),
                ..
            } => writer.write(batch),
            Self::Printed(_, None) | Self::File { writer: None, .. } => bail!("nothing was begun"),
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Table(batches, schema) => {
                if batches.is_empty()
                    && let Some(schema) = schema
                {
                    let empty = [RecordBatch::new_empty(schema)];
                    return print_table(&empty);
                }
                print_table(&batches)
            }
            Self::Printed(_, writer) => match writer {
                Some(writer) => Ok(writer.finish()?.flush()?),
                None => Ok(()),
            },
            Self::File {
                path, file, writer, ..
            } => {
                if let Some(writer) = writer {
                    writer.finish()?.sync_all()?;
                }
                files::persist(file, &path)
                    .with_context(|| format!("{} cannot be written", path.display()))
            }
        }
    }
}

fn print_table(batches: &[RecordBatch]) -> anyhow::Result<()> {
    Ok(writeln!(
        io::stdout(),
        "{}",
        pretty_format_batches(batches)?
    )?)
}
