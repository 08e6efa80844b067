//! `tokens`: tokenizes a text with the model's tokenizer.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;

use super::Shared;
use super::function::TextFunction;
use super::rows::rows_of;
use crate::{Cell, Result, RowType};

#[derive(Debug)]
pub(super) struct Tokens;

impl TextFunction for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn literals(&self) -> (usize, usize) {
        (0, 0)
    }

    fn row_type(&self, _: &Arc<Shared>, _: &[&str]) -> Result<RowType> {
        Ok(row_type())
    }

    fn values(&self, shared: &Arc<Shared>, _: &[&str], texts: &ArrayRef) -> Result<ArrayRef> {
        let tokenizer = shared.model()?.model.tokenizer();
        rows_of(shared, &row_type(), texts, |text| {
            let tokens = tokenizer.encode(text).map_err(|error| error.to_string())?;
            let ids = tokens
                .iter()
                .map(|token| Cell::Integer(i128::from(token.0)));
            Ok(Cell::Cells(ids.collect()))
        })
    }
}

fn row_type() -> RowType {
    RowType::List(Box::new(RowType::Int64))
}
