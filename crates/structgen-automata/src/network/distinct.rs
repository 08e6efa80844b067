//! The machine of an item that must differ from some values, for arrays with distinct items.
//!
//! Two automata run side by side over the text of the item: a network of what the item may be, and the texts of the
//! excluded values ([`Values`]). An item is live as long as the network has a completion that is not a text of these
//! values. Since finitely many values have finitely many texts, the search for one ends. Usually the next byte already
//! differs; from then on nothing is compared, and the state does not depend on the other items. So one machine reads
//! all items of a kind, from a start state for each set of values.

mod search;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use self::search::Item;
use self::search::Pair;
use super::values::{Excluded, Values};
use super::{Memory, SetId, StepError};
use crate::machine::MAX_COST;
use crate::{
    AfterEnd, ByteSet, Children, Continuations, Ends, LimitExceeded, Machine, Span, Uniform,
};

/// An item and the values that it must differ from.
pub(super) struct ItemMachine {
    item: Arc<Mutex<Item>>,
    values: Arc<Mutex<Values>>,
    label: u32,
    /// Whether there are more values to compare with than the machine knows.
    is_partial: bool,
}

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
    use crate::network::Network;
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
