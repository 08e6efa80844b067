//! Arrays of distinct items: the terminals of items, and whether enough fresh values (not in the array yet) are left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use structgen_grammar::Whitespace;

use super::distinct::{Completion, Item, ItemMachine};
use super::values::{Excluded, ValueId, Values};
use super::{Call, Fresh, Network, StepError};
use crate::LimitExceeded;
use crate::bytes::escaped_length;
use crate::program::{Alternative, ArrayProgram, Bounds, Group, MAX_NEEDED_LEVELS, NodeId, Use};
use crate::terminal::TerminalState;
use crate::value::{MAX_COMPARED_DEPTH, Value};

/// The maximum number of distinct items that an array may require.
const MAX_DISTINCT: u32 = 128;

/// The maximum nesting of arrays of distinct items.
const MAX_LEVELS: u32 = 64;

/// The cost of the items after the next one, and the values that the next one must differ from.
pub(super) type Left = (u64, Excluded);

/// The label of an item that is compared with values that a sketch does not know.
const PARTIAL: u32 = u32::MAX;

impl Call<'_> {
    /// Returns an upper bound on the cost of the items after the next one, each with its comma, and the values that the
    /// next one must differ from. `None` if the array could not be completed after it.
    pub(super) fn distinct_left(
        &self,
        shape: &ArrayProgram,
        counts: &crate::program::Counts,
        values: Excluded,
        next: &Alternative,
        depth: u32,
    ) -> Result<Option<Left>, StepError> {
        let bounds: Bounds = shape.bounds();
        let missing = bounds.missing(counts);
        if missing == 0 {
            return Ok(Some((0, values)));
        }
        check_missing(missing)?;
        if shape.prefix.is_empty() {
            // All items are of one kind, so it does not matter which value the next one takes: one fewer is left, at
            // worst the cheapest.
            let slot = shape.rest.as_deref().unwrap_or_default();
            let mut groups = Vec::new();
            for alternative in slot
                .iter()
                .filter(|it| self.fits(it.node, depth))
                .copied()
                .collect::<Vec<_>>()
            {
                let is_next = alternative.node == next.node;
                let wanted = missing as usize + usize::from(is_next);
                let costs = self.fresh(alternative.node, depth, values, wanted)?;
                let uses = costs.iter().skip(usize::from(is_next)).map(|(cost, _)| {
                    vec![Use {
                        cost: cost + 1,
                        tallies: alternative.tallies,
                    }]
                });
                groups.push(Group {
                    uses: uses.collect(),
                    ..Group::default()
                });
            }
            let cost = if shape.tallies.is_empty() {
                cheapest_of(groups, missing as usize)
            } else {
                bounds.cheapest(counts, &groups, self.plan_meter())?
            };
            return Ok(cost.map(|cost| (cost, values)));
        }
        self.distinct_in_order(shape, counts, values, depth)
    }

    /// Returns up to `n` values of what begins at the node that are not in `values`, each with its cost, the cheapest
    /// known first; fewer only if there are no more.
    pub(super) fn fresh(
        &self,
        node: NodeId,
        depth: u32,
        values: Excluded,
        n: usize,
    ) -> Result<Arc<[(u64, ValueId)]>, StepError> {
        let key = (node, self.item_depth(depth), values);
        if let Some((complete, known)) = self.known_fresh().get(&key)
            && (*complete || known.len() >= n)
        {
            return Ok(known[..known.len().min(n)].into());
        }
        let found = match self.program.clone().listed(node) {
            Some(texts) => self.fresh_listed(texts, values, n)?,
            None => self.fresh_found(node, depth, values, n)?,
        };
        let complete = found.len() < n;
        let found: Arc<[(u64, ValueId)]> = found.into();
        self.known_fresh().insert(key, (complete, found.clone()));
        Ok(found)
    }

    fn known_fresh(&self) -> MutexGuard<'_, FxHashMap<(NodeId, u32, Excluded), Fresh>> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for values from a list.
    fn fresh_listed(
        &self,
        texts: &[Box<str>],
        values: Excluded,
        n: usize,
    ) -> Result<Vec<(u64, ValueId)>, StepError> {
        let mut store = self.values();
        let mut left: Vec<(u64, Value)> = texts
            .iter()
            .map(|text| (u64::from(escaped_length(text.as_bytes())) + 2, text))
            .map(|(cost, text)| (cost, Value::String(text.clone())))
            .filter(|(_, value)| !store.has(values, value))
            .collect();
        left.sort();
        left.truncate(n);
        let left = left
            .into_iter()
            .map(|(cost, value)| Ok((cost, store.id(value)?)));
        left.collect()
    }

    /// The same for other values, which are searched.
    fn fresh_found(
        &self,
        node: NodeId,
        depth: u32,
        values: Excluded,
        n: usize,
    ) -> Result<Vec<(u64, ValueId)>, StepError> {
        if self.level >= MAX_NEEDED_LEVELS {
            return Err(StepError::Limit(LimitExceeded {
                what: "arrays inside one another that need several distinct items",
                limit: u64::from(MAX_NEEDED_LEVELS),
            }));
        }
        let item = self.item(node, depth)?;
        let mut machine = ItemMachine::new(item, self.values.clone(), 0);
        let mut excluded = values;
        let mut found: Vec<(u64, ValueId)> = Vec::new();
        while found.len() < n {
            let Some(Completion { text, bound }) = machine.completion(excluded)? else {
                break;
            };
            let mut store = self.values();
            let value = store.id(Value::read(&text)?)?;
            excluded = store.with(excluded, value);
            found.push((bound, value));
        }
        // Whichever of them are taken, one of the first n + 1 is left after n others, so costs are made ascending.
        for i in 1..found.len() {
            found[i].0 = found[i].0.max(found[i - 1].0);
        }
        Ok(found)
    }

    /// Returns the depth of an item if its text depends on it: if lines are indented, or if it can reach the limit on
    /// nesting, which is that of the whole document. Otherwise 0.
    fn item_depth(&self, depth: u32) -> u32 {
        let form = &self.program.form;
        match form.whitespace {
            Whitespace::Indented { .. } => depth,
            _ if depth.saturating_add(MAX_COMPARED_DEPTH) >= form.max_depth => depth,
            _ => 0,
        }
    }

    /// Returns the automaton that reads one item.
    fn item(&self, node: NodeId, depth: u32) -> Result<Arc<Mutex<Item>>, LimitExceeded> {
        let depth = self.item_depth(depth);
        if let Some(known) = self.items.get(&(node, depth)) {
            return Ok(known.clone());
        }
        if self.level >= MAX_LEVELS {
            return Err(LimitExceeded {
                what: "arrays of distinct items inside one another",
                limit: u64::from(MAX_LEVELS),
            });
        }
        let network = Network::at(
            self.program.clone(),
            node,
            depth,
            self.level + 1,
            self.terminals.tokens(),
        )?;
        let item = Arc::new(Mutex::new(Item::new(network)));
        Ok(self.items.insert((node, depth), item).clone())
    }

    /// Returns the terminal of an item that differs from some values, and its start state; `None` if there is no such
    /// item.
    pub(super) fn item_terminal(
        &self,
        node: NodeId,
        depth: u32,
        excluded: Excluded,
        label: u32,
    ) -> Result<Option<(u32, TerminalState)>, StepError> {
        let key = (node, self.item_depth(depth), label);
        let terminal = match self.terminals.known_item(&key) {
            Some(known) => known,
            None => {
                let item = self.item(node, depth)?;
                let machine = ItemMachine::new(item, self.values.clone(), label);
                self.terminals.add_item(key, machine)?
            }
        };
        let start = self.terminals.item_start(terminal, excluded)?;
        Ok(start.map(|start| (terminal, start)))
    }

    /// Returns the terminal of an item that is compared with values that a sketch does not know.
    pub(super) fn partial_terminal(&self, node: NodeId, depth: u32) -> Result<u32, StepError> {
        let key = (node, self.item_depth(depth), PARTIAL);
        if let Some(known) = self.terminals.known_item(&key) {
            return Ok(known);
        }
        let item = self.item(node, depth)?;
        let machine = ItemMachine::partial(item, self.values.clone());
        Ok(self.terminals.add_item(key, machine)?)
    }

    /// Returns the cost of an array of distinct items from its start, or `None` if there are not enough values.
    pub(crate) fn distinct_cost(&self, array: u32) -> Result<Option<u64>, LimitExceeded> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let bounds = shape.bounds();
        let counts = shape.no_counts();
        if bounds.are_met(&counts) {
            return Ok(Some(1));
        }
        let mut least: Option<u64> = None;
        for alternative in shape.slot(0).into_iter().flatten() {
            let Some(counts) = shape.add(&counts, alternative.tallies) else {
                continue;
            };
            let left = self
                .distinct_left(shape, &counts, Excluded::NONE, alternative, 1)
                .map_err(StepError::limit)?;
            let Some((rest, excluded)) = left else {
                continue;
            };
            let first = self
                .fresh(alternative.node, 1, excluded, 1)
                .map_err(StepError::limit)?;
            if let Some((cost, _)) = first.first() {
                let cost = cost.saturating_add(rest).saturating_add(1);
                least = Some(least.map_or(cost, |least| least.min(cost)));
            }
        }
        Ok(least)
    }

    /// Locks the interned values.
    pub(super) fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the cost of the `n` cheapest uses of groups whose uses have ascending costs.
fn cheapest_of(groups: Vec<Group>, n: usize) -> Option<u64> {
    let uses = groups.into_iter().flat_map(|group| group.uses);
    let mut costs: Vec<u64> = uses.flatten().map(|way| way.cost).collect();
    costs.sort_unstable();
    (costs.len() >= n).then(|| {
        costs
            .iter()
            .take(n)
            .fold(0_u64, |all, cost| all.saturating_add(*cost))
    })
}

/// Checks that an array does not need too many more items that are distinct.
pub(super) fn check_missing(items: u32) -> Result<(), StepError> {
    if items <= MAX_DISTINCT {
        return Ok(());
    }
    Err(StepError::Limit(LimitExceeded {
        what: "items that have to be distinct",
        limit: u64::from(MAX_DISTINCT),
    }))
}
