//! The negation of a schema: one of its keywords does not hold.

use super::Canonicalizer;
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::{Arm, Origin, Schema, SchemaId};

impl<'j> Canonicalizer<'_, 'j> {
    /// The disjunction that is equivalent to the schema's negation.
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
            self.step(1)?;
            arms.extend(keyword.assertion.negated(origin, self)?);
        }
        Ok(arms)
    }
}
