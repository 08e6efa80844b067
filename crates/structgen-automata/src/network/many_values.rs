//! Finds what has *many values*: more than an array can have items, so that distinct items never run out.

use rustc_hash::FxHashSet;

use super::register::ObjectRegister;
use super::sets::Place;
use super::{Call, Element, Memory, SetId};
use crate::program::{Alternative, ArrayProgram, KeyClass, MembersLeft, Node, NodeId};

/// The maximum number of members of a counted object for which it is planned how the others can be completed.
const MAX_PLANS: usize = 16;

// Each of these returns `false` if the structure does not show it, or a limit ends the search.
impl Call<'_> {
    /// Returns whether the items of an array have many values, each alternative by itself, at this depth.
    pub(super) fn items_have_many_values(&self, shape: &ArrayProgram, depth: u32) -> bool {
        let mut items = shape.rest.iter().flatten();
        shape.rest.is_some() && items.all(|item| self.has_many_values(item.node, depth))
    }

    /// Returns whether what begins at a node has many values: one alternative with many values suffices, and so does
    /// one part of a value, required or not.
    fn has_many_values(&self, node: NodeId, depth: u32) -> bool {
        self.has_many_values_by(node, depth, true)
    }

    /// The same, by objects whose members are counted as well, or without them.
    fn has_many_values_by(&self, node: NodeId, depth: u32, by_counted: bool) -> bool {
        let program = &self.program;
        let start = (node, self.near(depth), by_counted);
        let mut seen: FxHashSet<(NodeId, u32, bool)> = FxHashSet::default();
        let mut todo = vec![(node, depth)];
        while let Some((node, depth)) = todo.pop() {
            let place = (node, self.near(depth), by_counted);
            if seen.contains(&place) || !self.fits(node, depth) {
                continue;
            }
            match self.many_values.get(&place) {
                Some(true) => return *self.many_values.insert(start, true),
                Some(false) => continue,
                None => {}
            }
            if self.plan_meter().spend(1).is_err() {
                return false;
            }
            seen.insert(place);
            let has_many = match program.node(node) {
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
                    let shape = &program.objects[*object as usize];
                    if shape.is_counted() {
                        let empty = ObjectRegister::new(shape);
                        by_counted && self.has_many_members(*object, &empty, depth + 1)
                    } else {
                        let ways = shape.properties.iter().flat_map(|it| &it.value);
                        let ways = ways.filter(|way| self.can_begin(way.node, depth + 1));
                        todo.extend(ways.map(|way| (way.node, depth + 1)));
                        self.takes_any_key(*object, depth + 1)
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
            if has_many {
                return *self.many_values.insert(start, true);
            }
        }
        // Nothing that was visited leads to anything else.
        for place in seen {
            self.many_values.insert(place, false);
        }
        false
    }

    /// Returns whether a counted object has many values by one more member, which has many values by itself, or any
    /// key.
    fn has_many_members(&self, object: u32, register: &ObjectRegister, depth: u32) -> bool {
        let shape = &self.program.objects[object as usize];
        // Which values there are may depend on what is written before.
        if !self.program.related.is_empty() {
            return false;
        }
        let left = (0..shape.properties.len()).filter(|&i| !register.is_past(shape, i));
        let declared =
            left.flat_map(|i| shape.slot(i as u32).iter().map(move |way| (Some(i), way)));
        let with_any_key = shape.classes.iter().filter(|class| class.keys.is_none());
        let others = with_any_key.flat_map(|class| class.value.iter().map(|way| (None, way)));
        let has_many = |(property, way): &(Option<usize>, &Alternative)| {
            self.can_begin(way.node, depth)
                && (property.is_none() || self.has_many_values_by(way.node, depth, false))
        };
        let mut ways = others.chain(declared).filter(has_many).take(MAX_PLANS);
        ways.any(|way| self.may_have(object, register, way, depth))
    }

    /// Returns whether a counted object can be completed with one more member, which is a property unless its key is
    /// undeclared. No order matters, since all members are still to come.
    fn may_have(
        &self,
        object: u32,
        register: &ObjectRegister,
        (property, way): (Option<usize>, &Alternative),
        depth: u32,
    ) -> bool {
        let shape = &self.program.objects[object as usize];
        let Some(counts) = shape.bounds().add(&register.counts, way.tallies) else {
            return false;
        };
        let measures = self.measures_at(self.class(), depth);
        let left = MembersLeft {
            object: shape,
            limits: self.program.limits.regular,
            is_past: |i| property == Some(i) || register.is_past(shape, i),
            cost: |node| self.fits(node, depth).then(|| measures.cost(node)),
            meter: self.plan_meter(),
        };
        matches!(left.cost(&counts), Ok(Some(_)))
    }

    /// Returns whether an item has many completions from a state in which it may not end.
    pub(super) fn has_many_left(&self, set: SetId) -> bool {
        let span = self.span_of(set);
        span.is_some_and(|span| span.is_plain() && span.code_points > 1)
            // One element with many completions suffices.
            || self.elements(set).iter().any(|&it| self.has_many_members_left(it))
    }

    /// The same for an element that is at the beginning of an object, or in one of its keys.
    fn has_many_members_left(&self, element: Element) -> bool {
        let Element { frame, below } = element;
        let (object, is_key) = match frame.place() {
            Place::ObjectOpen(object) => (object, false),
            Place::ObjectKey(object) => (object, true),
            _ => return false,
        };
        let shape = &self.program.objects[object as usize];
        let register = self.registers.object(frame.data);
        let depth = self.sets.depth(below) + 1;
        // Once a key has begun, it decides which members may follow in order, and what is counted.
        let is_open = !is_key || self.is_opened(object, element);
        if shape.is_counted() {
            return is_open && self.has_many_members(object, register, depth);
        }
        let left = shape.properties.iter().enumerate().filter(|&(i, _)| {
            !register.is_past(shape, i) && (is_open || i >= shape.ordered as usize)
        });
        let mut ways = left.flat_map(|(_, property)| &property.value);
        self.takes_any_key(object, depth)
            || ways
                .any(|way| self.can_begin(way.node, depth) && self.has_many_values(way.node, depth))
    }

    /// Returns whether an object may have any of many values where it has this key.
    fn member_has_many_values(&self, object: u32, key: &str, depth: u32) -> bool {
        let shape = &self.program.objects[object as usize];
        let slot = match shape.keys.binary_search_by(|it| (**it).cmp(key)) {
            Ok(place) => shape.slot(shape.labels[place]),
            Err(_) => match &*shape.classes {
                [class] if class.keys.is_none() => &class.value,
                _ => return false,
            },
        };
        !slot.is_empty() && slot.iter().all(|way| self.has_many_values(way.node, depth))
    }

    /// Returns whether no token can make an item equal to one of some values that it has begun like, nor leave it
    /// without another completion. The network is that of the item, and `left` has the keys that each of the values has
    /// left.
    ///
    /// A token ends at most [`most_keys`](crate::TokenLengths::most_keys) keys. If more are left, it cannot end the
    /// item as one of the values; and if more of them have many values, one is left after it, or in progress. So an
    /// item that may still become that value may as well become one of many others, which differ from it in this
    /// member.
    pub(super) fn is_far_from(&self, left: &[Vec<&str>]) -> bool {
        let most = self.terminals.tokens().most_keys as usize;
        let is_far = |keys: &Vec<&str>, object, depth| {
            let with_many = keys
                .iter()
                .filter(|key| self.member_has_many_values(object, key, depth));
            with_many.count() > most
        };
        let of_element = |&Element { frame, below }: &Element| {
            let depth = self.sets.depth(below) + 1;
            match frame.place() {
                Place::ObjectOpen(object) => {
                    self.takes_any_key(object, depth)
                        || left.iter().all(|keys| is_far(keys, object, depth))
                }
                // A text that is spelled out may be an object as well, or have whitespace before one.
                _ if !frame.reads() => false,
                _ => {
                    let first = self.first_of(frame);
                    !b"{ \t\n\r".iter().any(|&byte| first.contains(byte))
                }
            }
        };
        self.program.related.is_empty()
            && left.iter().all(|keys| keys.len() > most)
            && self.elements(self.start).iter().all(of_element)
    }

    /// Returns whether an object may always have one more undeclared key, whatever members it has.
    fn takes_any_key(&self, object: u32, depth: u32) -> bool {
        let shape = &self.program.objects[object as usize];
        let mut with_any_key = shape.classes.iter().filter(|class| class.keys.is_none());
        let fits =
            |class: &KeyClass| { class.value.iter() }.any(|way| self.can_begin(way.node, depth));
        !shape.is_counted() && with_any_key.any(fits)
    }

    /// Returns whether the state of an object's key is the one after its opening quote.
    fn is_opened(&self, object: u32, Element { frame, below }: Element) -> bool {
        let start = match self.key_start(object, frame.data, below) {
            Ok(Some(start)) if start.terminal == frame.terminal => start.state,
            _ => return false,
        };
        let start = self.cursor(frame.with_state(start));
        let opened = start.step(b'"', Memory::Sketch).ok().flatten();
        opened.is_some_and(|opened| opened.state() == frame.state)
    }
}
