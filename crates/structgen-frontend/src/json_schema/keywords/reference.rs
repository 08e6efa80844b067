//! `$ref`, `$dynamicRef` and `$recursiveRef`. How each is followed is in `s2_parse/resolve.rs`.

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{Arm, Assertion, Context, Form, Origin, Part, SchemaParser};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    match value {
        Json::String(reference) => parser.assert(keyword, Reference(reference)),
        _ => parser.invalid(keyword, "a URI reference"),
    }
}

#[derive(Debug)]
struct Reference<'j>(&'j str);

impl<'j> Assertion<'j> for Reference<'j> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Reference(self.0)
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let target = origin.resolve(self.0, context)?;
        Ok(vec![vec![Part::not(target)]])
    }
}
