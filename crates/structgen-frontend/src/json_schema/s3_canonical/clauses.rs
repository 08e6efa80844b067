//! Disjunctions about single keys, which are not multiplied out.
//!
//! "Not this alternative" asserts that a key is absent, or that one of many keys has an invalid value. Twenty of these
//! multiply out to a million conjunctions, but they are only twenty clauses, each met by some member or some absent
//! key. The object counts them instead.

use std::rc::Rc;

use super::Canonicalizer;
use super::branch::Branch;
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::atoms::{
    Atom, KeyLiteral, Literal, Origin, Subject, TracedAtom, TypeSet,
};
use crate::json_schema::s2_parse::{Arm, Form, Part, SchemaId};

/// The maximum nesting of negated schemas that is examined.
const MAX_DEPTH: usize = 8;

/// The assertion of one arm: that the value has one of these types, and possibly something about one key of an object.
type Said<'j> = (TypeSet, Option<KeyLiteral<'j>>);

/// What is collected about the arms of a disjunction.
#[derive(Default)]
struct Disjunction<'j> {
    said: Vec<Said<'j>>,
    /// The keyword of the first assertion about a key.
    origin: Option<Origin>,
    /// The schemas that the arms negate.
    negated: Vec<SchemaId>,
}

impl<'j> Canonicalizer<'_, 'j> {
    /// Adds a disjunction if each of its arms is about one key only; returns whether it was added.
    pub(super) fn add_clause(
        &mut self,
        branch: &mut Branch<'j>,
        arms: &[Arm<'j>],
    ) -> Result<bool, SchemaError> {
        let mut of_arms = Disjunction::default();
        for arm in arms {
            if !self.say(arm, &mut of_arms, MAX_DEPTH)? {
                return Ok(false);
            }
        }
        let Disjunction {
            said,
            origin: Some(origin),
            negated,
        } = of_arms
        else {
            return Ok(false);
        };
        for id in negated {
            self.reach(id);
        }
        let others = TypeSet::OBJECT.complement();
        let all = |types: TypeSet, said: &Said<'j>| match said {
            // An assertion about a key holds for every value that is not an object.
            (own, Some(_)) => types.union(own.intersection(others)),
            (own, None) => types.union(*own),
        };
        let holds = said.iter().fold(TypeSet::NONE, all);
        if holds.meets(TypeSet::OBJECT) {
            branch.types = branch.types.intersection(holds);
            return Ok(true);
        }
        let literals: Rc<[KeyLiteral<'j>]> = said
            .into_iter()
            .filter(|(types, _)| types.meets(TypeSet::OBJECT))
            .filter_map(|(_, literal)| literal)
            .collect();
        branch.types = branch.types.intersection(match literals.is_empty() {
            true => holds,
            false => holds.union(TypeSet::OBJECT),
        });
        if !literals.is_empty() {
            let atom = Atom::Clause(literals);
            branch.atoms.push(TracedAtom { atom, origin });
        }
        Ok(true)
    }

    /// Collects the assertion of an arm, or those of the arms it negates; returns whether each is about one key only.
    fn say(
        &mut self,
        arm: &[Part<'j>],
        of_arms: &mut Disjunction<'j>,
        depth: usize,
    ) -> Result<bool, SchemaError> {
        self.step(1)?;
        if let [Part::Literal(literal)] = arm {
            let Subject::Schema(id) = literal.source else {
                return Ok(false);
            };
            if !literal.negated || depth == 0 {
                return Ok(false);
            }
            of_arms.negated.push(id);
            let schema = self.program.get(id);
            // The negation of a disjunction is a conjunction.
            for arm in self.negated(id, &schema)? {
                if !self.say(&arm, of_arms, depth - 1)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let mut types = TypeSet::ALL;
        let mut literal: Option<KeyLiteral<'j>> = None;
        for part in arm {
            let Part::Atom(traced) = part else {
                return Ok(false);
            };
            let next = match &traced.atom {
                Atom::Types(some) => {
                    types = types.intersection(*some);
                    continue;
                }
                Atom::Forbidden(key) => KeyLiteral::Absent(key),
                Atom::Present(key) => KeyLiteral::Has(key, None),
                Atom::Field(key, value) => match &literal {
                    Some(KeyLiteral::Has(known, None)) if known == key => {
                        literal = None;
                        KeyLiteral::Has(key, Some(*value))
                    }
                    _ => return Ok(false),
                },
                Atom::Some(some) => KeyLiteral::Some(some.clone()),
                _ => return Ok(false),
            };
            if literal.replace(next).is_some() {
                return Ok(false);
            }
            of_arms.origin.get_or_insert(traced.origin);
        }
        of_arms.said.push((types, literal));
        Ok(true)
    }

    /// Adds that an object with the key is valid under the schema, if the schema is about single keys only; returns
    /// whether it was added.
    pub(super) fn add_implication(
        &mut self,
        branch: &mut Branch<'j>,
        key: &'j str,
        id: SchemaId,
        origin: Origin,
    ) -> Result<bool, SchemaError> {
        let mut clauses = Vec::new();
        if !self.conjuncts(id, &mut clauses, MAX_DEPTH)? {
            return Ok(false);
        }
        for mut literals in clauses {
            literals.push(KeyLiteral::Absent(key));
            let atom = Atom::Clause(literals.into());
            branch.atoms.push(TracedAtom { atom, origin });
        }
        Ok(true)
    }

    /// Collects the clauses whose conjunction is equivalent to the schema for objects; `false` if there is more to it.
    fn conjuncts(
        &mut self,
        id: SchemaId,
        clauses: &mut Vec<Vec<KeyLiteral<'j>>>,
        depth: usize,
    ) -> Result<bool, SchemaError> {
        if depth == 0 {
            return Ok(false);
        }
        self.reach(id);
        let schema = self.program.get(id);
        for keyword in &schema.keywords {
            self.step(1)?;
            let origin = Origin {
                schema: id,
                keyword: keyword.name,
            };
            if self.is_ignored(origin) {
                continue;
            }
            let is_simple = match keyword.assertion.form() {
                Form::Never => {
                    clauses.push(Vec::new());
                    true
                }
                Form::Atom(Atom::Types(types)) => types.meets(TypeSet::OBJECT),
                Form::Atom(Atom::Required(keys)) => {
                    clauses.extend(keys.iter().map(|key| vec![KeyLiteral::Has(key, None)]));
                    true
                }
                Form::Atom(Atom::Fields(fields)) => {
                    let additional = fields.additional.map(Literal::schema);
                    if !fields.patterns.is_empty()
                        || additional.is_some_and(|literal| !self.is_trivial(literal))
                    {
                        return Ok(false);
                    }
                    for &(key, id) in &fields.properties {
                        let value = Literal::schema(id);
                        if !self.is_trivial(value) {
                            clauses.push(vec![
                                KeyLiteral::Absent(key),
                                KeyLiteral::Has(key, Some(value)),
                            ]);
                        }
                    }
                    true
                }
                Form::AllOf(schemas) => {
                    let mut is_simple = true;
                    for &id in schemas {
                        is_simple = is_simple && self.conjuncts(id, clauses, depth - 1)?;
                    }
                    is_simple
                }
                Form::Reference(reference) => {
                    let target = self.program.resolve(id, keyword.name, reference)?;
                    self.conjuncts(target, clauses, depth - 1)?
                }
                _ => false,
            };
            if !is_simple {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_ignored(&self, origin: Origin) -> bool {
        self.ignored.contains(&origin)
    }
}
