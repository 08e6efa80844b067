//! `properties`, `patternProperties` and `additionalProperties`, which only have a meaning together.

use std::rc::Rc;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Evaluated, Evaluates, Fields, Form, Literal, Of, Origin,
    OtherField, Part, SchemaParser, SomeMember, Step, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, _: &'static str, _: &'j Json<'j>) {
    if !parser.is_first_of("properties") {
        return;
    }
    let mut fields = Fields::default();
    let mut name = "additionalProperties";
    if let Some(value) = parser.sibling("patternProperties") {
        name = "patternProperties";
        match value {
            Json::Object(entries) => {
                for (pattern, value) in entries {
                    let id = parser.subschema(value, name, Step::Key(pattern));
                    fields.patterns.push((pattern, id));
                }
            }
            _ => parser.invalid(name, "an object of schemas"),
        }
    }
    if let Some(value) = parser.sibling("properties") {
        name = "properties";
        match value {
            Json::Object(entries) => {
                for (key, value) in entries {
                    let id = parser.subschema(value, name, Step::Key(key));
                    fields.properties.push((key, id));
                }
            }
            _ => parser.invalid(name, "an object of schemas"),
        }
    }
    if let Some(value) = parser.sibling("additionalProperties") {
        fields.additional = Some(parser.subschema(value, "additionalProperties", Step::None));
    }
    fields.index();
    parser.assert(name, Properties(Rc::new(fields)));
}

#[derive(Debug)]
struct Properties<'j>(Rc<Fields<'j>>);

impl<'j> Assertion<'j> for Properties<'j> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Fields(Rc::clone(&self.0)))
    }

    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let program = context.program();
        let mut arms = Vec::new();
        for &(key, id) in &self.0.properties {
            if !program.is_anything(id) {
                let other = [Atom::Present(key), Atom::Field(key, Literal::not(id))];
                arms.push(Part::about(TypeSet::OBJECT, other, origin));
            }
        }
        let patterns = (0..self.0.patterns.len()).map(Some);
        for pattern in patterns.chain([None]) {
            let fields = Rc::clone(&self.0);
            let other = OtherField { fields, pattern };
            if other.schema().is_some_and(|id| !program.is_anything(id)) {
                let some = Atom::Some(SomeMember::Field(other));
                arms.push(Part::about(TypeSet::OBJECT, [some], origin));
            }
        }
        Ok(arms)
    }

    fn evaluates(&self, of: Of, _: Draft) -> Evaluates<'_, 'j> {
        let mut evaluated = Evaluated::default();
        if of == Of::Properties {
            evaluated.all = self.0.additional.is_some();
            if !evaluated.all {
                evaluated.keys = self.0.properties.iter().map(|field| field.0).collect();
                evaluated.patterns = self.0.patterns.iter().map(|field| field.0).collect();
            }
        }
        Evaluates::Own(evaluated)
    }
}
