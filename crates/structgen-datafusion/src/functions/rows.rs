//! Computes rows with the model, as a column.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;

use super::Shared;
use crate::texts::Texts;
use crate::{Cell, Result, RowType};

/// The result of a row: NULL, a cell, or an error.
pub(super) type Row = Option<std::result::Result<Cell, String>>;

/// Returns the values of rows that need no model.
pub(super) fn rows_of(
    shared: &Shared,
    row_type: &RowType,
    texts: &ArrayRef,
    mut row: impl FnMut(&str) -> std::result::Result<Cell, String>,
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
    mut submit: impl FnMut(&str) -> std::result::Result<W, String>,
    mut wait: impl FnMut(W) -> std::result::Result<Cell, String>,
    of_error: impl Fn(&str) -> Cell,
) -> Result<ArrayRef> {
    let texts = Texts::new(texts, shared.max_text_bytes)?;
    let rows = shared.model()?.for_each_row(
        0..texts.len(),
        |at| texts.get(at).map(|text| text.and_then(&mut submit)),
        |row| row.map(|row| row.and_then(&mut wait)),
    );
    column_of(shared, row_type, rows, of_error)
}

fn column_of(
    shared: &Shared,
    row_type: &RowType,
    rows: Vec<Row>,
    of_error: impl Fn(&str) -> Cell,
) -> Result<ArrayRef> {
    let errors = rows
        .iter()
        .filter(|row| matches!(row, Some(Err(_))))
        .count();
    shared.counters.add(rows.len(), errors);
    let cells = rows.into_iter().map(|row| match row {
        None => Cell::Null,
        Some(Ok(cell)) => cell,
        Some(Err(error)) => of_error(&error),
    });
    let cells: Vec<Cell> = cells.collect();
    Ok(row_type.array(&cells)?)
}
