//! Computes rows with the model, as a column.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;

use super::Shared;
use crate::row_error::RowError;
use crate::texts::Texts;
use crate::{Cell, Result, RowType};

/// The result of a row: NULL, a cell, or an error.
type Row = Option<Result<Cell, RowError>>;

/// Returns the values of rows that need no model.
pub(super) fn rows_of(
    shared: &Shared,
    row_type: &RowType,
    texts: &ArrayRef,
    mut row: impl FnMut(&str) -> Result<Cell, RowError>,
) -> Result<ArrayRef> {
    let texts = Texts::new(texts, shared.max_text_bytes)?;
    let rows = (0..texts.len()).map(|at| texts.get(at).map(|text| text.and_then(&mut row)));
    column_of(shared, row_type, rows.collect(), |_| Cell::Null)
}

/// Returns the values of rows that are submitted to the model, several in parallel.
pub(super) fn model_rows<W>(
    shared: &Arc<Shared>,
    row_type: &RowType,
    texts: &ArrayRef,
    mut submit: impl FnMut(&str) -> structgen::Result<W>,
    mut wait: impl FnMut(W) -> structgen::Result<Cell>,
    of_error: impl Fn(&str) -> Cell,
) -> Result<ArrayRef> {
    let texts = Texts::new(texts, shared.max_text_bytes)?;
    let submit = |at| -> Option<Result<W, RowError>> {
        let text = texts.get(at)?;
        Some(text.and_then(|text| Ok(submit(text)?)))
    };
    let wait = |row: Option<Result<W, RowError>>| -> Row {
        row.map(|row| row.and_then(|it| Ok(wait(it)?)))
    };
    let rows = shared.model()?.for_each_row(0..texts.len(), submit, wait);
    column_of(shared, row_type, rows, of_error)
}

fn column_of(
    shared: &Shared,
    row_type: &RowType,
    rows: Vec<Row>,
    of_error: impl Fn(&str) -> Cell,
) -> Result<ArrayRef> {
    let mut errors = 0;
    let mut cells = Vec::with_capacity(rows.len());
    for row in rows {
        cells.push(match row {
            None => Cell::Null,
            Some(Ok(cell)) => cell,
            Some(Err(error)) => {
                errors += 1;
                of_error(&error.reason()?)
            }
        });
    }
    shared.counters.add(cells.len(), errors);
    Ok(row_type.array(&cells)?)
}
