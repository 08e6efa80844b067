//! `matches`: whether a text is JSON that is valid under a schema.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use structgen::{Checker, Constraint, Profile, SchemaOptions};

use super::Shared;
use super::function::TextFunction;
use super::rows::rows_of;
use crate::{Cell, Result, RowType};

#[derive(Debug)]
pub(super) struct Matches;

impl Matches {
    fn checker(shared: &Shared, literals: &[&str]) -> Result<Checker> {
        let schema = shared.schemas.find(literals.first().unwrap_or(&""))?;
        let options = SchemaOptions::new().with_profile(Profile::Exact);
        let constraint = Constraint::json_schema_str(schema.text(), &options)?;
        Ok(Checker::new(&constraint)?)
    }
}

impl TextFunction for Matches {
    fn name(&self) -> &'static str {
        "matches"
    }

    fn literals(&self) -> (usize, usize) {
        (1, 1)
    }

    fn row_type(&self, shared: &Arc<Shared>, literals: &[&str]) -> Result<RowType> {
        Self::checker(shared, literals)?;
        Ok(RowType::Boolean)
    }

    fn values(
        &self,
        shared: &Arc<Shared>,
        literals: &[&str],
        texts: &ArrayRef,
    ) -> Result<ArrayRef> {
        let checker = Self::checker(shared, literals)?;
        rows_of(shared, &RowType::Boolean, texts, |text| {
            let mismatch = checker.check(text.as_bytes())?;
            Ok(Cell::Boolean(mismatch.is_none()))
        })
    }
}
