//! `prefixItems`, `items` and `additionalItems`, which only have a meaning together.

use std::rc::Rc;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Elements, Evaluated, Evaluates, Form, Literal, Of, Origin, Part,
    SchemaParser, Step, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

/// A list under `items` keeps the meaning that it had up to 2019-09 in every draft, since it has no other.
pub(super) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, _: &'static str, _: &'j Json<'j>) {
    if !parser.is_first_of("items") {
        return;
    }
    let mut elements = Elements::default();
    let mut name = "items";
    let new = parser.draft() >= Draft::Draft2020;
    if let Some(value) = parser.sibling("prefixItems")
        && new
    {
        name = "prefixItems";
        elements.prefix = parser.subschemas(name, value).unwrap_or_default();
    }
    let items = parser.sibling("items");
    let additional = parser.sibling("additionalItems");
    match items {
        Some(Json::Array(items)) => {
            if new && parser.sibling("prefixItems").is_some() {
                parser.invalid("items", "a schema, beside `prefixItems`");
                return;
            }
            for (index, item) in items.iter().enumerate() {
                let id = parser.subschema(item, "items", Step::Index(index));
                elements.prefix.push(id);
            }
            if let Some(value) = additional {
                elements.rest = Some(parser.subschema(value, "additionalItems", Step::None));
            }
        }
        Some(value) => elements.rest = Some(parser.subschema(value, "items", Step::None)),
        None => {}
    }
    if additional.is_some() && !matches!(items, Some(Json::Array(_))) {
        let note = "has no effect except beside a list under `items`";
        parser.annotation("additionalItems", note);
    }
    if !elements.prefix.is_empty() || elements.rest.is_some() {
        parser.assert(name, Items(Rc::new(elements)));
    }
}

#[derive(Debug)]
struct Items(Rc<Elements>);

impl<'j> Assertion<'j> for Items {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Elements(Rc::clone(&self.0)))
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let mut arms = Vec::new();
        for (index, &id) in self.0.prefix.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let present = Atom::MinItems(index.saturating_add(1));
            let other = Atom::Element(index, Literal::not(id));
            arms.push(Part::about(TypeSet::ARRAY, [present, other], origin));
        }
        if self
            .0
            .rest
            .is_some_and(|rest| !context.program().is_anything(rest))
        {
            let other = Atom::OtherElement(Rc::clone(&self.0));
            arms.push(Part::about(TypeSet::ARRAY, [other], origin));
        }
        Ok(arms)
    }

    fn evaluates(&self, of: Of, _: Draft) -> Evaluates<'_, 'j> {
        let mut evaluated = Evaluated::default();
        if of == Of::Items {
            evaluated.all = self.0.rest.is_some();
            evaluated.prefix = self.0.prefix.len();
        }
        Evaluates::Own(evaluated)
    }
}
