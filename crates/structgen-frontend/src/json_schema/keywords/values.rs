//! `enum` and `const`.

use std::rc::Rc;

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Form, Never, Origin, Part, SchemaParser, SomeMember, TypeSet,
};

pub(super) fn read<'j>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    match (keyword, value) {
        ("const", _) => parser.assert(keyword, Listed(std::slice::from_ref(value))),
        (_, Json::Array(values)) if values.is_empty() => parser.assert(keyword, Never),
        (_, Json::Array(values)) => parser.assert(keyword, Listed(values)),
        _ => parser.invalid(keyword, "a list of values"),
    }
}

/// The value is one of these.
#[derive(Debug)]
struct Listed<'j>(&'j [Json<'j>]);

impl<'j> Assertion<'j> for Listed<'j> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Values(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(vec![none_of(self.0, origin, context)])
    }
}

/// The conjunction that excludes all of these values: an array or object differs from each of them somewhere.
pub(crate) fn none_of<'j>(
    values: &'j [Json<'j>],
    origin: Origin,
    context: &mut dyn Context<'j>,
) -> Arm<'j> {
    let mut parts = vec![Part::atom(Atom::NotValues(values), origin)];
    for value in values {
        let types = TypeSet::of(value);
        let of = |atoms: Vec<Atom<'j>>| Part::about(types, atoms, origin);
        let mut arms = vec![Part::about(types.complement(), [], origin)];
        match value {
            Json::Object(entries) => {
                let keys: Rc<[&'j str]> = entries.iter().map(|(key, _)| &**key).collect();
                for (key, value) in entries {
                    let other = context.value_literal(value).complement();
                    arms.push(of(vec![Atom::Forbidden(key)]));
                    arms.push(of(vec![Atom::Present(key), Atom::Field(key, other)]));
                }
                arms.push(of(vec![Atom::Some(SomeMember::Key(keys))]));
            }
            Json::Array(items) => {
                let count = u32::try_from(items.len()).unwrap_or(u32::MAX - 1);
                if let Some(fewer) = count.checked_sub(1) {
                    arms.push(of(vec![Atom::MaxItems(fewer)]));
                }
                arms.push(of(vec![Atom::MinItems(count + 1)]));
                for (index, item) in (0..count).zip(items) {
                    let other = context.value_literal(item).complement();
                    let present = Atom::MinItems(index + 1);
                    arms.push(of(vec![present, Atom::Element(index, other)]));
                }
            }
            _ => continue,
        }
        parts.push(Part::Choice(arms));
    }
    parts
}
