//! `minItems`, `maxItems`, `minLength`, `maxLength`, `minProperties` and `maxProperties`: how many parts a value has.

use std::fmt::Debug;
use std::marker::PhantomData;

use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::{
    Arm, Assertion, Atom, Context, Form, Origin, Part, SchemaParser, TypeSet,
};

/// What is counted, of values of some type.
pub(super) trait Counted: Debug + 'static {
    const OF: TypeSet;

    fn at_least<'j>(count: u32) -> Atom<'j>;
    fn at_most<'j>(count: u32) -> Atom<'j>;
}

#[derive(Debug)]
pub(super) struct Items;

impl Counted for Items {
    const OF: TypeSet = TypeSet::ARRAY;

    fn at_least<'j>(count: u32) -> Atom<'j> {
        Atom::MinItems(count)
    }

    fn at_most<'j>(count: u32) -> Atom<'j> {
        Atom::MaxItems(count)
    }
}

#[derive(Debug)]
pub(super) struct Characters;

impl Counted for Characters {
    const OF: TypeSet = TypeSet::STRING;

    fn at_least<'j>(count: u32) -> Atom<'j> {
        Atom::MinLength(count)
    }

    fn at_most<'j>(count: u32) -> Atom<'j> {
        Atom::MaxLength(count)
    }
}

#[derive(Debug)]
pub(super) struct Properties;

impl Counted for Properties {
    const OF: TypeSet = TypeSet::OBJECT;

    fn at_least<'j>(count: u32) -> Atom<'j> {
        Atom::MinProperties(count)
    }

    fn at_most<'j>(count: u32) -> Atom<'j> {
        Atom::MaxProperties(count)
    }
}

pub(super) fn read_least<'j, C: Counted>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    // Every value has at least zero.
    if let Some(count) = parser.count(keyword, value).filter(|&count| count > 0) {
        parser.assert(keyword, AtLeast::<C>(count, PhantomData));
    }
}

pub(super) fn read_most<'j, C: Counted>(
    parser: &mut SchemaParser<'_, 'j>,
    keyword: &'static str,
    value: &'j Json<'j>,
) {
    // A count larger than any possible one is read as `u32::MAX`.
    let count = parser.count(keyword, value);
    if let Some(count) = count.filter(|&count| count < u32::MAX) {
        parser.assert(keyword, AtMost::<C>(count, PhantomData));
    }
}

#[derive(Debug)]
struct AtLeast<C>(u32, PhantomData<C>);

impl<'j, C: Counted> Assertion<'j> for AtLeast<C> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(C::at_least(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let opposite = C::at_most(self.0 - 1);
        Ok(vec![Part::about(C::OF, [opposite], origin)])
    }
}

#[derive(Debug)]
struct AtMost<C>(u32, PhantomData<C>);

impl<'j, C: Counted> Assertion<'j> for AtMost<C> {
    fn form(&self) -> Form<'_, 'j> {
        Form::Atom(C::at_most(self.0))
    }

    fn negated(
        &self,
        origin: Origin,
        _: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError> {
        let opposite = C::at_least(self.0.saturating_add(1));
        Ok(vec![Part::about(C::OF, [opposite], origin)])
    }
}
