//! `oneOf`.

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Context, Evaluates, Of, Origin, Part, SchemaId, SchemaParser, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    if let Some(schemas) = parser.subschemas(keyword, value) {
        parser.assert(keyword, OneOf(schemas));
    }
}

/// The steps counted for an alternative of a negation, which may be kept together with millions of others: a step pays
/// for about 20 bytes.
const STEPS_OF_PAIR: usize = 8;

#[derive(Debug)]
struct OneOf(Vec<SchemaId>);

impl<'j> Assertion<'j> for OneOf {
    fn affirmed(
        &self,
        origin: Origin,
        _: TypeSet,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let schemas = self.0.clone();
        Ok(vec![Part::OneOf { schemas, origin }])
    }

    /// None of the schemas, or two of them.
    fn negated(
        &self,
        _: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let mut arms = vec![self.0.iter().map(|&id| Part::not(id)).collect()];
        for (i, &one) in self.0.iter().enumerate() {
            for &other in &self.0[i + 1..] {
                context.step(STEPS_OF_PAIR)?;
                arms.push(vec![Part::schema(one), Part::schema(other)]);
            }
        }
        Ok(arms)
    }

    fn holds(
        &self,
        _: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        Ok(context.count_valid(&self.0, value, depth)? == 1)
    }

    fn evaluates(&self, _: Of, _: Draft) -> Evaluates<'_, 'j> {
        Evaluates::OneOf(&self.0)
    }
}
