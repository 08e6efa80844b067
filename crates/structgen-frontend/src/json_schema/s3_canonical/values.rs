//! The typed sets whose union is the canonical form of a node.

use std::collections::BTreeSet;

use structgen_grammar::{Decimal, NumberSet, Regular, Relation, StringContent, StringShape};

use super::NodeId;
use crate::json_schema::Source;
use crate::json_schema::s2_parse::atoms::{Literal, Origin};

/// A set of values: the union of its fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    /// Whether a listed string or number is kept although a set contains it. Values of the set may have to come from
    /// the input; listed ones do not.
    pub(crate) keeps_listed: bool,
    pub(crate) null: bool,
    pub(crate) no: bool,
    pub(crate) yes: bool,
    pub(crate) points: BTreeSet<Decimal>,
    pub(crate) numbers: Vec<Numbers>,
    pub(crate) literals: BTreeSet<Box<str>>,
    pub(crate) strings: Vec<Strings>,
    pub(crate) objects: Vec<Objects>,
    pub(crate) arrays: Vec<Arrays>,
}

/// A set of strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Strings {
    pub(crate) shape: StringShape,
    pub(crate) source: Option<Source>,
    /// The format that the schema names.
    pub(crate) format: Option<Box<str>>,
    pub(crate) related: Option<Related>,
}

/// How values relate to other values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Related {
    pub(crate) relation: Relation,
    /// The JSON Pointer into the output that leads to the other values.
    pub(crate) to: Box<str>,
    pub(crate) origin: Origin,
}

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) source: Option<Source>,
    pub(crate) set: NumberSet,
    /// The numbers are multiples of none of these.
    pub(crate) not_multiples_of: Vec<(Decimal, Origin)>,
    pub(crate) related: Option<Related>,
}

/// A set of objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objects {
    /// The source of the strings and numbers in them.
    pub(crate) source: Option<Source>,
    /// The keys that are mentioned: those that the schema declares, in order, then the others.
    pub(crate) properties: Vec<Field>,
    /// Classes of other keys; no key is in two of them.
    pub(crate) classes: Vec<Class>,
    /// The values of keys that are in none of the classes.
    pub(crate) additional: NodeId,
    /// Whether the schema asserts something about other keys.
    pub(crate) stated: bool,
    /// A schema that the set comes from, for messages.
    pub(crate) origin: Option<Origin>,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) obligations: Vec<Obligation>,
}

/// A key that is mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) key: Box<str>,
    pub(crate) node: NodeId,
    pub(crate) required: bool,
    /// Whether the schema declares the key, which gives it a position in the order, or only mentions it in a negation
    /// or dependency.
    pub(crate) declared: bool,
}

/// A class of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) keys: Regular,
    pub(crate) node: NodeId,
}

/// Some member is one of these, or some property is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obligation {
    pub(crate) members: Vec<(Member, NodeId)>,
    /// The properties, by their index.
    pub(crate) absent: Vec<usize>,
    pub(crate) origin: Origin,
}

/// A kind of member of [`Objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// The property at this index.
    Property(usize),
    /// A key of the class at this index.
    Class(usize),
    /// A key of no class.
    Additional,
}

/// A set of arrays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrays {
    /// The source of the strings and numbers in them.
    pub(crate) source: Option<Source>,
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: NodeId,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) unique: Option<Origin>,
    pub(crate) counted: Vec<Counted>,
}

/// The number of items, starting at the index `from`, for which the literal holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counted {
    pub(crate) item: Literal,
    pub(crate) from: u32,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) origin: Origin,
}

/// The last few that were added: comparing with all would take quadratic time.
fn recent<T>(all: &[T]) -> &[T] {
    const MANY: usize = 32;
    &all[all.len().saturating_sub(MANY)..]
}

impl Values {
    /// The strings, if they are listed.
    pub(crate) fn only_literals(&self) -> Option<&BTreeSet<Box<str>>> {
        self.strings.is_empty().then_some(&self.literals)
    }

    /// Adds strings, unless all are present.
    pub(crate) fn add_strings(&mut self, strings: Strings) {
        if self.has_all_strings() || recent(&self.strings).contains(&strings) {
            return;
        }
        if strings.is_all() && !self.keeps_listed {
            self.strings.clear();
            self.literals.clear();
        }
        match strings.shape.content {
            StringContent::Literals(texts) if strings.related.is_none() => {
                self.literals.extend(texts);
            }
            _ => self.strings.push(strings),
        }
    }

    /// Adds one string, unless all are present.
    pub(crate) fn add_literal(&mut self, text: &str) {
        if !self.has_all_strings() && !self.literals.contains(text) {
            self.literals.insert(text.into());
        }
    }

    fn has_all_strings(&self) -> bool {
        !self.keeps_listed && self.strings.first().is_some_and(Strings::is_all)
    }

    /// Adds numbers, unless all are present.
    pub(crate) fn add_numbers(&mut self, numbers: Numbers) {
        if self.has_all_numbers() || recent(&self.numbers).contains(&numbers) {
            return;
        }
        if numbers == Numbers::default() && !self.keeps_listed {
            self.numbers.clear();
            self.points.clear();
        }
        self.numbers.push(numbers);
    }

    /// Adds one number, unless all are present.
    pub(crate) fn add_point(&mut self, point: &Decimal) {
        if !self.has_all_numbers() {
            self.points.insert(point.clone());
        }
    }

    fn has_all_numbers(&self) -> bool {
        !self.keeps_listed && self.numbers.first() == Some(&Numbers::default())
    }
}

impl Strings {
    /// Whether these are all strings.
    fn is_all(&self) -> bool {
        self.shape == StringShape::default() && self.related.is_none()
    }
}

impl Values {
    /// Adds objects, unless they are present.
    pub(crate) fn add_objects(&mut self, objects: Objects) {
        let is_all = self.objects.first().is_some_and(Objects::is_any);
        if is_all || recent(&self.objects).contains(&objects) {
            return;
        }
        if objects.is_any() {
            self.objects.clear();
        }
        self.objects.push(objects);
    }

    /// Adds arrays, unless they are present.
    pub(crate) fn add_arrays(&mut self, arrays: Arrays) {
        let is_all = self.arrays.first().is_some_and(Arrays::is_any);
        if is_all || recent(&self.arrays).contains(&arrays) {
            return;
        }
        if arrays.is_any() {
            self.arrays.clear();
        }
        self.arrays.push(arrays);
    }
}

impl Objects {
    /// All objects.
    pub(crate) fn any() -> Self {
        Self {
            properties: Vec::new(),
            classes: Vec::new(),
            additional: NodeId::ANY,
            stated: false,
            origin: None,
            min: 0,
            max: None,
            obligations: Vec::new(),
            source: None,
        }
    }

    /// Whether these are all objects.
    fn is_any(&self) -> bool {
        self.source.is_none()
            && self.properties.is_empty()
            && self.classes.is_empty()
            && self.additional == NodeId::ANY
            && (self.min, self.max) == (0, None)
            && self.obligations.is_empty()
    }

    /// Whether only mentioned keys are possible.
    pub(crate) fn is_closed(&self) -> bool {
        self.additional == NodeId::NEVER
            && self.classes.iter().all(|class| class.node == NodeId::NEVER)
    }

    /// The node of the values of this kind of member.
    pub(crate) fn node(&self, member: Member) -> NodeId {
        match member {
            Member::Property(index) => self.properties[index].node,
            Member::Class(index) => self.classes[index].node,
            Member::Additional => self.additional,
        }
    }
}

impl Arrays {
    /// All arrays.
    pub(crate) fn any() -> Self {
        Self {
            prefix: Vec::new(),
            rest: NodeId::ANY,
            min: 0,
            max: None,
            unique: None,
            counted: Vec::new(),
            source: None,
        }
    }

    /// Whether these are all arrays.
    fn is_any(&self) -> bool {
        *self == Self::any()
    }
}
