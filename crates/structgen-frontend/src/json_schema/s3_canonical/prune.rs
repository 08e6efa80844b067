//! Detects early that a branch is empty or that a disjunction is implied, so that less is multiplied out.
//!
//! Alternatives of real schemas usually differ in a key with a constant. A branch with two of the constants is dropped
//! when the second one is added, and "not the other alternative" is implied as soon as the key differs. Both tests are
//! one-sided: what they do not prove is multiplied out.

use super::branch::{Branch, Choice};
use super::objects::KeyRules;
use super::{Canonicalizer, NodeId, SchemaId, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::Part;
use crate::json_schema::s2_parse::atoms::{Atom, Literal, TypeSet};

impl<'j> Canonicalizer<'_, 'j> {
    /// Whether the node is proven empty. An unsupported keyword in it is not reported here.
    pub(super) fn is_proven_empty(&mut self, id: NodeId) -> Result<bool, SchemaError> {
        match self.is_empty(id) {
            Ok(empty) => Ok(empty),
            Err(error @ (SchemaError::Limit { .. } | SchemaError::CircularReference { .. })) => {
                Err(error)
            }
            Err(_) => Ok(false),
        }
    }

    /// Removes the objects if a required key cannot have a value; checks only what was added since the last call.
    pub(super) fn prune(&mut self, branch: &mut Branch<'j>) -> Result<(), SchemaError> {
        let from = std::mem::replace(&mut branch.looked_at, branch.atoms.len());
        if !branch.types.meets(TypeSet::OBJECT) || from == branch.atoms.len() {
            return Ok(());
        }
        let rules = KeyRules::of(&branch.atoms);
        if rules.required.is_empty() {
            return Ok(());
        }
        let mut touched: Vec<&'j str> = Vec::new();
        let mut others = false;
        for traced in &branch.atoms[from..] {
            match &traced.atom {
                Atom::Required(keys) => touched.extend(keys.iter()),
                Atom::Forbidden(key) | Atom::Present(key) | Atom::Field(key, _) => {
                    touched.push(key);
                }
                Atom::Fields(fields) => {
                    touched.extend(fields.properties.iter().map(|(key, _)| key));
                    others |= fields.additional.is_some() || !fields.patterns.is_empty();
                }
                Atom::Names(_) => others = true,
                _ => {}
            }
        }
        if others {
            touched = rules.required.iter().copied().collect();
            touched.sort_unstable();
        }
        let mut dead = false;
        for key in touched {
            if rules.required.contains(key) {
                self.step(1 + rules.fields.len() + rules.single.len())?;
                let node = self.key_node(&rules, key)?;
                if node == NodeId::NEVER || self.is_proven_empty(node)? {
                    dead = true;
                    break;
                }
            }
        }
        if dead {
            branch.types = branch.types.intersection(TypeSet::OBJECT.complement());
        }
        Ok(())
    }

    /// Whether the branch implies some arm of the choice.
    pub(super) fn is_entailed(
        &mut self,
        branch: &Branch<'j>,
        choice: &Choice<'j>,
    ) -> Result<bool, SchemaError> {
        let rules = KeyRules::of(&branch.atoms);
        for arm in choice.arms.iter() {
            let mut holds = true;
            for part in arm {
                self.step(1)?;
                if !self.holds_throughout(branch, &rules, part)? {
                    holds = false;
                    break;
                }
            }
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn holds_throughout(
        &mut self,
        branch: &Branch<'j>,
        rules: &KeyRules<'_, 'j>,
        part: &Part<'j>,
    ) -> Result<bool, SchemaError> {
        let traced = match part {
            Part::Literal(literal) => return Ok(branch.has(*literal)),
            Part::Choice(_) | Part::OneOf { .. } | Part::Implication { .. } => return Ok(false),
            Part::Atom(traced) => traced,
        };
        let about = |types: TypeSet| !branch.types.meets(types);
        Ok(match &traced.atom {
            Atom::Types(types) => !branch.types.meets(types.complement()),
            Atom::Lower(_)
            | Atom::Upper(_)
            | Atom::MultipleOf(_)
            | Atom::NotMultipleOf(_)
            | Atom::WrittenWhole => about(TypeSet::NUMBER),
            Atom::MinLength(_)
            | Atom::MaxLength(_)
            | Atom::Text(_)
            | Atom::HasFormat(..)
            | Atom::Format(_) => about(TypeSet::STRING),
            Atom::Source(_) | Atom::Related(_) => about(TypeSet::MARKED),
            Atom::Required(keys) => {
                about(TypeSet::OBJECT) || keys.iter().all(|key| rules.required.contains(key))
            }
            Atom::Present(key) => about(TypeSet::OBJECT) || rules.required.contains(key),
            Atom::Forbidden(key) => {
                about(TypeSet::OBJECT) || self.key_node(rules, key)? == NodeId::NEVER
            }
            Atom::Field(key, literal) => {
                if about(TypeSet::OBJECT) {
                    return Ok(true);
                }
                let mut literals = self.key_literals(rules, key)?;
                match &mut literals {
                    None => true,
                    Some(literals) => {
                        literals.push(literal.complement());
                        self.excludes_all(literals)?
                    }
                }
            }
            Atom::Fields(_)
            | Atom::Names(_)
            | Atom::MinProperties(_)
            | Atom::MaxProperties(_)
            | Atom::Some(_)
            | Atom::Clause(_) => about(TypeSet::OBJECT),
            Atom::Elements(_)
            | Atom::Element(..)
            | Atom::OtherElement(_)
            | Atom::MinItems(_)
            | Atom::MaxItems(_)
            | Atom::Unique
            | Atom::Repeated
            | Atom::Contains(_) => about(TypeSet::ARRAY),
            Atom::Values(_) | Atom::NotValues(_) => false,
        })
    }

    /// Whether it is proven that no value of the branch, as far as it is decomposed, is valid under the other schema.
    pub(super) fn excludes(
        &mut self,
        branch: &Branch<'j>,
        other: SchemaId,
    ) -> Result<bool, SchemaError> {
        self.is_proven(|canonical| canonical.has_none_of(branch, other))
    }

    /// Whether the nodes prove that no value of the branch is valid under the other schema.
    fn has_none_of(&mut self, branch: &Branch<'j>, other: SchemaId) -> Result<bool, SchemaError> {
        let mut both = branch.clone();
        both.choices.clear();
        self.add_literal(&mut both, Literal::schema(other), &None)?;
        // Without its disjunctions the branch can only grow: if it is then empty, it was empty before.
        both.choices.clear();
        self.prune(&mut both)?;
        if both.is_dead() {
            return Ok(true);
        }
        let mut values = Values::default();
        match self.finish(&both, &mut values) {
            Ok(()) => self.are_values_empty(&values),
            Err(error @ (SchemaError::Limit { .. } | SchemaError::CircularReference { .. })) => {
                Err(error)
            }
            Err(_) => Ok(false),
        }
    }
}
