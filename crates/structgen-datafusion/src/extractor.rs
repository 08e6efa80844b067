//! Values of a schema from a column of texts.

use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use serde::de::IgnoredAny;
use structgen::{Constraint, Extracting, Extraction, Model, SchemaExtractor, SchemaOptions};

use crate::functions::Shared;
use crate::row_error::RowError;
use crate::seed::seed_of;
use crate::texts::Texts;
use crate::{Cell, ExtraColumns, Result, RowType, Schema};

/// Extracts values of a schema from columns of texts, like the function `extract`, but for programs with Arrow arrays
/// and without SQL.
///
/// The same text always gives the same value, whatever else is extracted.
#[derive(Debug)]
pub struct ColumnExtractor {
    shared: Arc<Shared>,
    schema: Schema,
    values: RowType,
    columns: ExtraColumns,
    /// The type of a row: the value's, and the optional columns.
    row_type: RowType,
    extractor: OnceLock<SchemaExtractor>,
}

/// The extracted values of a column.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtractedColumn {
    /// One value per text; NULL if the text is, or there is no value.
    pub values: ArrayRef,
    /// The rows without a value and the reasons, in order.
    pub errors: Vec<(usize, String)>,
}

impl ColumnExtractor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        schema: Schema,
        values: RowType,
        columns: ExtraColumns,
    ) -> Result<Self> {
        Ok(Self {
            row_type: columns.beside(&values)?,
            shared,
            schema,
            values,
            columns,
            extractor: OnceLock::new(),
        })
    }

    /// Returns the Arrow type of the values.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.row_type.data_type()
    }

    /// Returns the type of the values, before its conversion to Arrow.
    #[must_use]
    pub fn row_type(&self) -> &RowType {
        &self.row_type
    }

    /// Extracts a value from each text, several in parallel. Errors of single texts are in the result.
    ///
    /// # Errors
    /// If the model cannot be loaded, or fails; after [`Error::Interrupted`](crate::Error::Interrupted), another
    /// attempt may succeed.
    pub fn extract(&self, column: &ArrayRef) -> Result<ExtractedColumn> {
        let texts = Texts::new(column, self.shared.max_text_bytes)?;
        let loaded = self.shared.model()?;
        let extractor = self.extractor(&loaded.model)?;
        let submit = |row| {
            let text = texts.get(row)?;
            Some(text.and_then(|text| self.submit(extractor, text)))
        };
        let wait = |row: Option<Result<Extracting<IgnoredAny>, RowError>>| {
            row.map(|row| row.and_then(|it| self.cell(it)))
        };
        let rows = loaded.for_each_row(0..texts.len(), submit, wait);
        let mut errors = Vec::new();
        let mut cells = Vec::with_capacity(rows.len());
        for (row, found) in rows.into_iter().enumerate() {
            cells.push(match found {
                None => Cell::Null,
                Some(Ok(cell)) => cell,
                Some(Err(error)) => {
                    let reason = error.reason()?;
                    let cell = self.columns.error_cells(&self.values, &reason);
                    errors.push((row, reason));
                    cell
                }
            });
        }
        self.shared.counters.add(cells.len(), errors.len());
        let values = self.row_type.array(&cells)?;
        Ok(ExtractedColumn { values, errors })
    }

    fn extractor(&self, model: &Model) -> Result<&SchemaExtractor> {
        if let Some(extractor) = self.extractor.get() {
            return Ok(extractor);
        }
        let schema = self.schema.value().clone();
        let options = model.extraction_options(&schema, &SchemaOptions::new());
        let constraint = Constraint::json_schema_str(self.schema.text(), &options)?;
        let mut generate = self.shared.generate.clone();
        generate.log_probs |= self.columns.confidence;
        let extractor =
            SchemaExtractor::with_constraint(model.clone(), schema, &constraint, generate)?;
        Ok(self.extractor.get_or_init(|| extractor))
    }

    fn submit(
        &self,
        extractor: &SchemaExtractor,
        text: &str,
    ) -> Result<Extracting<IgnoredAny>, RowError> {
        let mut options = self.shared.generate.clone();
        options.log_probs |= self.columns.confidence;
        options.sampling.seed = seed_of(options.sampling.seed, text);
        let extractor = extractor.clone().with_generate_options(options);
        Ok(extractor.submit(text)?)
    }

    fn cell(&self, extracting: Extracting<IgnoredAny>) -> Result<Cell, RowError> {
        let found: Extraction<_> = extracting.wait()?;
        let value = self.values.read(&found.json).map_err(|it| it.to_string())?;
        Ok(self.columns.cells(value, &self.values, &found))
    }
}
