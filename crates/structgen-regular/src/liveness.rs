//! Which expressions hold a string at all, and how short a known one is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::arena::{Arena, NodeId};
use super::derivative::representatives;
use super::steps::Steps;
use crate::LimitExceeded;

/// The number of steps from a state of a search that counts as one visit.
const STEPS: usize = 4;

/// What searches have found. Expressions whose structure shows a string ([`Arena::witness`]) are never searched.
#[derive(Clone, Debug, Default)]
pub(super) struct Liveness {
    /// The cost of the expressions that were searched; `None`: no string.
    searched: FxHashMap<NodeId, Option<u32>>,
}

impl Liveness {
    /// Whether the expression holds a string.
    ///
    /// Over derivatives, those first that seem nearest to a string (A*: the length so far and a lower bound of what is
    /// left; among equals, the least that is still to be matched), until one is met that is known to hold a string. The
    /// nodes on the way there are live with it, each one byte dearer than the next, which keeps costs consistent from
    /// search to search. A search that ends without such a node proves that everything it saw is dead.
    pub(super) fn is_live(
        &mut self,
        id: NodeId,
        steps: &mut Steps,
        limit: usize,
    ) -> Result<bool, LimitExceeded> {
        if let Some(cost) = self.known(id, &steps.arena) {
            return Ok(cost.is_some());
        }
        let mut parents: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        parents.insert(id, id);
        let mut order = 0_u32;
        let mut tried = 0_usize;
        let mut queue = BinaryHeap::from([Reverse((0, 0, 0, order, id))]);
        while let Some(Reverse((_, _, depth, _, from))) = queue.pop() {
            let boundaries = steps.boundaries(from);
            for byte in representatives(&boundaries) {
                let next = steps.step(from, byte)?;
                tried += 1;
                match self.known(next, &steps.arena) {
                    Some(Some(cost)) => {
                        self.note_path(from, id, cost, &parents);
                        return Ok(true);
                    }
                    Some(None) => {}
                    None => {
                        if let Entry::Vacant(entry) = parents.entry(next) {
                            entry.insert(from);
                            order += 1;
                            let depth = depth + 1;
                            let length = steps.arena.least(next).saturating_add(depth);
                            let distance = steps.arena.distance(next);
                            queue.push(Reverse((length, distance, depth, order, next)));
                        }
                    }
                }
            }
            // Where many kinds of bytes may come, as after `\b`, a state takes longer: it counts for several.
            if parents.len().max(tried / STEPS) > limit {
                return Err(LimitExceeded {
                    what: "states searched for a completion of a regular set",
                    limit: limit as u64,
                });
            }
        }
        self.searched
            .extend(parents.into_keys().map(|dead| (dead, None)));
        Ok(false)
    }

    /// The cost of a known completion; for expressions that were found live.
    pub(super) fn cost(&self, id: NodeId, arena: &Arena) -> u32 {
        self.known(id, arena).flatten().unwrap_or(u32::MAX)
    }

    /// Nothing where only a search can tell.
    fn known(&self, id: NodeId, arena: &Arena) -> Option<Option<u32>> {
        if id == Arena::NEVER {
            return Some(None);
        }
        match arena.witness(id) {
            Some(cost) => Some(Some(cost)),
            None => self.searched.get(&id).copied(),
        }
    }

    fn note_path(
        &mut self,
        last: NodeId,
        first: NodeId,
        cost: u32,
        parents: &FxHashMap<NodeId, NodeId>,
    ) {
        let (mut at, mut cost) = (last, cost);
        loop {
            cost = cost.saturating_add(1);
            self.searched.insert(at, Some(cost));
            match parents.get(&at) {
                Some(&parent) if at != first => at = parent,
                _ => break,
            }
        }
    }
}
