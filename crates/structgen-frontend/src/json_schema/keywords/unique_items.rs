//! `uniqueItems`.

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Form, Origin, Part, SchemaParser, TypeSet,
};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    match value {
        Json::Bool(true) => parser.assert(keyword, UniqueItems),
        Json::Bool(false) => {}
        _ => parser.invalid(keyword, "a boolean"),
    }
}

#[derive(Debug)]
struct UniqueItems;

impl<'j> Assertion<'j> for UniqueItems {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Unique)
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(vec![Part::about(TypeSet::ARRAY, [Atom::Repeated], origin)])
    }
}
