//! What has so many values that those of the other items of an array do not matter, whatever their number.

use super::register::ObjectRegister;
use super::sets::Place;
use super::{Call, Element, Frame, Memory, SetId, StepError};
use crate::json::{class_of, label_of_class};
use crate::program::{ArrayProgram, KeyClass, NodeId};
use crate::terminal::START;

impl Call<'_> {
    /// Returns whether the items of an array are vast, each alternative by itself, at this depth.
    pub(super) fn is_vast_item(&self, shape: &ArrayProgram, depth: u32) -> Result<bool, StepError> {
        for alternative in shape.rest.iter().flatten() {
            if !self.is_vast(alternative.node, depth, &mut Vec::new())? {
                return Ok(false);
            }
        }
        Ok(shape.rest.is_some())
    }

    /// Returns whether what begins at a node is vast; `open` has the counted objects that it is asked for.
    fn is_vast(&self, node: NodeId, depth: u32, open: &mut Vec<u32>) -> Result<bool, StepError> {
        let near = self.near(depth);
        if let Some(&known) = self.vast.get(&(node, near)) {
            return Ok(known);
        }
        let is_whole = open.is_empty();
        let mut of_counted = |object| {
            // Near the limit of nesting, not every value fits.
            if near != 0 || open.contains(&object) {
                return Ok(false);
            }
            open.push(object);
            let empty = ObjectRegister::new(&self.program.objects[object as usize]);
            let found = self.has_many_ways(object, &empty, depth, open);
            open.pop();
            found
        };
        let vast = self.program.has_many_values(node, &mut of_counted)?;
        // What was found within an object may lack what goes through the object itself.
        if vast || is_whole {
            self.vast.insert((node, near), vast);
        }
        Ok(vast)
    }

    /// Returns whether one more member leaves a counted object with many values.
    fn has_many_ways(
        &self,
        object: u32,
        register: &ObjectRegister,
        depth: u32,
        open: &mut Vec<u32>,
    ) -> Result<bool, StepError> {
        let shape = &self.program.objects[object as usize];
        let declared = (0..shape.properties.len()).filter(|&i| !register.is_past(shape, i));
        let classes = (0..shape.classes.len()).map(label_of_class);
        for label in declared.map(|i| i as u32).chain(classes) {
            let has_any_key = class_of(label).is_some_and(|it| shape.classes[it].keys.is_none());
            let mut taken = None;
            for way in shape.slot(label) {
                if !self.can_begin(way.node, depth)
                    || !has_any_key && !self.is_vast(way.node, depth, open)?
                {
                    continue;
                }
                let taken = taken.get_or_insert_with(|| shape.with_key(register, label));
                let Some(counts) = shape.bounds().add(&taken.counts, way.tallies) else {
                    continue;
                };
                let after = ObjectRegister {
                    counts,
                    ..taken.clone()
                };
                if self.members_left(object, &after, depth)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns whether an item has many completions from a state in which it may not end; `false` if the state does not
    /// show it.
    pub(super) fn has_many_left(&self, set: SetId) -> Result<bool, StepError> {
        if let Some(span) = self.span_of(set)
            && span.is_plain()
            && span.code_points > 1
        {
            return Ok(true);
        }
        // One element with many completions suffices.
        for element in self.elements(set) {
            if self.has_many_members_left(*element)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same for an element that is at the beginning of an object, or in one of its keys.
    fn has_many_members_left(&self, element: Element) -> Result<bool, StepError> {
        let Element { frame, below } = element;
        let (object, is_key) = match frame.place() {
            Place::ObjectOpen(object) => (object, false),
            Place::ObjectKey(object) => (object, true),
            _ => return Ok(false),
        };
        let shape = &self.program.objects[object as usize];
        let register = self.registers.object(frame.data);
        let depth = self.sets.depth(below) + 1;
        // Once a key has begun, it decides which members may follow in order, and what is counted.
        let is_open = !is_key || self.is_opened(frame)?;
        if shape.is_counted() {
            return Ok(is_open && self.has_many_ways(object, register, depth, &mut Vec::new())?);
        }
        if self.takes_any_key(object, depth) {
            return Ok(true);
        }
        let left = shape.properties.iter().enumerate().filter(|&(i, _)| {
            !register.is_past(shape, i) && (is_open || i >= shape.ordered as usize)
        });
        for way in left.flat_map(|(_, property)| &property.value) {
            if self.can_begin(way.node, depth) && self.is_vast(way.node, depth, &mut Vec::new())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether an object that is the item may have any value where it has this key, and many of them.
    fn is_vast_member(&self, object: u32, key: &str, depth: u32) -> Result<bool, StepError> {
        let shape = &self.program.objects[object as usize];
        let slot = match shape.keys.binary_search_by(|it| (**it).cmp(key)) {
            Ok(place) => shape.slot(shape.labels[place]),
            Err(_) => match shape.classes.iter().find(|class| class.keys.is_none()) {
                Some(class) => &class.value,
                None => return Ok(false),
            },
        };
        for way in slot {
            if !self.is_vast(way.node, depth, &mut Vec::new())? {
                return Ok(false);
            }
        }
        Ok(!slot.is_empty())
    }

    /// Returns whether no token can make an item equal to one of some values that it has begun like, nor leave it without
    /// another completion. `left` has the keys that each of the values has left.
    ///
    /// A token ends so many keys at most. If more are left, it cannot end the item as one of the values; and if more of
    /// them are vast, one is left after it, or in progress. So an item that may still become that value may as well
    /// become one of many others, which differ from it in this member.
    pub(super) fn is_far_from(&self, left: &[Vec<&str>]) -> Result<bool, StepError> {
        let most = self.terminals.tokens().most_keys as usize;
        let start = self.elements(self.start);
        let depth = start.iter().map(|it| self.sets.depth(it.below) + 1).max();
        let depth = depth.unwrap_or(1);
        if !self.program.related.is_empty() || self.near(depth) != 0 {
            return Ok(false);
        }
        let objects = start
            .iter()
            .filter_map(|element| match element.frame.place() {
                Place::ObjectOpen(object) => Some(object),
                _ => None,
            });
        for keys in left {
            if keys.len() <= most {
                return Ok(false);
            }
            for object in objects.clone() {
                if self.takes_any_key(object, depth) {
                    continue;
                }
                let mut vast = 0;
                for key in keys {
                    vast += usize::from(self.is_vast_member(object, key, depth)?);
                }
                if vast <= most {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns whether an object may always have one more undeclared key, whatever members it has.
    fn takes_any_key(&self, object: u32, depth: u32) -> bool {
        let shape = &self.program.objects[object as usize];
        let mut with_any_key = shape.classes.iter().filter(|class| class.keys.is_none());
        let fits =
            |class: &KeyClass| { class.value.iter() }.any(|way| self.can_begin(way.node, depth));
        !shape.is_counted() && with_any_key.any(fits)
    }

    /// Returns whether nothing but the opening quote was read of a string.
    fn is_opened(&self, frame: Frame) -> Result<bool, StepError> {
        let start = self.cursor(frame.with_state(START));
        let opened = start.step(b'"', Memory::Sketch)?;
        Ok(opened.is_some_and(|opened| opened.state() == frame.state))
    }
}
