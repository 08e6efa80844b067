//! `unevaluatedProperties` and `unevaluatedItems`: what no other keyword of the schema evaluates. The canonical form
//! computes which keys and items these are, case by case.

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Context, Evaluated, Evaluates, Of, Origin, Part, SchemaId, SchemaParser, Step,
    TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    let of = match keyword {
        "unevaluatedProperties" => Of::Properties,
        _ => Of::Items,
    };
    let rest = parser.subschema(value, keyword, Step::None);
    parser.assert(keyword, Unevaluated { of, rest });
}

/// What no other keyword evaluates is valid under the schema.
#[derive(Debug)]
struct Unevaluated {
    of: Of,
    rest: SchemaId,
}

impl<'j> Assertion<'j> for Unevaluated {
    fn affirmed(
        &self,
        origin: Origin,
        _: TypeSet,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let cases = context.unevaluated(origin, self.of, self.rest)?;
        Ok(vec![Part::Choice(cases)])
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        context.not_unevaluated(origin, self.of, self.rest)
    }

    fn evaluates(&self, of: Of, _: Draft) -> Evaluates<'_, 'j> {
        if of == self.of {
            Evaluates::Own(Evaluated::everything())
        } else {
            Evaluates::Nothing
        }
    }
}
