//! The machine of an item that must differ from some values, for arrays with distinct items.
//!
//! Two automata run side by side over the text of the item: a network of what the item may be, and the texts of the
//! excluded values ([`Values`]). An item is live as long as the network has a completion that is not a text of these
//! values. Since finitely many values have finitely many texts, the search for one ends. Usually the next byte already
//! differs; from then on nothing is compared, and the state does not depend on the other items. So one machine reads
//! all items of a kind, from a start state for each set of values.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::values::{Excluded, Values};
use super::{Memory, Network, SetId, StepError};
use crate::machine::MAX_COST;
use crate::{
    AfterEnd, ByteSet, Children, Continuations, Ends, LimitExceeded, Machine, Span, Uniform,
};

/// Reads one item, wherever its array is.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) network: Network,
    /// The costs of completions that are not excluded, as far as they were searched; `None` if there is no completion.
    known: FxHashMap<Pair, Option<u32>>,
}

/// An item and the values that it must differ from.
pub(super) struct ItemMachine {
    item: Arc<Mutex<Item>>,
    values: Arc<Mutex<Values>>,
    label: u32,
    /// Whether there are more values to compare with than the machine knows.
    is_partial: bool,
}

/// The states of the item and of the excluded values.
type Pair = (SetId, Excluded);

/// A state of an [`ItemMachine`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ItemState {
    pair: Pair,
    /// Whether the item remembers the texts of its keys.
    is_exact: bool,
    accepts: bool,
    ends: bool,
}

impl ItemState {
    /// Returns which texts its steps keep.
    fn mode(&self) -> Memory {
        match self.is_exact {
            true => Memory::Exact,
            false => Memory::Sketch,
        }
    }
}

/// A text that an item may be.
pub(super) struct Completion {
    pub(super) text: Vec<u8>,
    /// An upper bound on the cost of the item as long as this text is not excluded, whatever else is: the maximum, over
    /// the states on the path, of what was read plus the cost of the item alone. In bytes of compact text.
    pub(super) bound: u64,
}

/// With more values left, it is not asked whether an item is far from all of them.
const MAX_FAR: usize = 16;

/// The maximum number of states that one search for a completion may visit.
const MAX_SEARCH: usize = 50_000;

impl Item {
    pub(super) fn new(network: Network) -> Self {
        Self {
            network,
            known: FxHashMap::default(),
        }
    }

    /// Returns the approximate size in bytes.
    pub(super) fn memory(&self) -> usize {
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

    /// Returns the length of a known completion that is not excluded, or `None` if there is none.
    ///
    /// The search is best first, guided by the cost of the item alone (Hart, Nilsson, Raphael, 1968). That heuristic
    /// may be too high, so the completion may not be the shortest; but for any text that is not excluded, the cost is
    /// at most its [bound](Completion::bound). The states on the path to a completion are live as well, each dearer than
    /// the next by the weight of the byte between them, which keeps costs consistent between searches.
    fn completion(&mut self, pair: Pair, values: &mut Values) -> Result<Option<u32>, StepError> {
        if let Some(known) = self.known(pair, values)? {
            return Ok(known);
        }
        // How each pair was reached, by the least weight so far.
        let mut reached: FxHashMap<Pair, (u32, Pair)> = FxHashMap::default();
        reached.insert(pair, (0, pair));
        let mut queue = BinaryHeap::from([(Reverse(0_u32), 0_u32, pair)]);
        let mut needs_exact = false;
        while let Some((Reverse(best), length, from)) = queue.pop() {
            if reached[&from].0 < length {
                continue;
            }
            if self.known(from, values)?.is_some() {
                let (mut at, mut cost) = (from, best - length);
                while at != pair {
                    let (weight, before) = reached[&at];
                    cost = cost.saturating_add(weight - reached[&before].0);
                    at = before;
                    self.known.insert(at, Some(cost));
                }
                return Ok(Some(cost));
            }
            let before = length;
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
                let length = before.saturating_add(self.weight(from.0, next));
                let next = (next, values.step(from.1, byte)?);
                if reached
                    .get(&next)
                    .is_some_and(|&(before, _)| before <= length)
                {
                    continue;
                }
                reached.insert(next, (length, from));
                let known = self.known(next, values)?;
                let cost = match known {
                    Some(None) => continue,
                    Some(Some(cost)) => cost,
                    None => self.cost(next.0),
                };
                let cost = cost.saturating_add(length);
                queue.push((Reverse(cost), length, next));
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
    fn is_live(&mut self, pair: Pair, values: &mut Values) -> Result<bool, StepError> {
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
    fn is_far(&self, excluded: Excluded, values: &Values) -> bool {
        let left = values.keys_left(excluded, MAX_FAR);
        left.is_some_and(|left| self.network.call().is_far_from(&left))
    }

    /// Returns by how much a byte from one state to another one brings the end closer, at best: what it counts with the
    /// widest whitespace, and a byte of required whitespace counts as one of it.
    fn weight(&self, from: SetId, to: SetId) -> u32 {
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
    fn cost(&mut self, at: SetId) -> u32 {
        self.network.call().cost(at).min(u64::from(u32::MAX / 8)) as u32
    }
}

impl ItemMachine {
    /// Creates a machine whose start is that of an item that is compared with nothing.
    pub(super) fn new(item: Arc<Mutex<Item>>, values: Arc<Mutex<Values>>, label: u32) -> Self {
        Self {
            item,
            values,
            label,
            is_partial: false,
        }
    }

    /// Creates a machine that knows no values, although there are some: the sketch of an item with so many possible
    /// values that the others do not matter, as long as it may still become any of them.
    pub(super) fn partial(item: Arc<Mutex<Item>>, values: Arc<Mutex<Values>>) -> Self {
        Self {
            is_partial: true,
            ..Self::new(item, values, 0)
        }
    }

    /// Returns a short text of the item that is not one of the values, or `None` if every value is excluded.
    pub(super) fn completion(
        &mut self,
        excluded: Excluded,
    ) -> Result<Option<Completion>, StepError> {
        let Some(mut state) = self.start_without(excluded.number())? else {
            return Ok(None);
        };
        let widest = self.item().network.program().widest_byte();
        let mut text = Vec::new();
        let (mut taken, mut bound) = (0, 0);
        let mut cost = self.cost(&state);
        loop {
            let alone = self.item().cost(state.pair.0);
            bound = bound.max(taken + u64::from(alone));
            if state.accepts && cost == 0 {
                let bound = bound.div_ceil(widest);
                return Ok(Some(Completion { text, bound }));
            }
            let mut next: Option<(u32, u8, ItemState)> = None;
            let mut first = self.first(&state).unwrap_or(ByteSet::ALL);
            while let Some(byte) = first.pop() {
                let Some(behind) = self.step(&state, byte)? else {
                    continue;
                };
                let behind = (self.cost(&behind), byte, behind);
                if next.as_ref().is_none_or(|best| behind.0 < best.0) {
                    next = Some(behind);
                }
            }
            match next {
                Some((lower, byte, behind)) if lower < cost => {
                    text.push(byte);
                    taken += u64::from(self.item().weight(state.pair.0, behind.pair.0));
                    (state, cost) = (behind, lower);
                }
                _ => {
                    return Err(StepError::Limit(LimitExceeded {
                        what: "bytes on the way to a distinct item",
                        limit: text.len() as u64,
                    }));
                }
            }
        }
    }

    /// Returns the state of a pair, if it is live.
    fn state(&mut self, pair: Pair, is_exact: bool) -> Result<Option<ItemState>, StepError> {
        let (at, excluded) = pair;
        let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = self.values();
        if !item.is_live(pair, &mut values)? {
            return Ok(None);
        }
        let network = item.network.call();
        let accepts = network.is_accepting(at)? && !values.is_text(excluded);
        let ends = accepts && network.is_final(at)?;
        if self.is_partial && at != network.start() && !network.has_many_left(at) {
            return Err(StepError::NeedsExact);
        }
        Ok(Some(ItemState {
            pair,
            is_exact,
            accepts,
            ends,
        }))
    }

    fn step_excluded(&mut self, set: Excluded, byte: u8) -> Result<Excluded, StepError> {
        if set == Excluded::NONE {
            return Ok(set);
        }
        self.values().step(set, byte)
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn item(&self) -> MutexGuard<'_, Item> {
        self.item.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine for ItemMachine {
    type State = ItemState;
    type Error = StepError;

    fn start(&mut self) -> Result<Option<ItemState>, LimitExceeded> {
        self.start_without(Excluded::NONE.number())
            .map_err(StepError::limit)
    }

    fn start_without(&mut self, excluded: u32) -> Result<Option<ItemState>, StepError> {
        let item = self.item().network.start();
        self.state((item, Excluded::of(excluded)), true)
    }

    fn step(&mut self, state: &ItemState, byte: u8) -> Result<Option<ItemState>, StepError> {
        let mode = state.mode();
        let item = self
            .item()
            .network
            .call()
            .step_once(state.pair.0, byte, mode)?;
        if item == SetId::DEAD {
            return Ok(None);
        }
        let excluded = self.step_excluded(state.pair.1, byte)?;
        self.state((item, excluded), state.is_exact)
    }

    fn equivalent_bytes(&mut self, state: &ItemState, byte: u8) -> (u8, u8) {
        let (set, excluded) = state.pair;
        let item = self.item();
        let run = { item.network.call() }.equivalent_bytes(set, byte, state.mode());
        drop(item);
        if run.0 == run.1 {
            return run;
        }
        let mut values = self.values();
        // All other bytes make the item differ from the values.
        match values.first(excluded) {
            Ok(first) => first.gap(byte, run),
            Err(_) => (byte, byte),
        }
    }

    fn accept(&self, state: &ItemState) -> Option<u32> {
        state.accepts.then_some(self.label)
    }

    fn is_end(&self, state: &ItemState) -> bool {
        state.ends
    }

    fn first(&mut self, state: &ItemState) -> Option<ByteSet> {
        Some(self.item().network.call().first(state.pair.0))
    }

    fn span(&mut self, state: &ItemState) -> Option<Span> {
        let (set, excluded) = state.pair;
        let span = {
            let item = self.item();
            let network = item.network.call();
            // An inner terminal's end is not the item's.
            network.span_of(set).filter(|it| it.ends == Ends::Never)?
        };
        if excluded == Excluded::NONE && !self.is_partial {
            return Some(span);
        }
        // One more character makes it differ from all values, if there are more characters than values.
        let is_enough = span.is_plain()
            || !self.is_partial
                && self
                    .values()
                    .strings(excluded)
                    .is_some_and(|n| n < span.closed.len());
        match span.code_points {
            _ if !is_enough => None,
            0 | 1 => None,
            u32::MAX => Some(span),
            // There is none after the last character, so it depends on the text.
            most => Some(Span {
                code_points: most - 1,
                goes_on: true,
                ..span
            }),
        }
    }

    fn is_grounded(&self) -> bool {
        self.item().network.program().is_bound()
    }

    fn continuations(
        &mut self,
        state: &ItemState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, StepError> {
        // A sketch of any item may be one of the others, whose values it does not know.
        if self.is_partial {
            return Ok(None);
        }
        let (found, are_alike) = {
            let item = self.item();
            let network = item.network.call();
            let [element] = *network.elements(state.pair.0) else {
                return Ok(None);
            };
            let are_alike = network.program().has_alike_items();
            (
                network.continuations(element.frame, root, child)?,
                are_alike,
            )
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let mut found = Arc::unwrap_or_clone(found);
        found.after_end = match are_alike {
            true => AfterEnd::Distinct,
            false => AfterEnd::Depends,
        };
        // A text that differs from the others so far stays different, so only those with a common beginning are
        // compared.
        let mut values = self.values();
        let mut open = vec![(root, state.pair.1)];
        while let Some((node, excluded)) = open.pop() {
            let mut first = values.first(excluded)?;
            while let Some(byte) = first.pop() {
                let next = values.step(excluded, byte)?;
                if next != Excluded::NONE
                    && let Some(node) = child(node, byte)
                {
                    found.compared.push(node);
                    open.push((node, next));
                }
            }
        }
        found.compared.sort_unstable();
        found.compared.dedup();
        Ok(Some(Arc::new(found)))
    }

    fn uniform(&mut self, state: &ItemState) -> Option<Uniform<ItemState>> {
        if state.is_exact || self.is_partial {
            return None;
        }
        let (set, uniform) = {
            let item = self.item();
            let network = item.network.call();
            let [element] = *network.elements(state.pair.0) else {
                return None;
            };
            let uniform = network.uniform(element.frame)?;
            let set = network.single(uniform.state, element.below).ok()?;
            (set, uniform)
        };
        let mut except = uniform.except.clone();
        let mut excluded = {
            let mut values = self.values();
            values.first(state.pair.1).ok()?
        };
        while let Some(byte) = excluded.pop() {
            except.push(byte);
        }
        except.sort_unstable();
        except.dedup();
        let state = self.state((set, Excluded::NONE), false).ok()??;
        Some(Uniform {
            except,
            ..uniform.with_state(state)
        })
    }

    fn sketch(&mut self, state: &ItemState) -> Result<Option<ItemState>, StepError> {
        let (set, excluded) = state.pair;
        let (sketch, is_far) = {
            let item = self.item();
            (
                item.network.call().sketch(set)?,
                item.is_far(excluded, &self.values()),
            )
        };
        let excluded = if is_far { Excluded::NONE } else { excluded };
        self.state((sketch, excluded), false)
    }

    fn cost(&mut self, state: &ItemState) -> u32 {
        let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
        let found = item.completion(state.pair, &mut self.values());
        // If a limit ends the search, the state counts as too expensive for any budget.
        found.ok().flatten().unwrap_or(MAX_COST)
    }
}

#[cfg(test)]
mod tests {
    use structgen_frontend::json_schema::{SchemaOptions, compile_str};

    use super::*;
    use crate::Limits;
    use crate::program::Program;
    use crate::value::Value;

    /// An item of this schema, and a set of values that it must differ from.
    fn machine(schema: &str, values: &[&str]) -> (ItemMachine, Excluded) {
        let compiled = compile_str(schema, &SchemaOptions::new()).unwrap();
        let program = Arc::new(Program::new(compiled.grammar, Limits::default()).unwrap());
        let mut store = Values::new(program.form.clone());
        let mut excluded = Excluded::NONE;
        for value in values {
            let id = store.id(Value::read(value.as_bytes()).unwrap()).unwrap();
            excluded = store.with(excluded, id);
        }
        let item = Arc::new(Mutex::new(Item::new(Network::new(program).unwrap())));
        (
            ItemMachine::new(item, Arc::new(Mutex::new(store)), 0),
            excluded,
        )
    }

    #[test]
    fn bytes_that_are_said_to_lead_to_one_state_do() {
        let object = r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}"#;
        let cases = [
            (
                "true",
                &[
                    r#""ab""#,
                    r#""aé\n""#,
                    "12",
                    "[1, \"x\"]",
                    r#"{"a": 1, "b": "ab"}"#,
                    "null",
                ][..],
            ),
            (object, &[r#"{"a": 12, "b": "ab"}"#, r#"{"ab": [1]}"#, "{}"]),
            (
                r#"{"type": "string", "minLength": 2}"#,
                &[r#""ab""#, r#""aé""#, r#""\u00e9😀""#],
            ),
            (r#"{"type": "number"}"#, &["1", "1.5", "100", "-2e3"]),
        ];
        let texts = [
            r#" {"a": 12, "b": "ab", "c\n": 1}"#,
            r#"{"ab": [1, "x", {}], "\u0061": 5e3}"#,
            r#"[1, "x", null]"#,
            r#""aé\n😀\u00e9""#,
            " -100.25e2 ",
            "null",
        ];
        let (mut wide, mut compared) = (0, 0);
        for (schema, values) in cases {
            let (mut machine, excluded) = machine(schema, values);
            let exact = machine.start_without(excluded.number()).unwrap();
            let sketch = exact.as_ref().map(|state| machine.sketch(state).unwrap());
            for (start, text) in [exact, sketch.flatten()]
                .into_iter()
                .flatten()
                .flat_map(|start| texts.map(|text| (start.clone(), text)))
            {
                let mut state = Some(start);
                let mut bytes = text.bytes();
                while let Some(from) = state {
                    for byte in 0..=u8::MAX {
                        let (low, high) = machine.equivalent_bytes(&from, byte);
                        assert!(low <= byte && byte <= high);
                        let next = machine.step(&from, byte).ok();
                        // Each byte of a run is compared with its neighbour.
                        if byte < high {
                            let other = machine.step(&from, byte + 1).ok();
                            assert_eq!(next, other, "{schema} {text} {from:?} {byte}");
                        }
                        wide += usize::from(low < high);
                        compared += usize::from(from.pair.1 != Excluded::NONE && low < high);
                    }
                    state = { bytes.next() }.and_then(|byte| machine.step(&from, byte).ok()?);
                }
            }
        }
        assert!(wide > 5_000 && compared > 1_000, "{wide} {compared}");
    }
}
