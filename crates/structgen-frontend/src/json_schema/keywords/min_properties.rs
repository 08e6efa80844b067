//! `minProperties`.

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
    if let Some(count) = parser.count(keyword, value).filter(|&count| count > 0) {
        parser.assert(keyword, MinProperties(count));
    }
}

#[derive(Debug)]
struct MinProperties(u32);

impl<'j> Assertion<'j> for MinProperties {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::MinProperties(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let opposite = Atom::MaxProperties(self.0 - 1);
        Ok(vec![Part::about(TypeSet::OBJECT, [opposite], origin)])
    }
}
