//! `not`.

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Context, Form, Origin, Part, SchemaId, SchemaParser, Step,
};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    let id = parser.subschema(value, keyword, Step::None);
    parser.assert(keyword, Not(id));
}

#[derive(Debug)]
struct Not(SchemaId);

impl<'j> Assertion<'j> for Not {
    fn form(&self) -> Form<'_, 'j> {
        Form::Not(self.0)
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(vec![vec![Part::schema(self.0)]])
    }
}
