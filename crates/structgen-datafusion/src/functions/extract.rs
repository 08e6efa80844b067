//! `extract` and `extract_json`: extract a value of a schema from a text.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;

use super::Shared;
use super::function::TextFunction;
use crate::{ColumnExtractor, ExtraColumns, Result, RowType};

#[derive(Debug)]
pub(super) struct Extract {
    /// Whether values are returned as JSON text.
    pub(super) as_json: bool,
}

impl Extract {
    fn extractor(&self, shared: &Arc<Shared>, literals: &[&str]) -> Result<Arc<ColumnExtractor>> {
        let columns: ExtraColumns = match literals.get(1) {
            Some(names) => names.parse()?,
            None => ExtraColumns::default(),
        };
        shared.extractor(literals.first().unwrap_or(&""), columns, self.as_json)
    }
}

impl TextFunction for Extract {
    fn name(&self) -> &'static str {
        match self.as_json {
            true => "extract_json",
            false => "extract",
        }
    }

    fn literals(&self) -> (usize, usize) {
        (1, 2)
    }

    fn row_type(&self, shared: &Arc<Shared>, literals: &[&str]) -> Result<RowType> {
        Ok(self.extractor(shared, literals)?.row_type().clone())
    }

    fn values(
        &self,
        shared: &Arc<Shared>,
        literals: &[&str],
        texts: &ArrayRef,
    ) -> Result<ArrayRef> {
        Ok(self.extractor(shared, literals)?.extract(texts)?.values)
    }
}
