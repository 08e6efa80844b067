//! Parquet: rows by number.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use xxhash_rust::xxh3::xxh3_64;

use super::super::files::{FileFormat, is_text};
use super::{CHUNK_ROWS, Chunk, Chunks, Input, Piece, Selection};

/// Maximum number of pieces of a file, so that the plan of a file that declares any number of rows fits into memory.
const MAX_PIECES: u64 = 1 << 22;

pub(super) fn scan(path: &Path, partition_rows: u64) -> anyhow::Result<(Input, Vec<Piece>)> {
    let rows = rows(builder(path)?.metadata())?;
    let pieces = pieces(rows, partition_rows)?;
    let (bytes, hash) = footer(path)?;
    let input = Input {
        path: path.to_owned(),
        format: FileFormat::Parquet,
        bytes,
        hash,
        columns: Vec::new(),
    };
    Ok((input, pieces))
}

/// Returns the number of rows of all row groups, if it is the one that the file declares.
fn rows(metadata: &ParquetMetaData) -> anyhow::Result<u64> {
    let declared = metadata.file_metadata().num_rows();
    let mut rows = 0_u64;
    for group in metadata.row_groups() {
        let more = u64::try_from(group.num_rows()).ok();
        let sum = more.and_then(|more| rows.checked_add(more));
        rows = sum.context("it is damaged: a row group declares an impossible number of rows")?;
    }
    if u64::try_from(declared) != Ok(rows) {
        bail!("it is damaged: it declares {declared} rows, and its row groups have {rows}");
    }
    Ok(rows)
}

fn pieces(rows: u64, partition_rows: u64) -> anyhow::Result<Vec<Piece>> {
    if rows.div_ceil(partition_rows) > MAX_PIECES {
        bail!("it declares {rows} rows, which is more than {MAX_PIECES} parts of {partition_rows}");
    }
    let starts = (0..rows).step_by(usize::try_from(partition_rows)?);
    let pieces = starts.map(|start| Piece {
        rows: partition_rows.min(rows - start),
        start,
    });
    Ok(pieces.collect())
}

pub(super) fn schema(path: &Path) -> anyhow::Result<SchemaRef> {
    Ok(SchemaRef::clone(builder(path)?.schema()))
}

pub(super) fn kept_schema(path: &Path, selection: &Selection) -> anyhow::Result<SchemaRef> {
    let schema = schema(path)?;
    let text = schema.field_with_name(&selection.text)?;
    if !is_text(text.data_type()) {
        bail!(
            "the column {:?} of {} is no text: its type is {}",
            selection.text,
            path.display(),
            text.data_type()
        );
    }
    let kept = schema
        .fields()
        .iter()
        .filter(|it| selection.keeps(it.name()));
    Ok(Arc::new(Schema::new(kept.cloned().collect::<Vec<_>>())))
}

pub(super) fn read(path: &Path, piece: &Piece, selection: &Selection) -> anyhow::Result<Chunks> {
    let builder = builder(path)?;
    let selection = selection.clone();
    let is_read = |name: &str| name == selection.text || selection.keeps(name);
    let fields = builder.schema().fields().iter().enumerate();
    let roots: Vec<usize> = fields
        .filter(|(_, it)| is_read(it.name()))
        .map(|(at, _)| at)
        .collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = builder
        .with_projection(mask)
        .with_offset(usize::try_from(piece.start)?)
        .with_limit(usize::try_from(piece.rows)?)
        .with_batch_size(CHUNK_ROWS)
        .build()?;
    Ok(Box::new(reader.map(move |batch| {
        let batch = batch?;
        let schema = batch.schema();
        let texts = ArrayRef::clone(batch.column(schema.index_of(&selection.text)?));
        let kept = schema.fields().iter().enumerate();
        let kept = kept.filter(|(_, field)| selection.keeps(field.name()));
        let kept: Vec<usize> = kept.map(|(at, _)| at).collect();
        Ok(Chunk {
            texts,
            kept: batch.project(&kept)?,
            bad: Vec::new(),
        })
    })))
}

fn builder(path: &Path) -> anyhow::Result<ParquetRecordBatchReaderBuilder<File>> {
    Ok(ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?)
}

/// Returns the length of a file, and a hash of the metadata at its end.
fn footer(path: &Path) -> anyhow::Result<(u64, u64)> {
    /// The length field of the metadata, and the magic number.
    const END: u64 = 8;
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut end = [0; END as usize];
    file.seek(SeekFrom::Start(bytes.saturating_sub(END)))?;
    file.read_exact(&mut end)?;
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let start = bytes.saturating_sub(END + u64::from(length));
    file.seek(SeekFrom::Start(start))?;
    let mut metadata = Vec::new();
    file.read_to_end(&mut metadata)?;
    Ok((bytes, xxh3_64(&metadata)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_all_rows_and_are_not_too_many() {
        let rows = |pieces: Vec<Piece>| pieces.iter().map(|it| it.rows).collect::<Vec<_>>();
        assert_eq!(rows(pieces(7, 3).unwrap()), [3, 3, 1]);
        assert!(pieces(0, 3).unwrap().is_empty());
        for rows in [MAX_PIECES * 1_000 + 1, u64::MAX] {
            assert!(pieces(rows, 1_000).is_err());
        }
    }
}
