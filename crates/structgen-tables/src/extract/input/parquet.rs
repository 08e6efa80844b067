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
use xxhash_rust::xxh3::xxh3_64;

use super::super::files::{FileFormat, is_text};
use super::{CHUNK_ROWS, Chunk, Chunks, Input, Piece, Selection};

pub(super) fn scan(path: &Path, partition_rows: u64) -> anyhow::Result<(Input, Vec<Piece>)> {
    let builder = builder(path)?;
    let rows = builder.metadata().file_metadata().num_rows();
    let rows = u64::try_from(rows).context("the number of rows is negative")?;
    let starts = (0..rows).step_by(usize::try_from(partition_rows)?);
    let pieces = starts.map(|start| Piece {
        rows: partition_rows.min(rows - start),
        start,
    });
    let (bytes, hash) = footer(path)?;
    let input = Input {
        path: path.to_owned(),
        format: FileFormat::Parquet,
        bytes,
        hash,
        columns: Vec::new(),
    };
    Ok((input, pieces.collect()))
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
