//! What has so many values that those of the other items of an array do not matter, whatever their number.

use rustc_hash::FxHashMap;

use super::register::ObjectRegister;
use super::sets::Place;
use super::{Call, Element, Frame, Memory, SetId, StepError};
use crate::json::label_of_class;
use crate::program::{Alternative, ArrayProgram, Counts, KeyClass, MembersLeft, Node, NodeId};
use crate::terminal::START;

/// The values of an object, as far as it is vast by one of them.
enum Parts {
    /// It may have any undeclared key.
    AnyKey,
    /// It may have values that begin at these nodes.
    Values(Vec<NodeId>),
}

impl Call<'_> {
    /// Returns whether the items of an array are vast, each alternative by itself, at this depth.
    pub(super) fn is_vast_item(&self, shape: &ArrayProgram, depth: u32) -> Result<bool, StepError> {
        for alternative in shape.rest.iter().flatten() {
            if !self.is_vast(alternative.node, depth)? {
                return Ok(false);
            }
        }
        Ok(shape.rest.is_some())
    }

    /// Returns whether what begins at a node is vast; `false` if the structure does not show it. One alternative with
    /// many values suffices, and so does one part of a value, required or not.
    fn is_vast(&self, node: NodeId, depth: u32) -> Result<bool, StepError> {
        let program = &self.program;
        let start = (node, self.near(depth));
        let mut seen: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut todo = vec![(node, depth)];
        while let Some((node, depth)) = todo.pop() {
            if seen.contains_key(&node) || !self.fits(node, depth) {
                continue;
            }
            let near = self.near(depth);
            match self.vast.get(&(node, near)) {
                Some(true) => return Ok(*self.vast.insert(start, true)),
                Some(false) => continue,
                None => {}
            }
            self.plan_meter().spend(1)?;
            seen.insert(node, near);
            let is_vast = match program.node(node) {
                Node::Terminal { terminal, .. } => program.has_many_texts(*terminal),
                Node::Split(arms) => {
                    todo.extend(arms.iter().map(|&arm| (arm, depth)));
                    false
                }
                Node::Call { proc, .. } => {
                    todo.push((program.proc(*proc).entry, depth));
                    false
                }
                Node::Object { object, .. } => {
                    let empty = ObjectRegister::new(&program.objects[*object as usize]);
                    match self.parts_left(*object, &empty, depth + 1, 0)? {
                        Parts::AnyKey => true,
                        Parts::Values(nodes) => {
                            todo.extend(nodes.into_iter().map(|node| (node, depth + 1)));
                            false
                        }
                    }
                }
                Node::Array { array, .. } => {
                    let array = &program.arrays[*array as usize];
                    if !array.remembers() && array.max != Some(0) {
                        let items = array.slot(0).into_iter().flatten();
                        todo.extend(items.map(|item| (item.node, depth + 1)));
                    }
                    false
                }
                Node::End | Node::Related { .. } | Node::Token { .. } | Node::Repeat { .. } => {
                    false
                }
            };
            if is_vast {
                return Ok(*self.vast.insert(start, true));
            }
        }
        // Nothing that was visited leads to anything else.
        for place in seen {
            self.vast.insert(place, false);
        }
        Ok(false)
    }

    /// Returns the parts that an object may still have, of the properties those from an index on.
    fn parts_left(
        &self,
        object: u32,
        register: &ObjectRegister,
        depth: u32,
        from: usize,
    ) -> Result<Parts, StepError> {
        let shape = &self.program.objects[object as usize];
        if self.takes_any_key(object, depth) {
            return Ok(Parts::AnyKey);
        }
        let mut nodes = Vec::new();
        let left = (from..shape.properties.len()).filter(|&i| !register.is_past(shape, i));
        for i in left {
            for way in shape.slot(i as u32) {
                let fits = self.can_begin(way.node, depth);
                let counts = &register.counts;
                if fits && self.may_have(object, register, counts, (Some(i), way), depth)? {
                    nodes.push(way.node);
                }
            }
        }
        if !shape.is_counted() {
            return Ok(Parts::Values(nodes));
        }
        for (i, class) in shape.classes.iter().enumerate() {
            let seen = register.counts.keys[i] as usize;
            let limits = self.program.limits.regular;
            // In the worst case, the present keys are the shortest ones.
            if class.shortest(seen + 1, &shape.keys, limits)?.len() <= seen {
                continue;
            }
            let mut counts = register.counts.clone();
            counts.keys[i] = counts.keys[i].saturating_add(1);
            for way in shape.slot(label_of_class(i)) {
                let fits = self.can_begin(way.node, depth);
                if !fits || !self.may_have(object, register, &counts, (None, way), depth)? {
                    continue;
                }
                if class.keys.is_none() {
                    return Ok(Parts::AnyKey);
                }
                nodes.push(way.node);
            }
        }
        Ok(Parts::Values(nodes))
    }

    /// Returns whether an object can be completed with one more member, a property or one that `counts` has already. No
    /// order matters, since all members are still to come.
    fn may_have(
        &self,
        object: u32,
        register: &ObjectRegister,
        counts: &Counts,
        (property, way): (Option<usize>, &Alternative),
        depth: u32,
    ) -> Result<bool, StepError> {
        let shape = &self.program.objects[object as usize];
        if !shape.is_counted() {
            return Ok(true);
        }
        // Which values there are may depend on what is written before.
        if !self.program.related.is_empty() {
            return Ok(false);
        }
        let Some(counts) = shape.bounds().add(counts, way.tallies) else {
            return Ok(false);
        };
        let measures = self.measures();
        let left = MembersLeft {
            object: shape,
            limits: self.program.limits.regular,
            is_past: |i| property == Some(i) || register.is_past(shape, i),
            cost: |node| self.fits(node, depth).then(|| measures.cost(node)),
            meter: self.plan_meter(),
        };
        Ok(left.cost(&counts)?.is_some())
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
        if !is_open && shape.is_counted() {
            return Ok(false);
        }
        let from = if is_open { 0 } else { shape.ordered as usize };
        match self.parts_left(object, register, depth, from)? {
            Parts::AnyKey => Ok(true),
            Parts::Values(nodes) => {
                for node in nodes {
                    if self.is_vast(node, depth)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// Returns whether an object may have any of many values where it has this key.
    fn is_vast_member(&self, object: u32, key: &str, depth: u32) -> Result<bool, StepError> {
        let shape = &self.program.objects[object as usize];
        let slot = match shape.keys.binary_search_by(|it| (**it).cmp(key)) {
            Ok(place) => shape.slot(shape.labels[place]),
            Err(_) => match &*shape.classes {
                [class] if class.keys.is_none() => &class.value,
                _ => return Ok(false),
            },
        };
        for way in slot {
            if !self.is_vast(way.node, depth)? {
                return Ok(false);
            }
        }
        Ok(!slot.is_empty())
    }

    /// Returns whether no token can make an item equal to one of some values that it has begun like, nor leave it without
    /// another completion. The network is that of the item, and `left` has the keys that each of the values has left.
    ///
    /// A token ends at most [`most_keys`](crate::TokenLengths::most_keys) keys. If more are left, it cannot end the item
    /// as one of the values; and if more of them are vast, one is left after it, or in progress. So an item that may still
    /// become that value may as well become one of many others, which differ from it in this member.
    pub(super) fn is_far_from(&self, left: &[Vec<&str>]) -> Result<bool, StepError> {
        let most = self.terminals.tokens().most_keys as usize;
        if !self.program.related.is_empty() || left.iter().any(|keys| keys.len() <= most) {
            return Ok(false);
        }
        for &Element { frame, below } in self.elements(self.start) {
            let Place::ObjectOpen(object) = frame.place() else {
                // A text that is spelled out may be an object as well.
                if !frame.reads() || self.first_of(frame).contains(b'{') {
                    return Ok(false);
                }
                continue;
            };
            let depth = self.sets.depth(below) + 1;
            if self.takes_any_key(object, depth) {
                continue;
            }
            for keys in left {
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

    /// Returns whether a string's state is the one after its opening quote.
    fn is_opened(&self, frame: Frame) -> Result<bool, StepError> {
        let start = self.cursor(frame.with_state(START));
        let opened = start.step(b'"', Memory::Sketch)?;
        Ok(opened.is_some_and(|opened| opened.state() == frame.state))
    }
}
