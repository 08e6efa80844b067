//! Decides which expressions contain a string, and finds the length of a short one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::{Arena, NodeId};
use super::steps::Steps;
use crate::LimitExceeded;

/// The number of steps from a state of a search that counts as one visit.
const STEPS: usize = 4;

/// The results of searches. Expressions whose structure shows a string ([`Arena::witness`]) are never searched.
#[derive(Clone, Debug, Default)]
pub(super) struct Liveness {
    /// The costs of the expressions that were searched; `None` if there is no string.
    searched: FxHashMap<NodeId, Option<u32>>,
    /// Supersets whose search was too long.
    unproven: FxHashSet<NodeId>,
    /// Bytes of short completions, the most recent first.
    guesses: Vec<u8>,
}

/// The number of bytes that are guessed before all are tried. Completions usually consist of the same few bytes
/// everywhere: those that close what is open.
const MOST_GUESSES: usize = 8;

/// The maximum length of a guessed completion.
const LONGEST_GUESS: usize = 256;

/// The number of states that a search without counters visits before it gives up.
const MOST_RELAXED: usize = 2_000;

impl Liveness {
    /// Returns whether the expression contains a string.
    ///
    /// Known bytes are tried first. If the expression without its counters ([`Arena::relaxed`]) contains no string,
    /// neither does the expression. All else is searched.
    pub(super) fn is_live(
        &mut self,
        id: NodeId,
        steps: &mut Steps,
        limit: usize,
    ) -> Result<bool, LimitExceeded> {
        if let Some(cost) = self.known(id, &steps.arena) {
            return Ok(cost.is_some());
        }
        if self.guess(id, steps)? {
            return Ok(true);
        }
        if steps.arena.has_long_counters(id) && self.is_empty_without_counters(id, steps, limit) {
            self.searched.insert(id, None);
            return Ok(false);
        }
        self.search(id, steps, limit)
    }

    /// Returns whether the expression without its counters is known or found to contain no string. If that search is
    /// too long, it proves nothing.
    fn is_empty_without_counters(&mut self, id: NodeId, steps: &mut Steps, limit: usize) -> bool {
        let relaxed = steps.arena.relaxed(id);
        if relaxed == id || self.unproven.contains(&relaxed) {
            return false;
        }
        if let Some(cost) = self.known(relaxed, &steps.arena) {
            return cost.is_none();
        }
        let found = self.search(relaxed, steps, limit.min(MOST_RELAXED));
        if found.is_err() {
            self.unproven.insert(relaxed);
        }
        found == Ok(false)
    }

    /// Returns the same by a best-first search over derivatives (A*, by the length so far plus a lower bound on the
    /// rest; among equals, by the least that is still to be matched), until it reaches an expression that is known to
    /// contain a string. The nodes on the path are live as well, each one byte dearer than the next, which keeps costs
    /// consistent between searches. A search that ends without such an expression proves that everything it visited is
    /// dead.
    fn search(
        &mut self,
        id: NodeId,
        steps: &mut Steps,
        limit: usize,
    ) -> Result<bool, LimitExceeded> {
        let mut parents: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        parents.insert(id, id);
        // The shortest completion has a state for each of its bytes, so these do not count. Their expressions do.
        let most = limit.saturating_add(steps.arena.least(id) as usize);
        let mut order = 0_u32;
        let mut tried = 0_usize;
        // By byte, the one that led on after it. Far from any completion it is tried by itself, and the others only if
        // it leads nowhere.
        let mut likely = [None; 256];
        let mut queue =
            BinaryHeap::from([Reverse((steps.arena.least(id), 0, 0, order, id, 0, false))]);
        while let Some(Reverse((bound, distance, depth, number, from, last, is_tried))) =
            queue.pop()
        {
            let is_far = steps.arena.least(from) as usize > LONGEST_GUESS;
            let guess = likely[usize::from(last)].filter(|_| is_far && !is_tried);
            let bytes = match guess {
                Some(byte) => vec![byte],
                None => steps.classes(from)?.representatives().collect(),
            };
            let mut leads_on = false;
            for byte in bytes {
                let next = steps.step(from, byte)?;
                tried += 1;
                match self.known(next, &steps.arena) {
                    Some(Some(cost)) => {
                        self.remember_guess(byte);
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
                            queue
                                .push(Reverse((length, distance, depth, order, next, byte, false)));
                            if length <= bound {
                                leads_on = true;
                                likely[usize::from(last)] = Some(byte);
                            }
                        }
                    }
                }
            }
            if guess.is_some() {
                queue.push(Reverse((bound, distance, depth, number, from, last, true)));
                if !leads_on {
                    likely[usize::from(last)] = None;
                }
            }
            // If many kinds of bytes may follow, as after `\b`, a state takes longer, so it counts for several.
            if parents.len().max(tried / STEPS) > most {
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

    /// Returns whether bytes of earlier completions complete the expression, and no completion is shorter.
    fn guess(&mut self, id: NodeId, steps: &mut Steps) -> Result<bool, LimitExceeded> {
        let mut path = vec![id];
        while let Some(&from) = path.last() {
            let left = steps.arena.least(from);
            let mut nearer = None;
            for at in 0..self.guesses.len() {
                let byte = self.guesses[at];
                let next = steps.step(from, byte)?;
                match self.known(next, &steps.arena) {
                    Some(Some(cost)) if cost < left => {
                        self.remember_guess(byte);
                        let mut cost = cost;
                        for &at in path.iter().rev() {
                            cost = cost.saturating_add(1);
                            self.searched.insert(at, Some(cost));
                        }
                        return Ok(true);
                    }
                    None if steps.arena.least(next) < left => nearer = nearer.or(Some(next)),
                    _ => {}
                }
            }
            match nearer {
                Some(next) if path.len() < LONGEST_GUESS => path.push(next),
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    fn remember_guess(&mut self, byte: u8) {
        match self.guesses.iter().position(|&known| known == byte) {
            Some(at) => self.guesses[..=at].rotate_right(1),
            None => {
                self.guesses.truncate(MOST_GUESSES - 1);
                self.guesses.insert(0, byte);
            }
        }
    }

    /// Returns the cost of a known completion, for expressions that were found live.
    pub(super) fn cost(&self, id: NodeId, arena: &Arena) -> u32 {
        self.known(id, arena).flatten().unwrap_or(u32::MAX)
    }

    /// Returns `None` if it takes a search.
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
