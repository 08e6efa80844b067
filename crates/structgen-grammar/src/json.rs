//! JSON shapes: sets of JSON values, however they are written.

use crate::{Decimal, ExprId, Regular};

/// A set of strings: their content and lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct StringShape {
    /// The content of the string, unescaped.
    pub content: StringContent,
    /// The minimum length in code points.
    pub min_length: u32,
    /// The maximum length in code points.
    pub max_length: Option<u32>,
}

/// The content of a string, as Unicode text after unescaping.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum StringContent {
    /// Any Unicode text.
    #[default]
    Any,
    /// A text that the regular set matches as a whole.
    Regular(Regular),
    /// One of these texts, which are sorted and without duplicates.
    Literals(Box<[Box<str>]>),
}

/// A bound of a range of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NumberBound {
    /// The bound.
    pub value: Decimal,
    /// Whether the bound itself is excluded.
    pub exclusive: bool,
}

/// A set of numbers: those between the bounds that are multiples of all divisors and of none of the excluded ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct NumberSet {
    /// The lower bound.
    pub lower: Option<NumberBound>,
    /// The upper bound.
    pub upper: Option<NumberBound>,
    /// Positive divisors; the integers are the multiples of one. Sorted, without duplicates.
    pub multiples_of: Vec<Decimal>,
    /// Positive numbers of which the number must not be a multiple; one excludes the integers. Sorted, without
    /// duplicates.
    pub not_multiples_of: Vec<Decimal>,
    /// Whether the numbers are written without fraction and exponent, whatever the form allows. `1.0` is not an integer
    /// in draft 4.
    pub written_whole: bool,
}

/// A set of objects.
///
/// No key occurs twice. A key that no property declares has a value of the pattern that it matches, or else of
/// `additional`; if there is neither, the key is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ObjectShape {
    /// The declared properties; keys are unique.
    pub properties: Vec<Property>,
    /// The number of leading properties that come in this order and before all other keys. The others come in any
    /// order.
    pub ordered: u32,
    /// Disjoint classes of keys that no property declares.
    pub patterns: Vec<KeyPattern>,
    /// The values of keys that are in none of the classes.
    pub additional: Option<Slot>,
    /// The minimum number of members.
    pub min_members: u32,
    /// The maximum number of members.
    pub max_members: Option<u32>,
    /// The tallies counted over the members; at most [`MAX_TALLIES`].
    pub tallies: Vec<Tally>,
    /// The names of the referents within the object: they are forgotten where it begins and ends.
    pub referents: Vec<Box<str>>,
}

/// A declared property of an [`ObjectShape`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Property {
    /// The key, unescaped.
    pub key: Box<str>,
    /// The possible values.
    pub value: Slot,
    /// Whether the key is required.
    pub required: bool,
    /// The tallies that count if the key is absent: bit `i` for the `i`-th, which has no upper bound.
    pub absent: u32,
}

/// A class of keys of an [`ObjectShape`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyPattern {
    /// The keys, unescaped; the set matches whole keys.
    pub keys: Regular,
    /// The possible values.
    pub value: Slot,
}

/// The possible values of a member or an item: any one of the alternatives.
///
/// There is usually one, which counts towards no tally. A value of two alternatives may count as either.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Slot {
    /// The alternatives; if there are none, no value is possible.
    pub alternatives: Box<[Alternative]>,
}

/// An alternative of a [`Slot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alternative {
    /// The values.
    pub value: ExprId,
    /// The tallies that the value counts towards: bit `i` for the `i`-th of the shape.
    pub tallies: u32,
}

/// Bounds on the number of members or items of some kind (a counting constraint).
///
/// Tallies express conditions that do not concern a single value: "some item is a string", "at most two values are
/// negative".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tally {
    /// The minimum.
    pub min: u32,
    /// The maximum.
    pub max: Option<u32>,
}

/// The maximum number of tallies of a shape: each is one bit of a word.
pub const MAX_TALLIES: usize = 32;

/// A set of arrays.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ArrayShape {
    /// The possible values of the first items, one slot each.
    pub prefix: Vec<Slot>,
    /// The possible values of the items after the prefix; if `None`, there are no more items.
    pub rest: Option<Slot>,
    /// The minimum number of items.
    pub min_items: u32,
    /// The maximum number of items.
    pub max_items: Option<u32>,
    /// The tallies counted over the items; at most [`MAX_TALLIES`].
    pub tallies: Vec<Tally>,
    /// Whether all items are distinct values. If so, alternatives of an item that count towards different tallies must
    /// be disjoint.
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

    /// The set of the single number `value`.
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

    /// The only number of the set, if it is a [`point`](Self::point).
    #[must_use]
    pub fn as_point(&self) -> Option<&Decimal> {
        let value = &self.lower.as_ref()?.value;
        (*self == Self::point(value.clone())).then_some(value)
    }
}

impl Slot {
    /// A slot with one alternative, which counts towards no tally.
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

    /// The slot with its expressions replaced.
    #[must_use]
    pub fn map(mut self, mut value: impl FnMut(ExprId) -> ExprId) -> Self {
        for alternative in &mut self.alternatives {
            alternative.value = value(alternative.value);
        }
        self
    }

    /// The slot with only the alternatives for which `keep` returns `true`.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(ExprId) -> bool) -> Self {
        let kept = self.alternatives.iter().copied();
        Self {
            alternatives: kept.filter(|alternative| keep(alternative.value)).collect(),
        }
    }
}

impl ObjectShape {
    /// All slots: of the properties, the patterns, and additional keys.
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
