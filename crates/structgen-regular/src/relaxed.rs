//! Supersets without counters, which prove that a set is empty.
//!
//! That no text is both an address and ends with `@example.com` after a second `@` has nothing to do with how long the
//! labels of an address may be. A search through the set itself tries every combination of counts; one through the set
//! without its counters has as few states as the pattern has places, and all combinations share them.

use super::arena::{Arena, Node, NodeId};

/// The recursion limit. Expressions below it keep their counters, which is always correct.
const MAX_DEPTH: u32 = 64;

impl Arena {
    /// Returns a set that contains this one: its counters repeat any number of times.
    pub(super) fn relaxed(&mut self, id: NodeId) -> NodeId {
        self.relaxed_at(id, 0)
    }

    fn relaxed_at(&mut self, id: NodeId, depth: u32) -> NodeId {
        let is_kept = !self.has_long_counters(id) || self.asks(id) != 0 || self.loops(id);
        if is_kept || depth > MAX_DEPTH {
            return id;
        }
        if let Some(&known) = self.relaxed.get(&id) {
            return known;
        }
        let relaxed = match self.node(id).clone() {
            Node::Concat(..) => self.relaxed_chain(id, depth),
            Node::Union(arms) => {
                let arms = arms.iter().map(|&arm| self.relaxed_at(arm, depth + 1));
                let arms = arms.collect();
                self.union(arms)
            }
            Node::Intersection(arms) => {
                let arms = arms.iter().map(|&arm| self.relaxed_at(arm, depth + 1));
                let arms = arms.collect();
                self.intersection(arms)
            }
            Node::Repeat { body, min, .. } => {
                let body = self.relaxed_at(body, depth + 1);
                self.repeat(body, min.min(1), None)
            }
            // The complement of a superset is a subset.
            _ => id,
        };
        self.relaxed.insert(id, relaxed);
        relaxed
    }

    /// A chain may be as long as the expression, so it is followed without recursion; only its parts count as deeper.
    fn relaxed_chain(&mut self, id: NodeId, depth: u32) -> NodeId {
        let mut parts = Vec::new();
        let mut rest = Some(id);
        while let Some(at) = rest {
            let (first, after) = match *self.node(at) {
                Node::Concat(first, after) => (first, Some(after)),
                _ => (at, None),
            };
            parts.push(self.relaxed_at(first, depth + 1));
            rest = after;
        }
        let parts = parts.into_iter().rev();
        parts.fold(Self::EMPTY, |chain, part| self.concat(part, chain))
    }
}
