//! `minimum`, `exclusiveMinimum`, `maximum` and `exclusiveMaximum`.

use structgen_grammar::NumberBound;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Form, Origin, Part, SchemaParser, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read_lower<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    if let Some(bound) = read(parser, keyword, value, ["minimum", "exclusiveMinimum"]) {
        parser.assert(keyword, Lower(bound));
    }
}

pub(super) fn read_upper<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    if let Some(bound) = read(parser, keyword, value, ["maximum", "exclusiveMaximum"]) {
        parser.assert(keyword, Upper(bound));
    }
}

/// The bound that one of two keywords sets; the second keyword excludes the number itself.
fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
    [inclusive, exclusive]: [&'static str; 2],
) -> Option<NumberBound> {
    let draft_4 = parser.draft() == Draft::Draft4;
    let is_exclusive = match value {
        // In draft 4 the exclusive keyword is a boolean that modifies the other.
        Json::Bool(excludes) if draft_4 && keyword == exclusive => {
            if *excludes && parser.sibling(inclusive).is_none() {
                parser.annotation(keyword, "has no effect without its bound");
            }
            return None;
        }
        _ if draft_4 && keyword == exclusive => {
            parser.invalid(keyword, "a boolean in draft 4");
            return None;
        }
        _ if draft_4 => matches!(parser.sibling(exclusive), Some(Json::Bool(true))),
        _ => keyword == exclusive,
    };
    let Json::Number(number) = value else {
        parser.invalid(keyword, "a number");
        return None;
    };
    Some(NumberBound {
        value: number.clone(),
        exclusive: is_exclusive,
    })
}

#[derive(Debug)]
struct Lower(NumberBound);

impl<'j> Assertion<'j> for Lower {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Lower(self.0.clone()))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(not(Atom::Upper, &self.0, origin))
    }
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
        Ok(not(Atom::Lower, &self.0, origin))
    }
}

/// Numbers beyond the bound: the complement, as a bound in the other direction.
fn not<'j>(
    other: fn(NumberBound) -> Atom<'j>,
    bound: &NumberBound,
    origin: Origin,
) -> Vec<Arm<'j>> {
    let opposite = NumberBound {
        value: bound.value.clone(),
        exclusive: !bound.exclusive,
    };
    vec![Part::about(TypeSet::NUMBER, [other(opposite)], origin)]
}
