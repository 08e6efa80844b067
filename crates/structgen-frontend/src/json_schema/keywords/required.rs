//! `required`.

use std::rc::Rc;

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
    match parser.keys(value) {
        Some(keys) if keys.is_empty() => {}
        Some(keys) => parser.assert(keyword, Required(keys)),
        None => parser.invalid(keyword, "a list of keys"),
    }
}

#[derive(Debug)]
struct Required<'j>(Rc<[&'j str]>);

impl<'j> Assertion<'j> for Required<'j> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Required(Rc::clone(&self.0)))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let without = |key: &&'j str| Part::about(TypeSet::OBJECT, [Atom::Forbidden(key)], origin);
        Ok(self.0.iter().map(without).collect())
    }
}
