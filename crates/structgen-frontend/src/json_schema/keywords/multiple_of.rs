//! `multipleOf`.

use structgen_grammar::Decimal;

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
        Json::Number(divisor) if !divisor.is_zero() && !divisor.is_negative() => {
            parser.assert(keyword, MultipleOf(divisor.clone()));
        }
        _ => parser.invalid(keyword, "a positive number"),
    }
}

#[derive(Debug)]
struct MultipleOf(Decimal);

impl<'j> Assertion<'j> for MultipleOf {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::MultipleOf(self.0.clone()))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let opposite = Atom::NotMultipleOf(self.0.clone());
        Ok(vec![Part::about(TypeSet::NUMBER, [opposite], origin)])
    }
}
