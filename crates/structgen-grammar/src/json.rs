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

/// A set of numbers: what lies between the bounds and is a multiple of every divisor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct NumberSet {
    /// The lower end.
    pub lower: Option<NumberBound>,
    /// The upper end.
    pub upper: Option<NumberBound>,
    /// Positive divisors; the integers are the multiples of one. Sorted, without duplicates.
    pub multiples_of: Vec<Decimal>,
    /// Whether the numbers are written without fraction and exponent whatever the form allows: draft 4's integers, of which `1.0` is none.
    pub written_whole: bool,
}

/// A set of objects.
///
/// No key comes twice. A key that no property names has a value of `additional`; where that is `None`, there are no such keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ObjectShape {
    /// The declared properties, in their declared order; keys are unique.
    pub properties: Vec<Property>,
    /// What the value of an undeclared key may be.
    pub additional: Option<ExprId>,
}

/// A declared property of an [`ObjectShape`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Property {
    /// The key, unescaped.
    pub key: Box<str>,
    /// What its value may be.
    pub value: ExprId,
    /// Whether the object must have it.
    pub required: bool,
}

/// A set of arrays.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ArrayShape {
    /// What the first items may be, one by one.
    pub prefix: Vec<ExprId>,
    /// What the items behind the prefix may be; `None`: there are none.
    pub rest: Option<ExprId>,
    /// The fewest items.
    pub min_items: u32,
    /// The most items.
    pub max_items: Option<u32>,
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
            multiples_of: Vec::new(),
            written_whole: false,
        }
    }
}

impl ObjectShape {
    pub(crate) fn children(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.properties
            .iter()
            .map(|property| property.value)
            .chain(self.additional)
    }
}

impl ArrayShape {
    pub(crate) fn children(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.prefix.iter().copied().chain(self.rest)
    }
}
