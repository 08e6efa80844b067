//! `contains` with `minContains` and `maxContains`.

use std::rc::Rc;

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Evaluated, Evaluates, Form, ItemCount, Of, Origin, Part,
    SchemaId, SchemaParser, Step, TypeSet,
};
use crate::json_schema::{Draft, SchemaError};

pub(super) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, _: &'static str, _: &'j Json<'j>) {
    if !parser.is_first_of("contains") {
        return;
    }
    let counted = parser.draft() >= Draft::Draft2019;
    let mut bound = |keyword| {
        let value = parser.get(keyword).filter(|_| counted)?;
        parser.count(keyword, value)
    };
    let (min, max) = (bound("minContains"), bound("maxContains"));
    let Some(value) = parser.sibling("contains") else {
        for keyword in ["minContains", "maxContains"] {
            if parser.sibling(keyword).is_some() {
                parser.annotation(keyword, "has no effect without `contains`");
            }
        }
        return;
    };
    let item = parser.subschema(value, "contains", Step::None);
    let min = min.unwrap_or(1);
    if min > 0 || max.is_some() {
        parser.assert("contains", Contains(Rc::new(ItemCount { item, min, max })));
    } else if parser.draft() >= Draft::Draft2020 {
        parser.assert("contains", ContainsAny(item));
    }
}

#[derive(Debug)]
struct Contains(Rc<ItemCount>);

impl<'j> Assertion<'j> for Contains {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(Atom::Contains(Rc::clone(&self.0)))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let item = self.0.item;
        let fewer = self.0.min.checked_sub(1).map(|max| (0, Some(max)));
        let more = self.0.max.map(|max| (max.saturating_add(1), None));
        let arm = |(min, max)| {
            let atom = Atom::Contains(Rc::new(ItemCount { item, min, max }));
            Part::about(TypeSet::ARRAY, [atom], origin)
        };
        Ok(fewer.into_iter().chain(more).map(arm).collect())
    }

    /// Up to 2019-09, `contains` evaluates nothing.
    fn evaluates(&self, of: Of, draft: Draft) -> Evaluates<'_, 'j> {
        let mut evaluated = Evaluated::default();
        if of == Of::Items && draft >= Draft::Draft2020 {
            evaluated.contained.push(self.0.item);
        }
        Evaluates::Own(evaluated)
    }
}

/// `contains` with any number of valid items: it asserts nothing, but evaluates the valid ones.
#[derive(Debug)]
struct ContainsAny(SchemaId);

impl<'j> Assertion<'j> for ContainsAny {
    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(Vec::new())
    }

    fn evaluates(&self, of: Of, _: Draft) -> Evaluates<'_, 'j> {
        match of {
            Of::Properties => Evaluates::Nothing,
            Of::Items => Evaluates::Own(Evaluated {
                contained: vec![self.0],
                ..Evaluated::default()
            }),
        }
    }
}
