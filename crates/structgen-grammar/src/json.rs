//! JSON shapes: sets of JSON values, whatever way they are written.

use crate::{Decimal, ExprId, Regular};

/// A set of strings: a content and a length.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct StringShape {
    /// What the string may hold, unescaped.
    pub content: StringContent,
    /// The fewest code points.
    pub min_length: u32,
    /// The most code points.
    pub max_length: Option<u32>,
}

/// What a string may hold, as Unicode text after unescaping.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum StringContent {
    /// Any Unicode text.
    #[default]
    Any,
    /// A text of the regular set, whole.
    Regular(Regular),
    /// One of these texts: sorted, without duplicates.
    Literals(Box<[Box<str>]>),
}

/// One end of a range of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NumberBound {
    /// The value at the end.
    pub value: Decimal,
    /// Whether the value itself is left out.
    pub exclusive: bool,
}

/// A set of numbers: what lies between the bounds, is a multiple of every divisor, and of none of the excluded ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct NumberSet {
    /// The lower end.
    pub lower: Option<NumberBound>,
    /// The upper end.
    pub upper: Option<NumberBound>,
    /// Positive divisors; the integers are the multiples of one. Sorted, without duplicates.
    pub multiples_of: Vec<Decimal>,
    /// Positive divisors that do not divide the number: what is no integer is no multiple of one. Sorted, without
    /// duplicates.
    pub not_multiples_of: Vec<Decimal>,
    /// Whether the numbers are written without fraction and exponent whatever the form allows: draft 4's integers, of
    /// which `1.0` is none.
    pub written_whole: bool,
}

/// A set of objects.
///
/// No key comes twice. A key that no property names has a value of the pattern that it matches, or else of
/// `additional`; where there is neither, there are no such keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ObjectShape {
    /// The declared properties; keys are unique.
    pub properties: Vec<Property>,
    /// How many of the properties, from the first on, come in their order and before all other keys. The others come in
    /// any order.
    pub ordered: u32,
    /// Classes of keys that no property names. No key is in two of them.
    pub patterns: Vec<KeyPattern>,
    /// What the value of a key may be that is in none of the classes.
    pub additional: Option<Slot>,
    /// The fewest members.
    pub min_members: u32,
    /// The most members.
    pub max_members: Option<u32>,
    /// What is counted among the members; at most [`MAX_TALLIES`].
    pub tallies: Vec<Tally>,
    /// The names of the referents within the object: they are forgotten where it begins and where it ends.
    pub referents: Vec<Box<str>>,
}

/// A declared property of an [`ObjectShape`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Property {
    /// The key, unescaped.
    pub key: Box<str>,
    /// What its value may be.
    pub value: Slot,
    /// Whether the object must have it.
    pub required: bool,
    /// Which tallies count where the object does not have it: bit `i` for the `i`-th, which has no upper bound.
    pub absent: u32,
}

/// A class of keys of an [`ObjectShape`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyPattern {
    /// The keys, unescaped and whole.
    pub keys: Regular,
    /// What their values may be.
    pub value: Slot,
}

/// What a member or an item may be: any one of the alternatives.
///
/// Mostly there is one, and it counts for nothing. A value that fits two alternatives may count as either.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Slot {
    /// The alternatives; without any, there is no value.
    pub alternatives: Box<[Alternative]>,
}

/// An alternative of a [`Slot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alternative {
    /// What the value is.
    pub value: ExprId,
    /// Which tallies it counts for: bit `i` for the `i`-th of the shape.
    pub tallies: u32,
}

/// How many members or items have to be of a kind.
///
/// Counting makes the values exact that cannot be said one by one: "some item is a string", "at most two values are
/// negative".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tally {
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: Option<u32>,
}

/// How many tallies a shape may have: one bit of a word for each.
pub const MAX_TALLIES: usize = 32;

/// A set of arrays.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ArrayShape {
    /// What the first items may be, one by one.
    pub prefix: Vec<Slot>,
    /// What the items after the prefix may be; `None`: there are none.
    pub rest: Option<Slot>,
    /// The fewest items.
    pub min_items: u32,
    /// The most items.
    pub max_items: Option<u32>,
    /// What is counted among the items; at most [`MAX_TALLIES`].
    pub tallies: Vec<Tally>,
    /// Whether no two items are the same value. Then an item that counts for different tallies in different
    /// alternatives must fit only one of these.
    pub unique: bool,
}

impl NumberSet {
    /// The integers.
    #[must_use]
    pub fn integers() -> Self {
        Self {
            multiples_of: vec![Decimal::from(1)],
            ..Self::default()
        }
    }

    /// The one number `value`.
    #[must_use]
    pub fn point(value: Decimal) -> Self {
        let bound = NumberBound {
            value,
            exclusive: false,
        };
        Self {
            lower: Some(bound.clone()),
            upper: Some(bound),
            ..Self::default()
        }
    }

    /// The number that it is the [`point`](Self::point) of, if it is one.
    #[must_use]
    pub fn as_point(&self) -> Option<&Decimal> {
        let value = &self.lower.as_ref()?.value;
        (*self == Self::point(value.clone())).then_some(value)
    }
}

impl Slot {
    /// One value, which counts for nothing.
    #[must_use]
    pub fn of(value: ExprId) -> Self {
        Self {
            alternatives: [Alternative { value, tallies: 0 }].into(),
        }
    }

    /// The expression of a slot with one alternative.
    #[must_use]
    pub fn single(&self) -> Option<ExprId> {
        match *self.alternatives {
            [Alternative { value, .. }] => Some(value),
            _ => None,
        }
    }

    /// The expressions of the alternatives.
    pub fn values(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.alternatives
            .iter()
            .map(|alternative| alternative.value)
    }

    /// The slot with other expressions.
    #[must_use]
    pub fn map(&self, mut value: impl FnMut(ExprId) -> ExprId) -> Self {
        let alternatives = self.alternatives.iter().map(|alternative| Alternative {
            value: value(alternative.value),
            ..*alternative
        });
        Self {
            alternatives: alternatives.collect(),
        }
    }

    /// The slot without the alternatives that are not kept.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(ExprId) -> bool) -> Self {
        let kept = self.alternatives.iter().copied();
        Self {
            alternatives: kept.filter(|alternative| keep(alternative.value)).collect(),
        }
    }
}

impl ObjectShape {
    /// All slots: of the properties, the patterns, and all other keys.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.properties
            .iter()
            .map(|property| &property.value)
            .chain(self.patterns.iter().map(|pattern| &pattern.value))
            .chain(&self.additional)
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.slots().flat_map(Slot::values)
    }
}

impl ArrayShape {
    /// All slots: of the prefix and the rest.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.prefix.iter().chain(&self.rest)
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.slots().flat_map(Slot::values)
    }
}
