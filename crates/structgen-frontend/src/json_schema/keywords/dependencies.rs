//! `dependentRequired`, `dependentSchemas`, and `dependencies`, which combined both.

use std::rc::Rc;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Evaluates, KeyLiteral, Of, Origin, Part, SchemaId, SchemaParser,
    Step, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    let Json::Object(entries) = value else {
        parser.invalid(keyword, "an object");
        return;
    };
    let mut dependencies: Vec<(&'j str, Dependent<'j>)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let dependent = match (keyword, value) {
            ("dependentSchemas", _) | ("dependencies", Json::Object(_) | Json::Bool(_)) => {
                Dependent::Schema(parser.subschema(value, keyword, Step::Key(key)))
            }
            // Draft 3 allowed a single key; this form is still in use.
            ("dependencies", Json::String(other)) => Dependent::Keys([other.as_ref()].into()),
            _ => match parser.keys(value) {
                Some(keys) => Dependent::Keys(keys),
                None => {
                    parser.invalid(keyword, "lists of keys, or schemas");
                    return;
                }
            },
        };
        dependencies.push((key, dependent));
    }
    parser.assert(keyword, Dependencies(dependencies));
}

/// An object with one of the keys has what the key requires.
#[derive(Debug)]
struct Dependencies<'j>(Vec<(&'j str, Dependent<'j>)>);

/// What a key requires.
#[derive(Debug)]
enum Dependent<'j> {
    Keys(Rc<[&'j str]>),
    Schema(SchemaId),
}

impl<'j> Assertion<'j> for Dependencies<'j> {
    fn affirmed(
        &self,
        origin: Origin,
        _: TypeSet,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let mut parts = Vec::with_capacity(self.0.len());
        for &(key, ref dependent) in &self.0 {
            match *dependent {
                Dependent::Keys(ref keys) => parts.extend(keys.iter().map(|other| {
                    let literals = [KeyLiteral::Absent(key), KeyLiteral::Has(other, None)];
                    Part::atom(Atom::Clause(literals.into()), origin)
                })),
                Dependent::Schema(schema) => parts.push(Part::Implication {
                    key,
                    schema,
                    origin,
                }),
            }
        }
        Ok(parts)
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let mut arms = Vec::with_capacity(self.0.len());
        for (key, dependent) in &self.0 {
            let with = |part| {
                let mut arm = Part::about(TypeSet::OBJECT, [Atom::Present(key)], origin);
                arm.push(part);
                arm
            };
            match dependent {
                Dependent::Keys(keys) => arms.extend(
                    keys.iter()
                        .map(|key| with(Part::atom(Atom::Forbidden(key), origin))),
                ),
                Dependent::Schema(id) => arms.push(with(Part::not(*id))),
            }
        }
        Ok(arms)
    }

    fn evaluates(&self, of: Of, _: Draft) -> Evaluates<'_, 'j> {
        if of != Of::Properties {
            return Evaluates::Nothing;
        }
        let schemas = self
            .0
            .iter()
            .filter_map(|(key, dependent)| match dependent {
                Dependent::Keys(_) => None,
                Dependent::Schema(id) => Some((*key, *id)),
            });
        Evaluates::Dependent(schemas.collect())
    }
}
