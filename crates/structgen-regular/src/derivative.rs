//! Derivatives: what may follow one more byte (Brzozowski, "Derivatives of Regular Expressions", 1964).

use rustc_hash::FxHashMap;

use super::arena::{Arena, Node, NodeId};
use super::byte_classes::{Boundaries, ByteClasses, SplitOff};
use crate::LimitExceeded;
use crate::limit::{too_many_expressions, too_much_work};

/// Buffers for walks over the arena, reused between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// For every node, the number of the last walk that visited it, and its result.
    seen: Vec<(u32, NodeId)>,
    walk: u32,
    stack: Vec<NodeId>,
    /// The literals and finite sets at the front of an expression.
    leaves: Vec<NodeId>,
    split_off: SplitOff,
    /// Derivatives of the parts of unions and intersections, which have many states but few different parts.
    parts: FxHashMap<(NodeId, u8), NodeId>,
    /// The buffers of nested walks: those of sets that look behind, with their trackers.
    pub(super) inner: Option<Box<Self>>,
}

/// The maximum number of cached derivatives of parts.
const MOST_PARTS: usize = 1 << 16;

impl Scratch {
    fn start(&mut self, nodes: usize) {
        // After 2³² walks the numbers repeat, so what earlier walks have seen is forgotten.
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.seen.clear();
            self.walk = 1;
        }
        self.grow(nodes);
        self.stack.clear();
    }

    fn grow(&mut self, nodes: usize) {
        if self.seen.len() < nodes {
            self.seen.resize(nodes, (0, Arena::NEVER));
        }
    }

    fn get(&self, id: NodeId) -> Option<NodeId> {
        match self.seen.get(id.0 as usize) {
            Some(&(walk, found)) if walk == self.walk => Some(found),
            _ => None,
        }
    }

    fn set(&mut self, id: NodeId, found: NodeId) {
        self.seen[id.0 as usize] = (self.walk, found);
    }
}

impl Arena {
    /// Returns the strings that follow `byte` in the strings of `root`. Uses an explicit stack, since expressions may
    /// nest deeper than calls.
    pub(super) fn derivative(
        &mut self,
        root: NodeId,
        byte: u8,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<NodeId, LimitExceeded> {
        self.derivative_where(root, byte, 0, limit, scratch)
    }

    /// Like [`derivative`](Self::derivative), given the trackers that hold before the byte.
    pub(super) fn derivative_where(
        &mut self,
        root: NodeId,
        byte: u8,
        holds: u64,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<NodeId, LimitExceeded> {
        if let Some(result) = self.leaf_derivative(root, byte) {
            return Ok(result);
        }
        scratch.start(self.len());
        scratch.stack.push(root);
        while let Some(&id) = scratch.stack.last() {
            if scratch.get(id).is_some() {
                scratch.stack.pop();
                continue;
            }
            self.work += 1;
            let waiting = scratch.stack.len();
            if matches!(self.node(id), Node::Loop { .. }) {
                // Unfolding adds nodes.
                self.unfold(id);
                scratch.grow(self.len());
            }
            let has_parts = matches!(self.node(id), Node::Intersection(_) | Node::Union(_));
            self.for_each_front(id, holds, |part| {
                if !self.is_leaf(part) && scratch.get(part).is_none() {
                    match scratch.parts.get(&(part, byte)) {
                        Some(&known) if has_parts => scratch.set(part, known),
                        _ => scratch.stack.push(part),
                    }
                }
            });
            if scratch.stack.len() == waiting {
                let result = match self.node(id) {
                    Node::Tracked { .. } => self.derive_tracked(id, byte, limit, scratch)?,
                    _ => self.combine(id, byte, holds, scratch),
                };
                scratch.set(id, result);
                scratch.stack.pop();
                if has_parts {
                    self.remember_parts(id, byte, scratch);
                }
                if self.size() > limit {
                    return Err(too_many_expressions(limit));
                }
                if self.is_tired() {
                    return Err(too_much_work());
                }
            }
        }
        Ok(scratch.get(root).unwrap_or(Self::NEVER))
    }

    fn remember_parts(&self, whole: NodeId, byte: u8, scratch: &mut Scratch) {
        if scratch.parts.len() > MOST_PARTS {
            scratch.parts.clear();
        }
        if let Node::Intersection(parts) | Node::Union(parts) = self.node(whole) {
            for &part in parts.iter() {
                // What depends on trackers depends on the position.
                if self.asks(part) == 0
                    && let Some(found) = scratch.get(part)
                {
                    scratch.parts.insert((part, byte), found);
                }
            }
        }
    }

    fn is_leaf(&self, id: NodeId) -> bool {
        matches!(
            self.node(id),
            Node::Never
                | Node::Empty
                | Node::AllBytes
                | Node::Beyond
                | Node::Literal { .. }
                | Node::Finite(_)
        )
    }

    /// Visits the parts of an expression whose derivatives it needs, given the trackers that hold. Loops are unfolded.
    fn for_each_front(&self, id: NodeId, holds: u64, mut visit: impl FnMut(NodeId)) {
        match self.node(id) {
            Node::Concat(..) => {
                let mut at = id;
                while let Node::Concat(first, rest) = *self.node(at) {
                    visit(first);
                    if !self.nullable(first) {
                        return;
                    }
                    at = rest;
                }
                visit(at);
            }
            Node::Union(arms) | Node::Intersection(arms) => arms.iter().copied().for_each(visit),
            Node::Not(body) | Node::Repeat { body, .. } => visit(*body),
            Node::Behind {
                tracker,
                negated,
                rest,
            } if (holds & tracker.bit() != 0) != *negated => visit(*rest),
            Node::Loop { .. } => visit(self.unfolded(id)),
            _ => {}
        }
    }

    fn leaf_derivative(&mut self, id: NodeId, byte: u8) -> Option<NodeId> {
        Some(match *self.node(id) {
            Node::Never | Node::Empty | Node::Beyond => Self::NEVER,
            Node::AllBytes => Self::ALL_BYTES,
            Node::Literal { literal, offset } => {
                if self.literal_bytes(literal, offset)[0] == byte {
                    self.literal_tail(literal, offset + 1)
                } else {
                    Self::NEVER
                }
            }
            Node::Finite(state) => match self.finite.step(state, byte) {
                Some(next) => self.finite(next),
                None => Self::NEVER,
            },
            _ => return None,
        })
    }

    /// Returns the derivative of a node, given those of its front parts.
    fn combine(&mut self, id: NodeId, byte: u8, holds: u64, scratch: &Scratch) -> NodeId {
        let derived = |arena: &mut Self, part: NodeId| {
            scratch
                .get(part)
                .or_else(|| arena.leaf_derivative(part, byte))
                .unwrap_or(Self::NEVER)
        };
        match self.node(id).clone() {
            Node::Concat(..) => {
                let mut arms = Vec::new();
                let mut at = id;
                loop {
                    let Node::Concat(first, rest) = *self.node(at) else {
                        arms.push(derived(self, at));
                        break;
                    };
                    let front = derived(self, first);
                    self.push_continued(front, rest, &mut arms);
                    if !self.nullable(first) {
                        break;
                    }
                    at = rest;
                }
                self.union(arms)
            }
            Node::Union(arms) => {
                let arms = arms.iter().map(|&arm| derived(self, arm)).collect();
                self.union(arms)
            }
            Node::Intersection(arms) => {
                let arms = arms.iter().map(|&arm| derived(self, arm)).collect();
                self.intersection(arms)
            }
            Node::Not(body) => {
                let body = derived(self, body);
                self.not(body)
            }
            Node::Repeat { body, min, max } => {
                // If the body contains the empty string, `min` is 0 and it does not matter which round reads the byte.
                let front = derived(self, body);
                if front == Self::NEVER {
                    return Self::NEVER;
                }
                let rest = self.repeat(body, min.saturating_sub(1), max.map(|max| max - 1));
                let mut arms = Vec::new();
                self.push_continued(front, rest, &mut arms);
                self.union(arms)
            }
            Node::Behind {
                tracker,
                negated,
                rest,
            } if (holds & tracker.bit() != 0) != negated => derived(self, rest),
            Node::Loop { .. } => {
                let unfolded = self.unfolded(id);
                derived(self, unfolded)
            }
            _ => Self::NEVER,
        }
    }

    /// Adds the rest of a front part followed by `rest`. If there are rounds to count later, alternatives are kept
    /// apart, so that those with different counts are [merged](Self::merge_counters).
    fn push_continued(&mut self, front: NodeId, rest: NodeId, arms: &mut Vec<NodeId>) {
        match self.node(front).clone() {
            Node::Union(fronts) if self.counts_rounds(rest) => {
                for &front in fronts.iter() {
                    arms.push(self.concat(front, rest));
                }
            }
            Node::Finite(state) if self.counts_rounds(rest) && self.finite.accepts(state) => {
                arms.push(rest);
                let longer = self.finite.without_empty(state);
                let longer = self.finite(longer);
                arms.push(self.concat(longer, rest));
            }
            _ => arms.push(self.concat(front, rest)),
        }
    }

    /// Returns the classes of bytes with equal derivatives of `root`: those that no literal or finite set at the front
    /// distinguishes.
    pub(super) fn byte_classes(&mut self, root: NodeId, scratch: &mut Scratch) -> ByteClasses {
        let mut boundaries: Boundaries = [1, 0, 0, 0];
        let mut mark = |low: u8, high: u8| {
            boundaries[usize::from(low >> 6)] |= 1 << (low & 63);
            if let Some(next) = high.checked_add(1) {
                boundaries[usize::from(next >> 6)] |= 1 << (next & 63);
            }
        };
        scratch.start(self.len());
        scratch.leaves.clear();
        scratch.stack.push(root);
        while let Some(id) = scratch.stack.pop() {
            if scratch.get(id).is_some() {
                continue;
            }
            if matches!(self.node(id), Node::Loop { .. }) {
                // Unfolding adds nodes.
                self.unfold(id);
                scratch.grow(self.len());
            }
            scratch.set(id, id);
            match *self.node(id) {
                Node::Literal { literal, offset } => {
                    let byte = self.literal_bytes(literal, offset)[0];
                    mark(byte, byte);
                    scratch.leaves.push(id);
                }
                Node::Finite(state) => {
                    for transition in self.finite.transitions(state) {
                        mark(transition.low, transition.high);
                    }
                    scratch.leaves.push(id);
                }
                // Whether its tracker holds or not.
                Node::Behind { rest, .. } => scratch.stack.push(rest),
                Node::Tracked { term, ref trackers } => {
                    scratch.stack.push(term);
                    scratch
                        .stack
                        .extend(trackers.iter().map(|&(_, state)| state));
                }
                _ => self.for_each_front(id, 0, |part| scratch.stack.push(part)),
            }
        }
        let mut classes = ByteClasses::of_runs(boundaries);
        for &leaf in &scratch.leaves {
            match *self.node(leaf) {
                Node::Literal { literal, offset } => {
                    let byte = self.literal_bytes(literal, offset)[0];
                    classes.split([(byte, byte, 0)], &mut scratch.split_off);
                }
                Node::Finite(state) => {
                    let transitions = self.finite.transitions(state).iter();
                    let transitions = transitions.map(|to| (to.low, to.high, to.next.0));
                    classes.split(transitions, &mut scratch.split_off);
                }
                _ => {}
            }
        }
        classes.number();
        classes
    }
}
