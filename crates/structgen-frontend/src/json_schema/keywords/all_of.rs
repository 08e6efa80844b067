//! `allOf`.

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Context, Form, Origin, Part, SchemaId, SchemaParser,
};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    if let Some(schemas) = parser.subschemas(keyword, value) {
        parser.assert(keyword, AllOf(schemas));
    }
}

#[derive(Debug)]
struct AllOf(Vec<SchemaId>);

impl<'j> Assertion<'j> for AllOf {
    fn form(&self) -> Form<'_, 'j> {
        Form::AllOf(&self.0)
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(self.0.iter().map(|&id| vec![Part::not(id)]).collect())
    }

    fn holds(
        &self,
        _: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        Ok(context.count_valid(&self.0, value, depth)? == self.0.len())
    }
}
