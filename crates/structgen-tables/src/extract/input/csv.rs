//! CSV: all columns are text, exactly as written; an empty field is NULL.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use csv::{ByteRecord, Reader, ReaderBuilder};
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::super::files::FileFormat;
use super::{CHUNK_ROWS, Chunk, Chunks, ColumnKind, Cutter, Input, Piece, Selection};
use crate::hashing::Hashing;
use crate::quotes::Quotes;

type Columns = [(String, ColumnKind)];

/// Maximum size of a row: after a quote that is not closed, the rest of a file may be one field.
const MAX_ROW_BYTES: u64 = 256 << 20;

pub(super) fn scan(path: &Path, partition_rows: u64) -> anyhow::Result<(Input, Vec<Piece>)> {
    let mut reader = reader(Quotes::new(Hashing::new(File::open(path)?)).take(MAX_ROW_BYTES));
    let mut record = ByteRecord::new();
    if !read_row(&mut reader, &mut record, MAX_ROW_BYTES)? {
        bail!("there is no line with the names of the columns");
    }
    let mut columns = Vec::new();
    for (at, name) in record.iter().enumerate() {
        // Some programs write a byte order mark.
        let name = if at == 0 {
            name.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(name)
        } else {
            name
        };
        let name = str::from_utf8(name).context("the name of a column is not UTF-8")?;
        if columns.iter().any(|(other, _)| other == name) {
            bail!("there are two columns of the name {name:?}");
        }
        columns.push((name.to_owned(), ColumnKind::Text));
    }
    let mut cutter = Cutter::new(partition_rows);
    let mut start = reader.position().byte();
    while read_row(&mut reader, &mut record, MAX_ROW_BYTES)? {
        let end = reader.position().byte();
        cutter.row(start, end);
        start = end;
    }
    let (bytes, hash) = reader.into_inner().into_inner().finish()?.finish();
    let input = Input {
        path: path.to_owned(),
        format: FileFormat::Csv,
        bytes,
        hash,
        columns,
    };
    Ok((input, cutter.finish()))
}

pub(super) fn kept_schema(columns: &Columns, selection: &Selection) -> SchemaRef {
    let kept = columns.iter().filter(|(name, _)| selection.keeps(name));
    let fields = kept.map(|(name, _)| Field::new(name, DataType::Utf8, true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

pub(super) fn read(
    path: &Path,
    columns: &Columns,
    piece: &Piece,
    selection: &Selection,
) -> anyhow::Result<Chunks> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(piece.start))?;
    let mut records = reader(BufReader::new(file));
    let (columns, selection) = (columns.to_vec(), selection.clone());
    let mut left = usize::try_from(piece.rows)?;
    Ok(Box::new(std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let rows = left.min(CHUNK_ROWS);
        left -= rows;
        Some(chunk(&mut records, rows, &columns, &selection))
    })))
}

fn chunk(
    records: &mut Reader<impl Read>,
    rows: usize,
    columns: &Columns,
    selection: &Selection,
) -> anyhow::Result<Chunk> {
    let mut read = Vec::with_capacity(rows);
    let mut bad = Vec::new();
    for row in 0..rows {
        let mut record = ByteRecord::new();
        if !records.read_byte_record(&mut record)? {
            bail!("it is shorter than when the run began");
        }
        if record.len() != columns.len() {
            let (has, header) = (record.len(), columns.len());
            bad.push((
                row,
                format!("the row has {has} fields, and the header {header}"),
            ));
        }
        read.push(record);
    }
    let field = |row: usize, column: usize| read[row].get(column).filter(|it| !it.is_empty());
    let is_bad = |row: usize| bad.iter().any(|(bad, _)| *bad == row);
    let text = columns.iter().position(|(name, _)| *name == selection.text);
    let text = text.context("the column of the text is missing")?;
    let texts = (0..rows).map(|row| field(row, text).filter(|_| !is_bad(row)));
    let texts: ArrayRef = Arc::new(texts.collect::<BinaryArray>());
    let mut kept: Vec<ArrayRef> = Vec::new();
    for (at, _) in columns
        .iter()
        .enumerate()
        .filter(|(_, it)| selection.keeps(&it.0))
    {
        let values = (0..rows).map(|row| field(row, at).map(String::from_utf8_lossy));
        kept.push(Arc::new(values.collect::<StringArray>()));
    }
    for row in 0..rows {
        let is_broken = |at: usize| {
            at != text
                && matches!(
                    field(row, at).map(String::from_utf8_lossy),
                    Some(Cow::Owned(_))
                )
        };
        let kept = columns
            .iter()
            .enumerate()
            .filter(|(_, it)| selection.keeps(&it.0));
        for (_, (name, _)) in kept.filter(|(at, _)| is_broken(*at)) {
            if !bad.iter().any(|(bad, _)| *bad == row) {
                bad.push((
                    row,
                    format!(
                        "the column {name:?} is not UTF-8, and has U+FFFD in place of what is not"
                    ),
                ));
            }
        }
    }
    Ok(Chunk {
        texts,
        kept: RecordBatch::try_new_with_options(
            kept_schema(columns, selection),
            kept,
            &RecordBatchOptions::new().with_row_count(Some(rows)),
        )?,
        bad,
    })
}

/// Reads a row of at most `most` bytes, or returns false at the end of the file.
fn read_row<R: Read>(
    reader: &mut Reader<Take<R>>,
    record: &mut ByteRecord,
    most: u64,
) -> anyhow::Result<bool> {
    let start = reader.position().byte();
    reader.get_mut().set_limit(most);
    let is_row = reader.read_byte_record(record)?;
    if reader.get_ref().limit() == 0 {
        bail!(
            "the row after the first {start} bytes has more than {most} bytes: is a quote closed?"
        );
    }
    Ok(is_row)
}

/// Every line counts, whatever its number of fields: an invalid row is an error of that row.
fn reader<R: Read>(from: R) -> Reader<R> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_too_long_is_refused() {
        let csv = format!("a\n\"{}\"\nb\n", "x".repeat(100_000));
        let rows = |most| {
            let mut reader = reader(csv.as_bytes().take(most));
            let mut rows = 0;
            while read_row(&mut reader, &mut ByteRecord::new(), most)? {
                rows += 1;
            }
            anyhow::Ok(rows)
        };
        assert_eq!(rows(200_000).unwrap(), 3);
        let error = rows(50_000).unwrap_err().to_string();
        assert!(error.contains("after the first 2 bytes"), "{error}");
    }
}
