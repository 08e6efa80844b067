//! The typed sets that the canonical form is a union of.

use std::collections::BTreeSet;
use std::rc::Rc;

use structgen_grammar::{Decimal, NumberSet, StringContent, StringShape};

use super::NodeId;
use super::atoms::{Contains, Elements, Fields, OtherField, Place};
use crate::json_schema::parse::SchemaId;

/// A set of values: the union of everything in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values<'j> {
    pub(crate) null: bool,
    pub(crate) no: bool,
    pub(crate) yes: bool,
    pub(crate) points: BTreeSet<Decimal>,
    pub(crate) numbers: Vec<Numbers>,
    pub(crate) literals: BTreeSet<Box<str>>,
    pub(crate) strings: Vec<StringShape>,
    pub(crate) objects: Vec<Objects<'j>>,
    pub(crate) arrays: Vec<Arrays>,
}

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) set: NumberSet,
    /// The numbers are multiples of none of these.
    pub(crate) not_multiples_of: Vec<(Decimal, Place)>,
}

/// A set of objects.
#[derive(Clone, Debug)]
pub(crate) struct Objects<'j> {
    /// The keys that are spoken of, in their declared order.
    pub(crate) properties: Vec<Field>,
    /// What other keys have.
    pub(crate) additional: NodeId,
    /// Whether the schema says something about other keys.
    pub(crate) stated: bool,
    /// A schema that the set comes from, for messages.
    pub(crate) place: Option<Place>,
    /// Patterns that say more about the keys not spoken of.
    pub(crate) patterns: Vec<(Rc<Fields<'j>>, Place)>,
    /// Schemas that the other keys have to fit.
    pub(crate) names: Vec<(SchemaId, Place)>,
    pub(crate) min: Option<(u32, Place)>,
    pub(crate) max: Option<(u32, Place)>,
    /// Some key has a value that does not fit, for each of these.
    pub(crate) others: Vec<(OtherField<'j>, Place)>,
}

/// A key that is spoken of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) key: Box<str>,
    pub(crate) node: NodeId,
    pub(crate) required: bool,
}

/// A set of arrays.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: NodeId,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) unique: Option<Place>,
    pub(crate) contains: Vec<(Rc<Contains>, Place)>,
    /// Some item behind the prefix does not fit the rest, for each of these.
    pub(crate) others: Vec<(Rc<Elements>, Place)>,
}

/// The last ones added: to look for equals among all of them would take time that grows with the square.
fn recent<T>(all: &[T]) -> &[T] {
    const MANY: usize = 32;
    &all[all.len().saturating_sub(MANY)..]
}

impl Values<'_> {
    /// Whether there are strings only, and which, if they are finitely many.
    pub(crate) fn only_literals(&self) -> Option<&BTreeSet<Box<str>>> {
        self.strings.is_empty().then_some(&self.literals)
    }

    /// Adds strings, unless they are all there.
    pub(crate) fn add_strings(&mut self, shape: StringShape) {
        let all = StringShape::default();
        if self.strings.first() == Some(&all) || recent(&self.strings).contains(&shape) {
            return;
        }
        if shape == all {
            self.strings.clear();
            self.literals.clear();
        }
        match shape.content {
            StringContent::Literals(texts) => self.literals.extend(texts),
            _ => self.strings.push(shape),
        }
    }

    /// Adds one string, unless all are there.
    pub(crate) fn add_literal(&mut self, text: &str) {
        if self.strings.first() != Some(&StringShape::default()) && !self.literals.contains(text) {
            self.literals.insert(text.into());
        }
    }

    /// Adds numbers, unless they are all there.
    pub(crate) fn add_numbers(&mut self, numbers: Numbers) {
        let all = Numbers::default();
        if self.numbers.first() == Some(&all) || recent(&self.numbers).contains(&numbers) {
            return;
        }
        if numbers == all {
            self.numbers.clear();
            self.points.clear();
        }
        self.numbers.push(numbers);
    }

    /// Adds one number, unless all are there.
    pub(crate) fn add_point(&mut self, point: &Decimal) {
        if self.numbers.first() != Some(&Numbers::default()) {
            self.points.insert(point.clone());
        }
    }
}

impl<'j> Values<'j> {
    /// Adds objects, unless they are there.
    pub(crate) fn add_objects(&mut self, objects: Objects<'j>) {
        let is_all = self.objects.first().is_some_and(Objects::is_any);
        if is_all
            || recent(&self.objects)
                .iter()
                .any(|other| other.is_same(&objects))
        {
            return;
        }
        if objects.is_any() {
            self.objects.clear();
        }
        self.objects.push(objects);
    }

    /// Adds arrays, unless they are there.
    pub(crate) fn add_arrays(&mut self, arrays: Arrays) {
        let is_all = self.arrays.first().is_some_and(Arrays::is_any);
        if is_all
            || recent(&self.arrays)
                .iter()
                .any(|other| other.is_same(&arrays))
        {
            return;
        }
        if arrays.is_any() {
            self.arrays.clear();
        }
        self.arrays.push(arrays);
    }
}

impl Objects<'_> {
    /// Whether these are all objects.
    fn is_any(&self) -> bool {
        self.properties.is_empty() && self.additional == NodeId::ANY && self.is_plain()
    }

    /// Whether there are no keys but those that are spoken of.
    pub(crate) fn is_closed(&self) -> bool {
        self.additional == NodeId::NEVER && self.patterns.is_empty()
    }

    /// Whether nothing is said beyond properties and one node for all other keys.
    pub(crate) fn is_plain(&self) -> bool {
        self.patterns.is_empty()
            && self.names.is_empty()
            && self.min.is_none()
            && self.max.is_none()
            && self.others.is_empty()
    }

    fn is_same(&self, other: &Self) -> bool {
        // What is not plain is compared by where it stands, which may miss that two are equal: that does no harm.
        self.properties == other.properties
            && self.additional == other.additional
            && self.stated == other.stated
            && self.min == other.min
            && self.max == other.max
            && self.names == other.names
            && self.others.is_empty()
            && other.others.is_empty()
            && self.patterns.len() == other.patterns.len()
            && self
                .patterns
                .iter()
                .zip(&other.patterns)
                .all(|(a, b)| Rc::ptr_eq(&a.0, &b.0))
    }
}

impl Arrays {
    /// Whether these are all arrays.
    fn is_any(&self) -> bool {
        self.prefix.is_empty()
            && self.rest == NodeId::ANY
            && self.min == 0
            && self.max.is_none()
            && self.unique.is_none()
            && self.contains.is_empty()
            && self.others.is_empty()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.prefix == other.prefix
            && self.rest == other.rest
            && self.others.is_empty()
            && other.others.is_empty()
            && (self.min, self.max, self.unique) == (other.min, other.max, other.unique)
            && self.contains.len() == other.contains.len()
            && self
                .contains
                .iter()
                .zip(&other.contains)
                .all(|(a, b)| Rc::ptr_eq(&a.0, &b.0))
    }
}
