//! The negation of a schema: one of its keywords does not hold.

use super::Canonicalizer;
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::{Arm, Origin, Schema, SchemaId};

impl<'j> Canonicalizer<'_, 'j> {
    /// The disjunction which says that the schema does not hold.
    pub(super) fn negated(
        &mut self,
        id: SchemaId,
        schema: &Schema<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let mut arms = Vec::new();
        for keyword in &schema.keywords {
            let origin = Origin {
                schema: id,
                keyword: keyword.name,
            };
            // Without this keyword the schema would accept more, so its negation accepts less: one arm is gone.
            if self.ignored.contains(&origin) {
                continue;
            }
            self.step(1)?;
            arms.extend(keyword.assertion.negated(origin, self)?);
        }
        Ok(arms)
    }
}
