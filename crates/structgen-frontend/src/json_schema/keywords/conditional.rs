//! `if`, `then` and `else`.

use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Context, Evaluates, Of, Origin, Part, SchemaId, SchemaParser, Step, TypeSet,
};
use crate::json_schema::{Draft, Effect, SchemaError, SchemaOptions};

pub(super) fn read<'j>(parser: &mut SchemaParser<'_, 'j>, _: &'static str, _: &'j Json<'j>) {
    if !parser.is_first_of("if") {
        return;
    }
    let mut part = |keyword| {
        let value = parser.sibling(keyword)?;
        Some(parser.subschema(value, keyword, Step::None))
    };
    let (condition, then, otherwise) = (part("if"), part("then"), part("else"));
    match condition {
        Some(condition) if then.is_some() || otherwise.is_some() => {
            let conditional = Conditional {
                condition,
                then,
                otherwise,
            };
            parser.assert("if", conditional);
        }
        Some(condition) => {
            parser.annotation("if", "has no effect without `then` and `else`");
            if parser.draft() >= Draft::Draft2019 {
                parser.assert("if", IfAlone(condition));
            }
        }
        None => {
            for (keyword, part) in [("then", then), ("else", otherwise)] {
                if part.is_some() {
                    parser.annotation(keyword, "has no effect without `if`");
                }
            }
        }
    }
}

#[derive(Debug)]
struct Conditional {
    condition: SchemaId,
    then: Option<SchemaId>,
    otherwise: Option<SchemaId>,
}

impl<'j> Assertion<'j> for Conditional {
    fn affirmed(
        &self,
        _: Origin,
        _: TypeSet,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let arm = |first: Part<'j>, second: Option<SchemaId>| {
            let second = second.map(Part::schema);
            std::iter::once(first).chain(second).collect::<Arm<'j>>()
        };
        Ok(vec![Part::Choice(vec![
            arm(Part::schema(self.condition), self.then),
            arm(Part::not(self.condition), self.otherwise),
        ])])
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        let then = self
            .then
            .map(|then| vec![Part::schema(self.condition), Part::not(then)]);
        let otherwise = self.otherwise;
        let otherwise = otherwise.map(|other| vec![Part::not(self.condition), Part::not(other)]);
        Ok(then.into_iter().chain(otherwise).collect())
    }

    /// The condition is checked once, so that nested conditions do not double the work.
    fn holds(
        &self,
        _: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        let branch = if context.satisfies(self.condition, value, depth)? {
            self.then
        } else {
            self.otherwise
        };
        match branch {
            Some(branch) => context.satisfies(branch, value, depth),
            None => Ok(true),
        }
    }

    fn evaluates(&self, _: Of, _: Draft) -> Evaluates<'_, 'j> {
        Evaluates::Conditional {
            condition: self.condition,
            then: self.then,
            otherwise: self.otherwise,
        }
    }
}

/// `if` without `then` and `else` asserts nothing, but evaluates what its schema evaluates.
#[derive(Debug)]
struct IfAlone(SchemaId);

impl<'j> Assertion<'j> for IfAlone {
    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(Vec::new())
    }

    fn evaluates(&self, _: Of, _: Draft) -> Evaluates<'_, 'j> {
        Evaluates::Conditional {
            condition: self.0,
            then: None,
            otherwise: None,
        }
    }

    /// The report already lists it as an annotation.
    fn effect(&self, _: &SchemaOptions) -> Option<Effect> {
        None
    }
}
