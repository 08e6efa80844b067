//! Input tables: files of rows, with a text column and columns to keep.

mod csv;
mod jsonl;
mod parquet;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use super::files::FileFormat;

/// A partition ends after this many bytes of text, so that its rows fit into memory.
const PARTITION_BYTES: u64 = 16 << 20;
/// Maximum number of rows to read at a time.
const CHUNK_ROWS: usize = 256;

/// An input file, and its contents when the run was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    format: FileFormat,
    bytes: u64,
    /// A hash of all bytes or, for Parquet, of the metadata at its end, which contains statistics and the positions of
    /// all data.
    hash: u64,
    /// The columns, for formats whose files do not declare them.
    columns: Vec<(String, ColumnKind)>,
}

/// The kind of all values of a JSON Lines column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColumnKind {
    Boolean,
    Integer,
    Number,
    Text,
    Json,
}

/// The position of some rows in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) rows: u64,
    /// The first row for Parquet, otherwise the first byte.
    pub(crate) start: u64,
}

/// The text column, and the columns to keep; by default all.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) text: String,
    pub(crate) keep: Option<Vec<String>>,
}

/// Some rows of a partition.
pub(crate) struct Chunk {
    pub(crate) texts: ArrayRef,
    pub(crate) kept: RecordBatch,
    /// Rows that could not be read, with the reasons. Their texts are NULL.
    pub(crate) bad: Vec<(usize, String)>,
}

pub(crate) type Chunks = Box<dyn Iterator<Item = anyhow::Result<Chunk>>>;

impl Input {
    /// Scans a file for a plan: how many rows there are, and where.
    pub(crate) fn scan(
        path: &Path,
        selection: &Selection,
        partition_rows: u64,
    ) -> anyhow::Result<(Self, Vec<Piece>)> {
        let scanned = match FileFormat::of(path)? {
            FileFormat::Parquet => parquet::scan(path, partition_rows),
            FileFormat::Csv => csv::scan(path, partition_rows),
            FileFormat::Jsonl => jsonl::scan(path, partition_rows),
        };
        let (input, pieces) =
            scanned.with_context(|| format!("{} cannot be read", path.display()))?;
        input.check(selection)?;
        Ok((input, pieces))
    }

    fn check(&self, selection: &Selection) -> anyhow::Result<()> {
        let names = self.names()?;
        let wanted = selection.keep.iter().flatten().chain([&selection.text]);
        for name in wanted {
            if !names.contains(name) {
                let (path, has) = (self.path.display(), names.join(", "));
                bail!("{path} has no column {name:?}; it has {has}");
            }
        }
        Ok(())
    }

    fn names(&self) -> anyhow::Result<Vec<String>> {
        Ok(match self.format {
            FileFormat::Parquet => {
                let schema = parquet::schema(&self.path)?;
                schema.fields().iter().map(|it| it.name().clone()).collect()
            }
            _ => self.columns.iter().map(|(name, _)| name.clone()).collect(),
        })
    }

    /// Returns the columns to keep, as declared in the file.
    pub(crate) fn kept_schema(&self, selection: &Selection) -> anyhow::Result<SchemaRef> {
        match self.format {
            FileFormat::Parquet => parquet::kept_schema(&self.path, selection),
            FileFormat::Csv => Ok(csv::kept_schema(&self.columns, selection)),
            FileFormat::Jsonl => Ok(jsonl::kept_schema(&self.columns, selection)),
        }
    }

    /// Reads the rows of a piece.
    pub(crate) fn read(&self, piece: &Piece, selection: &Selection) -> anyhow::Result<Chunks> {
        let chunks = match self.format {
            FileFormat::Parquet => parquet::read(&self.path, piece, selection),
            FileFormat::Csv => csv::read(&self.path, &self.columns, piece, selection),
            FileFormat::Jsonl => jsonl::read(&self.path, &self.columns, piece, selection),
        };
        chunks.with_context(|| format!("{} cannot be read", self.path.display()))
    }
}

impl Selection {
    fn keeps(&self, name: &str) -> bool {
        let keep = self.keep.as_ref();
        keep.is_none_or(|keep| keep.iter().any(|it| it == name))
    }
}

/// Cuts rows into pieces while scanning.
struct Cutter {
    partition_rows: u64,
    pieces: Vec<Piece>,
    open: Option<Piece>,
}

impl Cutter {
    fn new(partition_rows: u64) -> Self {
        Self {
            partition_rows,
            pieces: Vec::new(),
            open: None,
        }
    }

    /// Adds a row between two byte offsets.
    fn row(&mut self, start: u64, end: u64) {
        let piece = self.open.get_or_insert(Piece { rows: 0, start });
        piece.rows += 1;
        if piece.rows >= self.partition_rows || end - piece.start >= PARTITION_BYTES {
            self.pieces.extend(self.open.take());
        }
    }

    fn finish(mut self) -> Vec<Piece> {
        self.pieces.extend(self.open);
        self.pieces
    }
}
