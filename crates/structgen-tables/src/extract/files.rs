//! Files of rows: formats, and atomic writing.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::json::writer::{LineDelimited, Writer as JsonWriter, WriterBuilder};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileFormat {
    Parquet,
    Csv,
    Jsonl,
}

impl FileFormat {
    /// Returns the format by the file's extension.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        match path.extension().and_then(|it| it.to_str()) {
            Some("parquet") => Ok(Self::Parquet),
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            _ => bail!("{} has to end in .parquet, .csv or .jsonl", path.display()),
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }
}

/// Writes batches of rows to a file.
pub(crate) enum RowWriter<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Csv(Box<csv::Writer<W>>),
    Jsonl(JsonWriter<W, LineDelimited>),
}

impl<W: Write + Send> RowWriter<W> {
    pub(crate) fn new(to: W, format: FileFormat, schema: &SchemaRef) -> anyhow::Result<Self> {
        Ok(match format {
            FileFormat::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .build();
                let schema = SchemaRef::clone(schema);
                Self::Parquet(Box::new(ArrowWriter::try_new(
                    to,
                    schema,
                    Some(properties),
                )?))
            }
            FileFormat::Csv => {
                let nested = schema.fields().iter().find(|it| it.data_type().is_nested());
                if let Some(nested) = nested {
                    let name = nested.name();
                    bail!(
                        "the column {name:?} is nested, which CSV cannot be: write .parquet or .jsonl"
                    );
                }
                let mut writer = csv::WriterBuilder::new().with_header(true).build(to);
                // Write the header even if there are no rows.
                writer.write(&RecordBatch::new_empty(SchemaRef::clone(schema)))?;
                Self::Csv(Box::new(writer))
            }
            FileFormat::Jsonl => {
                Self::Jsonl(WriterBuilder::new().with_explicit_nulls(true).build(to))
            }
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::Csv(writer) => writer.write(batch)?,
            Self::Jsonl(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Completes the file, and returns its destination.
    pub(crate) fn finish(self) -> anyhow::Result<W> {
        Ok(match self {
            Self::Parquet(writer) => writer.into_inner()?,
            Self::Csv(writer) => writer.into_inner(),
            Self::Jsonl(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
        })
    }
}

/// Creates a temporary file in the folder of `path`, which replaces that once it is complete, and is otherwise removed.
pub(crate) fn temporary_beside(path: &Path) -> anyhow::Result<NamedTempFile> {
    temporary_in(&folder_of(path))
}

pub(crate) fn temporary_in(folder: &Path) -> anyhow::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".structgen-")
        .tempfile_in(folder)
        .with_context(|| format!("nothing can be written in {}", folder.display()))
}

/// Appends `suffix` to a path.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Syncs a file to disk, moves it to its path, and syncs the folder.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(&folder_of(path))
}

/// Writes a small file atomically.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let mut file = temporary_beside(path)?;
    let written = file.write_all(content).and_then(|()| persist(file, path));
    written.with_context(|| format!("{} cannot be written", path.display()))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Returns whether a column can be extracted from as text.
pub(crate) fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => true,
        _ => false,
    }
}
