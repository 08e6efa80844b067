//! `type`.

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
    let Some(types) = types(value) else {
        let expected =
            "null, boolean, integer, number, string, object or array, or a list of these";
        parser.invalid(keyword, expected);
        return;
    };
    parser.assert(keyword, Types(types));
    let whole = types.meets(TypeSet::INTEGER) && !types.meets(TypeSet::FRACTION);
    if whole && parser.draft() == Draft::Draft4 {
        parser.assert(keyword, WrittenWhole);
    }
}

fn types(value: &Json<'_>) -> Option<TypeSet> {
    match value {
        Json::String(name) => TypeSet::named(name),
        Json::Array(names) if !names.is_empty() => {
            names
                .iter()
                .try_fold(TypeSet::NONE, |types, name| match name {
                    Json::String(name) => TypeSet::named(name).map(|named| types.union(named)),
                    _ => None,
                })
        }
        _ => None,
    }
}

#[derive(Debug)]
struct Types(TypeSet);

impl<'j> Assertion<'j> for Types {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Types(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(vec![Part::about(self.0.complement(), [], origin)])
    }
}

/// Draft 4's `integer` is written without a fraction and an exponent.
#[derive(Debug)]
struct WrittenWhole;

impl<'j> Assertion<'j> for WrittenWhole {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::WrittenWhole)
    }

    /// Nothing: [`Types`] negates the other types. Integers not written as such are left out, so the negation is a
    /// subset of the exact one.
    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(Vec::new())
    }
}
