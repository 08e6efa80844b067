//! The primitive assertions (atoms) that all keywords are built from.
//!
//! As in JSON Schema itself, an atom about one type holds for all values of other types. The negation of a keyword is a
//! disjunction of conjunctions of atoms, so that no connective remains in the canonical form.

use std::rc::Rc;

use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{Decimal, NumberBound, Regular, Relation};

use super::SchemaId;
use crate::json_schema::Source;
use crate::json_schema::formats::Format;
use crate::json_schema::s1_json::Json;

/// A set of types; integers and other numbers are two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(1 << 1);
    pub(crate) const INTEGER: Self = Self(1 << 2);
    pub(crate) const FRACTION: Self = Self(1 << 3);
    pub(crate) const NUMBER: Self = Self(Self::INTEGER.0 | Self::FRACTION.0);
    pub(crate) const STRING: Self = Self(1 << 4);
    pub(crate) const OBJECT: Self = Self(1 << 5);
    pub(crate) const ARRAY: Self = Self(1 << 6);
    pub(crate) const ALL: Self = Self(0x7f);
    /// The types that can be marked with a source or a relation, or that contain values which can.
    pub(crate) const MARKED: Self =
        Self(Self::NUMBER.0 | Self::STRING.0 | Self::OBJECT.0 | Self::ARRAY.0);

    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "object" => Self::OBJECT,
            "array" => Self::ARRAY,
            _ => return None,
        })
    }

    pub(crate) fn of(value: &Json<'_>) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) if number.is_integer() => Self::INTEGER,
            Json::Number(_) => Self::FRACTION,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn complement(self) -> Self {
        Self(!self.0 & Self::ALL.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the two have a type in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A schema or a value that occurs in the schema, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Literal {
    pub(crate) source: Subject,
    pub(crate) negated: bool,
}

/// What a [`Literal`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// The values that are valid under the schema.
    Schema(SchemaId),
    /// This value only.
    Value(ValueId),
}

/// A value of `const` or `enum`, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueId(pub(crate) u32);

impl Literal {
    pub(crate) fn schema(id: SchemaId) -> Self {
        Self {
            source: Subject::Schema(id),
            negated: false,
        }
    }

    pub(crate) fn not(id: SchemaId) -> Self {
        Self::schema(id).complement()
    }

    pub(crate) fn value(id: ValueId) -> Self {
        Self {
            source: Subject::Value(id),
            negated: false,
        }
    }

    pub(crate) fn complement(self) -> Self {
        Self {
            negated: !self.negated,
            ..self
        }
    }
}

/// A primitive assertion.
#[derive(Clone, Debug)]
pub(crate) enum Atom<'j> {
    /// The value is of one of these types.
    Types(TypeSet),
    /// The value is one of these.
    Values(&'j [Json<'j>]),
    /// The value is none of these.
    NotValues(&'j [Json<'j>]),
    Lower(NumberBound),
    Upper(NumberBound),
    MultipleOf(Decimal),
    NotMultipleOf(Decimal),
    /// The number is written without fraction and exponent: an integer of draft 4.
    WrittenWhole,
    MinLength(u32),
    MaxLength(u32),
    /// The string, unescaped, is in the set.
    Text(Regular),
    /// The string has the format, or does not have it. A set of strings can only approximate this, see
    /// [`Format::superset`].
    HasFormat(&'static Format, bool),
    Fields(Rc<Fields<'j>>),
    /// The value of the key, if present, satisfies the literal.
    Field(&'j str, Literal),
    /// Some member satisfies this.
    Some(SomeMember<'j>),
    /// At least one of these holds.
    Clause(Rc<[KeyLiteral<'j>]>),
    Required(Rc<[&'j str]>),
    /// The key is present; unlike [`Atom::Required`] this does not declare it.
    Present(&'j str),
    Forbidden(&'j str),
    /// Every key, as a string, is valid under the schema.
    Names(SchemaId),
    MinProperties(u32),
    MaxProperties(u32),
    Elements(Rc<Elements>),
    /// The item at this index, if present, satisfies the literal.
    Element(u32, Literal),
    /// Some item after the prefix is not valid under the schema of the rest.
    OtherElement(Rc<Elements>),
    MinItems(u32),
    MaxItems(u32),
    Unique,
    /// Two items are equal.
    Repeated,
    Contains(Rc<ItemCount>),
    /// The strings and numbers here and below come from this source. It holds for every value.
    Source(Source),
    /// Strings and numbers relate to others. It holds for every value.
    Related(RelatedTo<'j>),
    /// The name of a format that strings have, whether or not it is enforced. It holds for every value.
    Format(&'j str),
}

/// How values relate to those at a JSON Pointer into the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelatedTo<'j> {
    pub(crate) relation: Relation,
    pub(crate) to: &'j str,
}

/// An atom, and the keyword that it came from.
#[derive(Clone, Debug)]
pub(crate) struct TracedAtom<'j> {
    pub(crate) atom: Atom<'j>,
    pub(crate) origin: Origin,
}

/// A keyword of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) schema: SchemaId,
    pub(crate) keyword: &'static str,
}

/// `properties`, `patternProperties` and `additionalProperties` of one schema.
#[derive(Debug, Default)]
pub(crate) struct Fields<'j> {
    pub(crate) properties: Vec<(&'j str, SchemaId)>,
    pub(crate) patterns: Vec<(&'j str, SchemaId)>,
    pub(crate) additional: Option<SchemaId>,
    by_key: KeyedMap<&'j str, SchemaId>,
}

impl<'j> Fields<'j> {
    /// Speeds up lookups by key. Call this after the last property is added.
    pub(crate) fn index(&mut self) {
        if self.properties.len() > 8 {
            self.by_key = self.properties.iter().copied().collect();
        }
    }

    /// The schema of the key in `properties`.
    pub(crate) fn property(&self, key: &str) -> Option<SchemaId> {
        if self.by_key.is_empty() {
            let found = self.properties.iter().find(|(name, _)| *name == key);
            found.map(|&(_, id)| id)
        } else {
            self.by_key.get(key).copied()
        }
    }
}

/// A condition that some member of an object satisfies.
#[derive(Clone, Debug)]
pub(crate) enum SomeMember<'j> {
    /// Its value is not valid.
    Field(OtherField<'j>),
    /// Its key is none of these.
    Key(Rc<[&'j str]>),
    /// Its key, as a string, is not valid under the schema.
    Name(SchemaId),
}

/// An assertion about one key.
#[derive(Clone, Debug)]
pub(crate) enum KeyLiteral<'j> {
    /// It is absent.
    Absent(&'j str),
    /// It is present, and its value satisfies the literal, if any.
    Has(&'j str, Option<Literal>),
    /// Some member satisfies this.
    Some(SomeMember<'j>),
}

/// Some key to which `additionalProperties`, or the pattern with this index, applies has a value that is not valid.
#[derive(Clone, Debug)]
pub(crate) struct OtherField<'j> {
    pub(crate) fields: Rc<Fields<'j>>,
    pub(crate) pattern: Option<usize>,
}

impl OtherField<'_> {
    /// The schema under which the value is not valid.
    pub(crate) fn schema(&self) -> Option<SchemaId> {
        match self.pattern {
            Some(index) => self.fields.patterns.get(index).map(|pattern| pattern.1),
            None => self.fields.additional,
        }
    }
}

/// `prefixItems`, `items` and `additionalItems` of one schema.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    pub(crate) prefix: Vec<SchemaId>,
    pub(crate) rest: Option<SchemaId>,
}

impl Elements {
    /// The schema of the item at this index.
    pub(crate) fn at(&self, index: usize) -> Option<SchemaId> {
        self.prefix.get(index).copied().or(self.rest)
    }
}

/// How many items are valid under a schema: `contains` with its counts.
#[derive(Debug)]
pub(crate) struct ItemCount {
    pub(crate) item: SchemaId,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}
