//! JSON Lines: one object per line. The type of a column is that of all its values, or else JSON text.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use indexmap::IndexMap;
use serde_json::value::RawValue;
use structgen_datafusion::{Cell, RowType};

use super::super::files::FileFormat;
use super::{CHUNK_ROWS, Chunk, Chunks, ColumnKind, Cutter, Input, Piece, Selection};
use crate::hashing::Hashing;

type Columns = [(String, ColumnKind)];
type Object<'l> = IndexMap<String, &'l RawValue>;

pub(super) fn scan(path: &Path, partition_rows: u64) -> anyhow::Result<(Input, Vec<Piece>)> {
    let mut reader = BufReader::new(Hashing::new(File::open(path)?));
    let mut columns: IndexMap<String, Option<ColumnKind>> = IndexMap::new();
    let mut cutter = Cutter::new(partition_rows);
    let (mut line, mut end) = (Vec::new(), 0);
    loop {
        let start = end;
        line.clear();
        end += reader.read_until(b'\n', &mut line)? as u64;
        if line.is_empty() {
            break;
        }
        if is_blank(&line) {
            continue;
        }
        cutter.row(start, end);
        // A line that is not an object is an error of its row.
        let Ok(object) = serde_json::from_slice::<Object<'_>>(&line) else {
            continue;
        };
        for (name, value) in object {
            let kind = columns.entry(name).or_default();
            *kind = join(*kind, kind_of(value.get()));
        }
    }
    let (bytes, hash) = reader.into_inner().finish();
    let columns = columns.into_iter();
    let columns = columns.map(|(name, kind)| (name, kind.unwrap_or(ColumnKind::Text)));
    let input = Input {
        path: path.to_owned(),
        format: FileFormat::Jsonl,
        bytes,
        hash,
        columns: columns.collect(),
    };
    Ok((input, cutter.finish()))
}

/// Returns the kind of a value, or `None` for null, which is of all kinds.
fn kind_of(json: &str) -> Option<ColumnKind> {
    match json.as_bytes().first()? {
        b'n' => None,
        b't' | b'f' => Some(ColumnKind::Boolean),
        b'"' => Some(ColumnKind::Text),
        b'{' | b'[' => Some(ColumnKind::Json),
        _ if json.parse::<i64>().is_ok() => Some(ColumnKind::Integer),
        // A number that 64 bits cannot represent exactly is kept as text.
        _ => match json.parse::<f64>() {
            Ok(number) if number.is_finite() && json.len() <= 15 => Some(ColumnKind::Number),
            _ => Some(ColumnKind::Json),
        },
    }
}

fn join(a: Option<ColumnKind>, b: Option<ColumnKind>) -> Option<ColumnKind> {
    use ColumnKind::{Integer, Json, Number};
    match (a, b) {
        (None, other) | (other, None) => other,
        (a, b) if a == b => a,
        (Some(Integer | Number), Some(Integer | Number)) => Some(Number),
        _ => Some(Json),
    }
}

impl ColumnKind {
    fn row_type(self) -> RowType {
        match self {
            Self::Boolean => RowType::Boolean,
            Self::Integer => RowType::Int64,
            Self::Number => RowType::Float64,
            Self::Text => RowType::Text,
            Self::Json => RowType::Json,
        }
    }
}

pub(super) fn kept_schema(columns: &Columns, selection: &Selection) -> SchemaRef {
    let kept = columns.iter().filter(|(name, _)| selection.keeps(name));
    let fields = kept.map(|(name, kind)| Field::new(name, kind.row_type().data_type(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

pub(super) fn read(
    path: &Path,
    columns: &Columns,
    piece: &Piece,
    selection: &Selection,
) -> anyhow::Result<Chunks> {
    let mut file = BufReader::new(File::open(path)?);
    file.seek(SeekFrom::Start(piece.start))?;
    let (columns, selection) = (columns.to_vec(), selection.clone());
    let mut left = usize::try_from(piece.rows)?;
    Ok(Box::new(std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let rows = left.min(CHUNK_ROWS);
        left -= rows;
        Some(chunk(&mut file, rows, &columns, &selection))
    })))
}

fn chunk(
    lines: &mut impl BufRead,
    rows: usize,
    columns: &Columns,
    selection: &Selection,
) -> anyhow::Result<Chunk> {
    let mut texts = Vec::with_capacity(rows);
    let kept: Vec<_> = columns
        .iter()
        .filter(|(name, _)| selection.keeps(name))
        .collect();
    let mut cells = vec![Vec::with_capacity(rows); kept.len()];
    let mut bad = Vec::new();
    let mut line = Vec::new();
    while texts.len() < rows {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            bail!("it is shorter than when the run began");
        }
        if is_blank(&line) {
            continue;
        }
        let object = serde_json::from_slice::<Object<'_>>(&line)
            .map_err(|error| format!("the line is no JSON object: {error}"));
        let text = object
            .as_ref()
            .map_err(String::clone)
            .and_then(|it| text(it, &selection.text));
        let object = object.unwrap_or_default();
        texts.push(text.unwrap_or_else(|error| {
            bad.push((texts.len(), error));
            None
        }));
        for ((name, kind), cells) in kept.iter().zip(&mut cells) {
            let value = object
                .get(name)
                .map(|value| kind.row_type().read(value.get()));
            // The kinds were determined from all values.
            cells.push(value.and_then(Result::ok).unwrap_or(Cell::Null));
        }
    }
    let arrays = kept
        .iter()
        .zip(&cells)
        .map(|((_, kind), cells)| kind.row_type().array(cells));
    Ok(Chunk {
        texts: Arc::new(texts.into_iter().collect::<StringArray>()) as ArrayRef,
        kept: RecordBatch::try_new_with_options(
            kept_schema(columns, selection),
            arrays.collect::<Result<_, _>>()?,
            &RecordBatchOptions::new().with_row_count(Some(rows)),
        )?,
        bad,
    })
}

fn text(object: &Object<'_>, column: &str) -> Result<Option<String>, String> {
    match object
        .get(column)
        .map(|value| RowType::Text.read(value.get()))
    {
        None | Some(Ok(Cell::Null)) => Ok(None),
        Some(Ok(Cell::Text(text))) => Ok(Some(text)),
        Some(_) => Err(format!("the column {column:?} is no text in this row")),
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_all_values() {
        let of = |values: &[&str]| values.iter().map(|it| kind_of(it)).fold(None, join);
        assert_eq!(of(&["null", "1", "2"]), Some(ColumnKind::Integer));
        assert_eq!(of(&["1", "2.5"]), Some(ColumnKind::Number));
        assert_eq!(of(&["1", "\"a\""]), Some(ColumnKind::Json));
        assert_eq!(of(&["null"]), None);
        assert_eq!(of(&["9223372036854775808"]), Some(ColumnKind::Json));
    }
}
