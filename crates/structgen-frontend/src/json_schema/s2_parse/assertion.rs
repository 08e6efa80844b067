//! What the keywords of a schema assert: the interface between a keyword and the stages.
//!
//! Each keyword implements [`Assertion`] in its own file below `keywords`. It returns its meaning as a conjunction and
//! its negation as a disjunction, both of [`Part`]s, and what it evaluates. The services it needs are its [`Context`],
//! which the canonical form implements: no keyword depends on a later stage.

use std::fmt;
use std::hash::Hash;

use structgen_grammar::Regular;
use structgen_grammar::keyed::KeyedSet;

use super::atoms::{Atom, Literal, Origin, TracedAtom, TypeSet};
use super::{Program, SchemaId};
use crate::json_schema::s1_json::Json;
use crate::json_schema::{Draft, Effect, SchemaError, SchemaOptions};

/// What a keyword of a schema asserts.
pub(crate) trait Assertion<'j>: fmt::Debug {
    /// The assertion, as far as it is known without computation. An atom is all that the keyword asserts.
    fn form(&self) -> Form<'_, 'j> {
        Form::Other
    }

    /// The conjunction that is equivalent to the keyword; `types` are the types that the value may have.
    fn affirmed(
        &self,
        origin: Origin,
        _types: TypeSet,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Part<'j>>, SchemaError> {
        let literals = match self.form() {
            Form::Never => return Ok(vec![Part::Choice(Vec::new())]),
            Form::Atom(atom) => return Ok(vec![Part::atom(atom, origin)]),
            Form::Invalid(error) => return Err(error.clone()),
            Form::Other => Vec::new(),
            Form::AllOf(schemas) => schemas.iter().copied().map(Literal::schema).collect(),
            Form::Not(schema) => vec![Literal::not(schema)],
            Form::Reference(reference) => {
                vec![Literal::schema(origin.resolve(reference, context)?)]
            }
        };
        Ok(literals.into_iter().map(Part::Literal).collect())
    }

    /// The disjunction that is equivalent to the keyword's negation.
    fn negated(
        &self,
        origin: Origin,
        context: &mut dyn Context<'j>,
    ) -> Result<Vec<Arm<'j>>, SchemaError>;

    /// Whether the keyword holds for a value. The default evaluates its conjunction; `depth` counts nested schemas.
    fn holds(
        &self,
        origin: Origin,
        value: &Json<'_>,
        depth: u32,
        context: &mut dyn Context<'j>,
    ) -> Result<bool, SchemaError> {
        let parts = self.affirmed(origin, TypeSet::ALL, context)?;
        context.all_hold(&parts, value, depth)
    }

    /// What the keyword evaluates, for `unevaluatedProperties` or `unevaluatedItems`.
    fn evaluates(&self, _of: Of, _draft: Draft) -> Evaluates<'_, 'j> {
        match self.form() {
            Form::Atom(_) => Evaluates::Own(Evaluated::default()),
            Form::AllOf(schemas) => Evaluates::AllOf(schemas),
            Form::Reference(reference) => Evaluates::Reference(reference),
            _ => Evaluates::Nothing,
        }
    }

    /// The keyword's entry in the report, unless it is dropped; `None` if there is another entry for it.
    fn effect(&self, _options: &SchemaOptions) -> Option<Effect> {
        Some(Effect::Enforced)
    }
}

/// An assertion, as far as it is known without computation.
#[derive(Debug)]
pub(crate) enum Form<'a, 'j> {
    /// Nothing is valid: the schema `false`.
    Never,
    /// An atom about the value itself.
    Atom(Atom<'j>),
    /// All of these.
    AllOf(&'a [SchemaId]),
    /// Not this.
    Not(SchemaId),
    /// The target of a reference; its keyword determines how it is resolved.
    Reference(&'j str),
    /// The keyword's value is wrong.
    Invalid(&'a SchemaError),
    /// Anything else.
    Other,
}

/// A conjunction.
pub(crate) type Arm<'j> = Vec<Part<'j>>;

/// A part of a conjunction.
#[derive(Clone, Debug)]
pub(crate) enum Part<'j> {
    Literal(Literal),
    Atom(TracedAtom<'j>),
    /// At least one of these conjunctions.
    Choice(Vec<Arm<'j>>),
    /// Exactly one of these schemas.
    OneOf {
        schemas: Vec<SchemaId>,
        origin: Origin,
    },
    /// An object with the key is valid under the schema.
    Implication {
        key: &'j str,
        schema: SchemaId,
        origin: Origin,
    },
}

impl<'j> Part<'j> {
    pub(crate) fn atom(atom: Atom<'j>, origin: Origin) -> Self {
        Self::Atom(TracedAtom { atom, origin })
    }

    pub(crate) fn schema(id: SchemaId) -> Self {
        Self::Literal(Literal::schema(id))
    }

    pub(crate) fn not(id: SchemaId) -> Self {
        Self::Literal(Literal::not(id))
    }

    /// The conjunction of atoms about values of these types.
    pub(crate) fn about(
        types: TypeSet,
        atoms: impl IntoIterator<Item = Atom<'j>>,
        origin: Origin,
    ) -> Arm<'j> {
        let atoms = std::iter::once(Atom::Types(types)).chain(atoms);
        atoms.map(|atom| Self::atom(atom, origin)).collect()
    }
}

impl Origin {
    /// Resolves the reference that is the value of this keyword.
    pub(crate) fn resolve<'j>(
        self,
        reference: &'j str,
        context: &mut dyn Context<'j>,
    ) -> Result<SchemaId, SchemaError> {
        let program = context.program();
        program.resolve(self.schema, self.keyword, reference)
    }
}

/// The services that the canonical form offers to a keyword.
pub(crate) trait Context<'j> {
    fn options(&self) -> &SchemaOptions;

    fn program(&mut self) -> &mut Program<'j>;

    /// Counts work.
    fn step(&mut self, steps: usize) -> Result<(), SchemaError>;

    /// Adds an entry to the report, once per keyword.
    fn note(&mut self, origin: Origin, effect: Effect);

    /// The set of strings in which a pattern is found; `None` where the pattern is dropped.
    fn pattern(&mut self, source: &'j str, origin: Origin) -> Result<Option<Regular>, SchemaError>;

    /// The literal of one value.
    fn value_literal(&mut self, value: &'j Json<'j>) -> Literal;

    /// The disjunction which asserts that everything unevaluated is valid under `rest`.
    fn unevaluated(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<Arm<'j>>, SchemaError>;

    /// The disjunction which asserts that something unevaluated is not valid under `rest`.
    fn not_unevaluated(
        &mut self,
        origin: Origin,
        of: Of,
        rest: SchemaId,
    ) -> Result<Vec<Arm<'j>>, SchemaError>;

    /// Whether the value is valid under the schema.
    fn satisfies(
        &mut self,
        id: SchemaId,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError>;

    /// Whether all parts hold for the value.
    fn all_hold(
        &mut self,
        parts: &[Part<'j>],
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError>;
}

impl<'j> dyn Context<'j> + '_ {
    /// The number of schemas that the value is valid under.
    pub(crate) fn count_valid(
        &mut self,
        schemas: &[SchemaId],
        value: &Json<'_>,
        depth: u32,
    ) -> Result<usize, SchemaError> {
        let mut count = 0;
        for &id in schemas {
            count += usize::from(self.satisfies(id, value, depth)?);
        }
        Ok(count)
    }
}

/// What can be evaluated: keys or items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    /// `unevaluatedProperties`.
    Properties,
    /// `unevaluatedItems`.
    Items,
}

/// What a keyword evaluates.
#[derive(Debug)]
pub(crate) enum Evaluates<'a, 'j> {
    Nothing,
    /// These keys or items.
    Own(Evaluated<'j>),
    /// What all of the schemas evaluate.
    AllOf(&'a [SchemaId]),
    /// What the valid ones of the schemas evaluate.
    AnyOf(&'a [SchemaId]),
    /// What the only valid one of the schemas evaluates.
    OneOf(&'a [SchemaId]),
    /// What the condition evaluates if it is valid, and what the branch taken evaluates.
    Conditional {
        condition: SchemaId,
        then: Option<SchemaId>,
        otherwise: Option<SchemaId>,
    },
    /// What the schemas of the present keys evaluate.
    Dependent(Vec<(&'j str, SchemaId)>),
    /// What the target of the reference evaluates.
    Reference(&'j str),
}

/// The keys or items that are evaluated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evaluated<'j> {
    /// Every key, or every item.
    pub(crate) all: bool,
    pub(crate) keys: Vec<&'j str>,
    pub(crate) patterns: Vec<&'j str>,
    /// The number of leading items.
    pub(crate) prefix: usize,
    /// The items that are valid under one of these.
    pub(crate) contained: Vec<SchemaId>,
}

impl Evaluated<'_> {
    pub(crate) fn everything() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        !self.all
            && self.keys.is_empty()
            && self.patterns.is_empty()
            && self.prefix == 0
            && self.contained.is_empty()
    }

    /// Adds what another schema evaluates, in time proportional to the size of both.
    pub(crate) fn unite(&mut self, other: &Self) {
        self.all |= other.all;
        self.prefix = self.prefix.max(other.prefix);
        add_new(&mut self.keys, &other.keys);
        add_new(&mut self.patterns, &other.patterns);
        add_new(&mut self.contained, &other.contained);
    }
}

fn add_new<T: Copy + Eq + Hash>(to: &mut Vec<T>, from: &[T]) {
    if from.is_empty() {
        return;
    }
    let mut known: KeyedSet<T> = to.iter().copied().collect();
    to.extend(from.iter().copied().filter(|&one| known.insert(one)));
}

/// Nothing is valid.
#[derive(Debug)]
pub(crate) struct Never;

impl<'j> Assertion<'j> for Never {
    fn form(&self) -> Form<'_, 'j> {
        Form::Never
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Ok(vec![Vec::new()])
    }
}

/// A keyword with an invalid value, which is an error only where the schema is used.
#[derive(Debug)]
pub(crate) struct Invalid(pub(crate) Box<SchemaError>);

impl<'j> Assertion<'j> for Invalid {
    fn form(&self) -> Form<'_, 'j> {
        Form::Invalid(&self.0)
    }

    fn negated(&self, _: Origin, _: &mut dyn Context<'j>) -> Result<Vec<Arm<'j>>, SchemaError> {
        Err((*self.0).clone())
    }
}
