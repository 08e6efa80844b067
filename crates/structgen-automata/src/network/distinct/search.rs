//! The search for a completion of an item that is not a text of excluded values.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::LimitExceeded;
use crate::machine::MAX_COST;
use crate::network::values::{Excluded, Values};
use crate::network::{Memory, Network, SetId, StepError};

/// Reads one item, wherever its array is.
#[derive(Debug)]
pub(in crate::network) struct Item {
    pub(in crate::network) network: Network,
    /// The costs of completions that are not excluded, as far as they were searched; `None` if there is no completion.
    known: FxHashMap<Pair, Option<u32>>,
}

/// The states of the item and of the excluded values.
pub(super) type Pair = (SetId, Excluded);

/// With more values left, it is not asked whether an item is far from all of them.
const MAX_FAR: usize = 16;

/// The maximum number of states that one search for a completion may visit.
const MAX_SEARCH: usize = 50_000;

impl Item {
    pub(in crate::network) fn new(network: Network) -> Self {
        Self {
            network,
            known: FxHashMap::default(),
        }
    }

    /// Returns the approximate size in bytes.
    pub(in crate::network) fn memory(&self) -> usize {
        size_of::<Self>() + self.network.memory() + self.known.capacity() * 20
    }

    /// Returns what is known of a pair without a search; `Some(None)` if it has no completion.
    fn known(&mut self, pair: Pair, values: &mut Values) -> Result<Option<Option<u32>>, StepError> {
        let (at, excluded) = pair;
        if at == SetId::DEAD {
            return Ok(Some(None));
        }
        if excluded == Excluded::NONE {
            return Ok(Some(Some(self.cost(at))));
        }
        if let Some(&known) = self.known.get(&pair) {
            return Ok(Some(known));
        }
        if self.network.call().is_accepting(at)? && !values.is_text(excluded) {
            return Ok(Some(Some(0)));
        }
        Ok(None)
    }

    /// Returns the cost of a known completion that is not excluded, or `None` if there is none.
    ///
    /// The search is best first, guided by the cost of the item alone (Hart, Nilsson, Raphael, 1968). That heuristic
    /// may be too high, so the completion may not be the shortest; but for any text that is not excluded, the cost is
    /// at most its [bound](super::Completion::bound). The states on the path to a completion are live as well, each
    /// dearer than the next by the weight of the byte between them, which keeps costs consistent between searches.
    pub(super) fn completion(
        &mut self,
        pair: Pair,
        values: &mut Values,
    ) -> Result<Option<u32>, StepError> {
        if let Some(known) = self.known(pair, values)? {
            return Ok(known);
        }
        // How each pair was reached, by the least weight so far.
        let mut reached: FxHashMap<Pair, (u32, Pair)> = FxHashMap::default();
        reached.insert(pair, (0, pair));
        let mut queue = BinaryHeap::from([(Reverse(0_u32), 0_u32, pair)]);
        let mut needs_exact = false;
        while let Some((Reverse(best), read, from)) = queue.pop() {
            if reached[&from].0 < read {
                continue;
            }
            if self.known(from, values)?.is_some() {
                let (mut at, mut cost) = (from, best - read);
                while at != pair {
                    let (weight, before) = reached[&at];
                    cost = cost.saturating_add(weight - reached[&before].0);
                    at = before;
                    self.known.insert(at, Some(cost));
                }
                return Ok(Some(cost));
            }
            let mut first = self.network.call().first(from.0);
            while let Some(byte) = first.pop() {
                let next = match self.network.call().step_once(from.0, byte, Memory::Exact) {
                    Ok(SetId::DEAD) => continue,
                    Ok(next) => next,
                    Err(StepError::NeedsExact) => {
                        needs_exact = true;
                        continue;
                    }
                    Err(limit) => return Err(limit),
                };
                let after = read.saturating_add(self.weight(from.0, next));
                let next = (next, values.step(from.1, byte)?);
                if reached
                    .get(&next)
                    .is_some_and(|&(before, _)| before <= after)
                {
                    continue;
                }
                reached.insert(next, (after, from));
                let known = self.known(next, values)?;
                let cost = match known {
                    Some(None) => continue,
                    Some(Some(cost)) => cost,
                    None => self.cost(next.0),
                };
                let cost = cost.saturating_add(after);
                queue.push((Reverse(cost), after, next));
                // Nothing in the queue is known to be cheaper.
                if known.is_some() && cost <= best {
                    break;
                }
            }
            if reached.len() > MAX_SEARCH {
                return Err(StepError::Limit(LimitExceeded {
                    what: "places on the way to a distinct item",
                    limit: MAX_SEARCH as u64,
                }));
            }
        }
        if needs_exact {
            return Err(StepError::NeedsExact);
        }
        self.known
            .extend(reached.into_keys().map(|dead| (dead, None)));
        Ok(None)
    }

    /// Returns whether a pair has a completion.
    pub(super) fn is_live(&mut self, pair: Pair, values: &mut Values) -> Result<bool, StepError> {
        let (at, excluded) = pair;
        if at == SetId::DEAD || excluded == Excluded::NONE {
            return Ok(at != SetId::DEAD);
        }
        if let Some(known) = self.known.get(&pair) {
            return Ok(known.is_some());
        }
        // More completions than there may be values need no search, and neither does what is far from them.
        Ok(self.network.call().has_many_left(at)
            || self.is_far(excluded, values)
            || self.completion(pair, values)?.is_some())
    }

    /// Returns whether no token makes the item equal to one of the values, and something else may follow every token.
    pub(super) fn is_far(&self, excluded: Excluded, values: &Values) -> bool {
        let left = values.keys_left(excluded, MAX_FAR);
        left.is_some_and(|left| self.network.call().is_far_from(&left))
    }

    /// Returns by how much a byte from one state to another one brings the end closer, at best: what it counts with the
    /// widest whitespace, and a byte of required whitespace counts as one of it.
    pub(super) fn weight(&self, from: SetId, to: SetId) -> u32 {
        let call = self.network.call();
        match call.required_left(from) {
            0 => {
                let widest = self.network.program().widest_byte().min(MAX_COST.into()) as u32;
                widest.saturating_sub(call.required_left(to)).max(1)
            }
            _ => 1,
        }
    }

    /// Returns the cost of the item if nothing is excluded.
    pub(super) fn cost(&mut self, at: SetId) -> u32 {
        self.network.call().cost(at).min(MAX_COST.into()) as u32
    }
}
