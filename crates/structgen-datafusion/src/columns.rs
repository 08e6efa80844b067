//! Optional columns beside a value: why there is none, the model's confidence, and where in the text it is.

use std::str::FromStr;

use structgen::Extraction;

use crate::{Cell, Error, Result, RowType};

/// The optional columns to add to a value, whose names start with `_`.
///
/// In SQL and on the command line, they are comma-separated names:
///
/// ```
/// let columns: structgen_datafusion::ExtraColumns = "error, spans".parse()?;
/// assert!(columns.error && columns.spans && !columns.confidence);
/// # Ok::<(), structgen_datafusion::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ExtraColumns {
    /// `_error`: why the row has no value.
    pub error: bool,
    /// `_confidence`: how often fields with such probabilities are correct, by JSON Pointer.
    pub confidence: bool,
    /// `_spans`: where in the text each field may come from, as its JSON Pointer, the first character and the one after
    /// the last, counted from 0.
    pub spans: bool,
}

impl FromStr for ExtraColumns {
    type Err = Error;

    fn from_str(names: &str) -> Result<Self> {
        let mut columns = Self::default();
        let names = names.split(',').map(str::trim);
        for name in names.filter(|name| !name.is_empty()) {
            match name {
                "error" => columns.error = true,
                "confidence" => columns.confidence = true,
                "spans" => columns.spans = true,
                other => return Err(Error::UnknownColumn(other.to_owned())),
            }
        }
        Ok(columns)
    }
}

impl ExtraColumns {
    /// Returns the type of values with these columns: the properties of an object, or the value as `value`, followed by
    /// the columns.
    pub(crate) fn beside(self, values: &RowType) -> Result<RowType> {
        if self == Self::default() {
            return Ok(values.clone());
        }
        let mut fields = match values {
            RowType::Struct(fields) => fields.clone(),
            other => vec![("value".to_owned(), other.clone())],
        };
        let numbers = RowType::Map(Box::new(RowType::Float64));
        let span = ["start", "end"].map(|name| (name.to_owned(), RowType::Int64));
        let span = [("pointer".to_owned(), RowType::Text)]
            .into_iter()
            .chain(span);
        let spans = RowType::List(Box::new(RowType::Struct(span.collect())));
        for (wanted, name, column) in [
            (self.error, "_error", RowType::Text),
            (self.confidence, "_confidence", numbers),
            (self.spans, "_spans", spans),
        ] {
            if wanted && fields.iter().any(|(field, _)| field == name) {
                return Err(Error::ColumnTaken(name.to_owned()));
            }
            if wanted {
                fields.push((name.to_owned(), column));
            }
        }
        Ok(RowType::Struct(fields))
    }

    /// Adds the columns of its extraction to a value.
    pub(crate) fn cells<T>(self, value: Cell, values: &RowType, found: &Extraction<T>) -> Cell {
        let mut extra = Vec::new();
        if self.error {
            extra.push(Cell::Null);
        }
        if self.confidence {
            let entries = found.fields.iter().map(|field| {
                let confidence = field.confidence.map_or(Cell::Null, Cell::Float);
                (field.pointer.clone(), confidence)
            });
            extra.push(Cell::Entries(entries.collect()));
        }
        if self.spans {
            let spans = found.fields.iter().flat_map(|field| {
                field.characters.iter().map(|span| {
                    Cell::Cells(vec![
                        Cell::Text(field.pointer.clone()),
                        Cell::Integer(span.start as i128),
                        Cell::Integer(span.end as i128),
                    ])
                })
            });
            extra.push(Cell::Cells(spans.collect()));
        }
        self.with(value, values, extra)
    }

    /// Returns the row of an error: NULL, except in the column for the error.
    pub(crate) fn error_cells(self, values: &RowType, error: &str) -> Cell {
        match self.error {
            true => self.with(Cell::Null, values, vec![Cell::Text(error.to_owned())]),
            false => Cell::Null,
        }
    }

    fn with(self, value: Cell, values: &RowType, extra: Vec<Cell>) -> Cell {
        if self == Self::default() {
            return value;
        }
        let mut cells = match (value, values) {
            (Cell::Cells(fields), RowType::Struct(_)) => fields,
            (Cell::Null, RowType::Struct(fields)) => vec![Cell::Null; fields.len()],
            (value, _) => vec![value],
        };
        cells.extend(extra);
        Cell::Cells(cells)
    }
}
