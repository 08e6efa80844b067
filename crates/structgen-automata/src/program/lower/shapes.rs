//! Lowers objects and arrays.

use structgen_grammar::{Expr, ExprId, ObjectShape, Regular, Shared};
use structgen_regular::RegularMachine;

use super::{Builder, Pending};
use crate::LimitExceeded;
use crate::bytes::escaped_length;
use crate::program::{
    Alternative, ArrayProgram, KeyClass, NodeId, ObjectProgram, ProgramError, PropertyProgram, Slot,
};

impl Builder<'_> {
    pub(super) fn object(&mut self, id: ExprId) -> u32 {
        if let Some(&object) = self.object_ids.get(&id) {
            return object;
        }
        let object = self.objects.len() as u32;
        self.object_ids.insert(id, object);
        let Expr::Object(shape) = self.grammar.expr(id) else {
            unreachable!("called for objects only")
        };
        let mut program = sorted_keys(shape);
        let referents = shape.referents.iter();
        let mut referents: Vec<u32> = referents
            .map(|name| self.referents.id(name.clone()))
            .collect();
        referents.sort_unstable();
        program.referents = referents.into();
        self.objects.push(program);
        self.pending.push(Pending::Object(object, id));
        object
    }

    pub(super) fn array(&mut self, id: ExprId) -> u32 {
        if let Some(&array) = self.array_ids.get(&id) {
            return array;
        }
        let array = self.arrays.len() as u32;
        self.array_ids.insert(id, array);
        self.array_exprs.push(id);
        let Expr::Array(shape) = self.grammar.expr(id) else {
            unreachable!("called for arrays only")
        };
        self.arrays.push(ArrayProgram {
            prefix: [].into(),
            rest: None,
            min: shape.min_items,
            max: shape.max_items,
            tallies: shape.tallies.clone().into(),
            unique: shape.unique,
        });
        self.pending.push(Pending::Array(array, id));
        array
    }

    fn value(&mut self, id: ExprId) -> Result<NodeId, LimitExceeded> {
        if let Some(node) = self.values[id.index()] {
            return Ok(node);
        }
        let node = self.expr(id, NodeId::END, 0)?;
        self.values[id.index()] = Some(node);
        Ok(node)
    }

    fn slot(&mut self, slot: &structgen_grammar::Slot) -> Result<Slot, LimitExceeded> {
        let alternatives = slot.alternatives.iter().map(|alternative| {
            Ok(Alternative {
                node: self.value(alternative.value)?,
                tallies: alternative.tallies,
            })
        });
        alternatives.collect()
    }

    /// Returns the classes of undeclared keys: the patterns, and what matches none of them.
    fn classes(
        &mut self,
        id: ExprId,
        shape: &ObjectShape,
    ) -> Result<Box<[KeyClass]>, ProgramError> {
        let mut classes = Vec::with_capacity(shape.patterns.len() + 1);
        for pattern in &shape.patterns {
            let keys = RegularMachine::new(&pattern.keys, self.limits.regular)
                .map_err(|limit| ProgramError::limit_of(self.grammar, id, limit))?;
            if keys.contains_every_text() {
                // No key is in another class.
                return Ok([KeyClass::new(None, self.slot(&pattern.value)?)].into());
            }
            classes.push(KeyClass::new(
                Some(pattern.keys.clone()),
                self.slot(&pattern.value)?,
            ));
        }
        if let Some(additional) = &shape.additional {
            let patterns: Shared<[Regular]> = shape
                .patterns
                .iter()
                .map(|pattern| pattern.keys.clone())
                .collect();
            let others = match patterns.len() {
                0 => None,
                1 => Some(Regular::Complement(patterns[0].clone().into())),
                _ => Some(Regular::Complement(Regular::Union(patterns).into())),
            };
            classes.push(KeyClass::new(others, self.slot(additional)?));
        }
        Ok(classes.into())
    }

    pub(super) fn finish_pending(&mut self) -> Result<(), ProgramError> {
        let grammar = self.grammar;
        while let Some(pending) = self.pending.pop() {
            match pending {
                Pending::Object(object, id) => {
                    let Expr::Object(shape) = grammar.expr(id) else {
                        unreachable!("pushed for objects only")
                    };
                    let object = object as usize;
                    for (i, property) in shape.properties.iter().enumerate() {
                        self.objects[object].properties[i].value = self.slot(&property.value)?;
                    }
                    self.objects[object].classes = self.classes(id, shape)?;
                }
                Pending::Array(array, id) => {
                    let Expr::Array(shape) = grammar.expr(id) else {
                        unreachable!("pushed for arrays only")
                    };
                    let prefix: Result<_, LimitExceeded> =
                        shape.prefix.iter().map(|slot| self.slot(slot)).collect();
                    self.arrays[array as usize].prefix = prefix?;
                    self.arrays[array as usize].rest = shape
                        .rest
                        .as_ref()
                        .map(|slot| self.slot(slot))
                        .transpose()?;
                }
            }
        }
        Ok(())
    }
}

/// Returns an object with its keys; its values are not built yet.
fn sorted_keys(shape: &ObjectShape) -> ObjectProgram {
    let mut labels: Vec<u32> = (0..shape.properties.len() as u32).collect();
    labels.sort_by(|&a, &b| {
        shape.properties[a as usize]
            .key
            .cmp(&shape.properties[b as usize].key)
    });
    let mut places = vec![0; labels.len()];
    for (place, &label) in labels.iter().enumerate() {
        places[label as usize] = place as u32;
    }
    ObjectProgram {
        properties: shape
            .properties
            .iter()
            .map(|property| PropertyProgram {
                key_length: escaped_length(property.key.as_bytes()),
                value: [].into(),
                required: property.required,
                absent: property.absent,
            })
            .collect(),
        ordered: shape.ordered.min(shape.properties.len() as u32),
        classes: [].into(),
        covers: shape.additional.is_some(),
        min: shape.min_members,
        max: shape.max_members,
        tallies: shape.tallies.clone().into(),
        referents: [].into(),
        keys: labels
            .iter()
            .map(|&label| shape.properties[label as usize].key.clone())
            .collect(),
        labels: labels.into(),
        places: places.into(),
    }
}
