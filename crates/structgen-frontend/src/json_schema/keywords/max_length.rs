//! `maxLength`.

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
    if let Some(count) = parser
        .count(keyword, value)
        .filter(|&count| count < u32::MAX)
    {
        parser.assert(keyword, MaxLength(count));
    }
}

#[derive(Debug)]
struct MaxLength(u32);

impl<'j> Assertion<'j> for MaxLength {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::MaxLength(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let opposite = Atom::MinLength(self.0.saturating_add(1));
        Ok(vec![Part::about(TypeSet::STRING, [opposite], origin)])
    }
}
