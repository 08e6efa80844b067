//! `propertyNames`.

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Form, Origin, Part, SchemaId, SchemaParser, SomeMember, Step,
    TypeSet,
};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    let id = parser.subschema(value, keyword, Step::None);
    parser.assert(keyword, PropertyNames(id));
}

#[derive(Debug)]
struct PropertyNames(SchemaId);

impl<'j> Assertion<'j> for PropertyNames {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Names(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let some = Atom::Some(SomeMember::Name(self.0));
        Ok(vec![Part::about(TypeSet::OBJECT, [some], origin)])
    }
}
