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
use structgen::grammar::Decimal;
use structgen_datafusion::{Cell, RowType};

use super::super::files::FileFormat;
use super::{CHUNK_ROWS, Chunk, Chunks, ColumnKind, Cutter, Input, Piece, Selection};
use crate::hashing::Hashing;

type Columns = [(String, ColumnKind)];
type Object<'l> = IndexMap<String, &'l RawValue>;

pub(super) fn scan(path: &Path, partition_rows: u64) -> anyhow::Result<(Input, Vec<Piece>)> {
    let mut reader = BufReader::new(Hashing::new(File::open(path)?));
    let mut columns: IndexMap<String, Kinds> = IndexMap::new();
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
            columns.entry(name).or_default().add(value.get());
        }
    }
    let (bytes, hash) = reader.into_inner().finish();
    let columns = columns.into_iter();
    let columns = columns.map(|(name, kinds)| (name, kinds.common()));
    let input = Input {
        path: path.to_owned(),
        format: FileFormat::Jsonl,
        bytes,
        hash,
        columns: columns.collect(),
    };
    Ok((input, cutter.finish()))
}

/// The kinds of a column's values so far.
#[derive(Clone, Copy, Debug, Default)]
struct Kinds {
    /// The kind that they have in common; `None` if all of them are null.
    joined: Option<ColumnKind>,
    /// Whether some integer is so large that a float may not hold it.
    has_large_integer: bool,
}

impl Kinds {
    fn add(&mut self, json: &str) {
        /// Floats hold all integers up to this one.
        const LARGEST: u64 = 1 << 53;
        let is_large = |integer: i64| integer.unsigned_abs() > LARGEST;
        self.has_large_integer |= json.parse().is_ok_and(is_large);
        self.joined = join(self.joined, kind_of(json));
    }

    fn common(self) -> ColumnKind {
        match self.joined {
            Some(ColumnKind::Number) if self.has_large_integer => ColumnKind::Json,
            joined => joined.unwrap_or(ColumnKind::Text),
        }
    }
}

/// Returns the kind of a value, or `None` for null, which is of all kinds.
fn kind_of(json: &str) -> Option<ColumnKind> {
    match json.as_bytes().first()? {
        b'n' => None,
        b't' | b'f' => Some(ColumnKind::Boolean),
        b'"' => Some(ColumnKind::Text),
        b'{' | b'[' => Some(ColumnKind::Json),
        _ if json.parse::<i64>().is_ok() => Some(ColumnKind::Integer),
        // A number that would change is kept as text.
        _ if is_float(json) => Some(ColumnKind::Number),
        _ => Some(ColumnKind::Json),
    }
}

/// Returns whether the float nearest to a number is written as that number.
fn is_float(json: &str) -> bool {
    let decimal = |text: &str| text.parse::<Decimal>().ok();
    let nearest = json.parse().unwrap_or(f64::NAN);
    let written = decimal(json);
    written.is_some() && decimal(&format!("{nearest:e}")) == written
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
        let mut fault = None;
        let text = text.unwrap_or_else(|error| {
            fault = Some(error);
            None
        });
        for ((name, kind), cells) in kept.iter().zip(&mut cells) {
            cells.push(cell(&object, name, *kind).unwrap_or_else(|error| {
                fault.get_or_insert(error);
                Cell::Null
            }));
        }
        bad.extend(fault.map(|error| (texts.len(), error)));
        texts.push(text);
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

fn cell(object: &Object<'_>, column: &str, kind: ColumnKind) -> Result<Cell, String> {
    match object.get(column) {
        // The kind is that of all values, but a string may have half of a surrogate pair.
        Some(value) => kind.row_type().read(value.get()).map_err(|error| {
            format!("the column {column:?} is NULL because it cannot be read: {error}")
        }),
        None => Ok(Cell::Null),
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(values: &[&str]) -> ColumnKind {
        let mut kinds = Kinds::default();
        values.iter().for_each(|value| kinds.add(value));
        kinds.common()
    }

    #[test]
    fn kinds_are_those_of_all_values() {
        assert_eq!(common(&["null", "1", "2"]), ColumnKind::Integer);
        assert_eq!(common(&["1", "2.5"]), ColumnKind::Number);
        assert_eq!(common(&["1", "\"a\""]), ColumnKind::Json);
        assert_eq!(common(&["null"]), ColumnKind::Text);
    }

    #[test]
    fn numbers_that_floats_do_not_hold_are_text() {
        for floats in [
            &["0.1", "-0.0", "0e9", "1e300", "5e-324", "100.0"][..],
            &["0.30000000000000004", "1.50000000000000000000"],
            &["9007199254740992", "-9007199254740992", "0.5"],
        ] {
            assert_eq!(common(floats), ColumnKind::Number, "{floats:?}");
        }
        for text in [
            &["1e-400"][..],
            &["1e400"],
            &["1e-99999999999999999999"],
            &["9223372036854775808"],
            &["0.30000000000000001"],
            &["1.23456789012345e-320"],
            &["9007199254740993", "0.5"],
            &["0.5", "null", "-9007199254740993"],
        ] {
            assert_eq!(common(text), ColumnKind::Json, "{text:?}");
        }
        assert_eq!(common(&["9007199254740993", "1"]), ColumnKind::Integer);
    }
}
