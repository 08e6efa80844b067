//! `anyOf`.

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
        parser.assert(keyword, AnyOf(schemas));
    }
}

/// The assertion that a value is valid under at least one of the schemas.
pub(crate) fn any_of<'j>(schemas: Vec<SchemaId>) -> impl Assertion<'j> {
    AnyOf(schemas)
}

#[derive(Debug)]
struct AnyOf(Vec<SchemaId>);

impl<'j> Assertion<'j> for AnyOf {
    fn affirmed(
        &self,
        _: Origin,
        _: TypeSet,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let arms = self.0.iter().map(|&id| vec![Part::schema(id)]);
        Ok(vec![Part::Choice(arms.collect())])
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(vec![self.0.iter().map(|&id| Part::not(id)).collect()])
    }

    fn holds(
        &self,
        _: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        Ok(context.count_valid(&self.0, value, depth)? > 0)
    }

    fn evaluates(&self, _: Of, _: Draft) -> Evaluates<'_, 'j> {
        Evaluates::AnyOf(&self.0)
    }
}
