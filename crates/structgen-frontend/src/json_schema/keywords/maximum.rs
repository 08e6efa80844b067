//! `maximum` and `exclusiveMaximum`.

use structgen_grammar::NumberBound;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Form, Origin, Part, SchemaParser, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    let draft_4 = parser.draft() == Draft::Draft4;
    let exclusive = match (keyword, value) {
        // In draft 4 the exclusive bound is a boolean about the other.
        ("exclusiveMaximum", Json::Bool(exclusive)) if draft_4 => {
            if *exclusive && parser.sibling("maximum").is_none() {
                parser.annotation(keyword, "has no effect without its bound");
            }
            return;
        }
        ("exclusiveMaximum", _) if draft_4 => {
            parser.invalid(keyword, "a boolean in draft 4");
            return;
        }
        ("exclusiveMaximum", _) => true,
        _ => draft_4 && matches!(parser.sibling("exclusiveMaximum"), Some(Json::Bool(true))),
    };
    let Json::Number(number) = value else {
        parser.invalid(keyword, "a number");
        return;
    };
    let value = number.clone();
    parser.assert(keyword, Upper(NumberBound { value, exclusive }));
}

#[derive(Debug)]
struct Upper(NumberBound);

impl<'j> Assertion<'j> for Upper {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Upper(self.0.clone()))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let opposite = NumberBound {
            value: self.0.value.clone(),
            exclusive: !self.0.exclusive,
        };
        let opposite = Atom::Lower(opposite);
        Ok(vec![Part::about(TypeSet::NUMBER, [opposite], origin)])
    }
}
