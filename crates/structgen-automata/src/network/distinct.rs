//! Items that must be none of some values: the machine of one item of an array whose items are distinct.
//!
//! Two networks run side by side over the text of the item: one reads what the item may be, the other every text of the values that it
//! must not be. An item is live as long as the first has a completion that the second has not: since finitely many values have finitely
//! many texts, looking for one ends. Mostly the very next byte tells them apart, and from then on there is nothing to compare.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use structgen_grammar::{
    ArrayShape, Expr, ExprId, GrammarBuilder, NumberSet, ObjectShape, Property, Slot,
    StringContent, StringShape,
};

use super::{Memory, Network, SetId, StepError};
use crate::json::Value;
use crate::program::Program;
use crate::{ByteSet, LimitExceeded, Machine, ProgramError, Span, Uniform};

/// One item, and the values that it must not be.
pub(super) struct ItemMachine {
    item: Arc<Mutex<Network>>,
    excluded: Option<Network>,
    label: u32,
    /// Whether there are more values to compare with than the machine knows of.
    is_partial: bool,
    /// How much a completion costs that is not excluded, where that has been looked for; `None`: there is none.
    known: FxHashMap<Pair, Option<u32>>,
}

/// Where the item stands, and where the excluded values do.
type Pair = (SetId, SetId);

/// A state of an [`ItemMachine`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ItemState {
    pair: Pair,
    /// Whether the item remembers the texts of keys in it.
    is_exact: bool,
    accepts: bool,
    ends: bool,
    cost: u32,
    free_for: Option<u32>,
}

/// The most places that one search for a completion may visit.
const MAX_SEARCH: usize = 50_000;

impl ItemMachine {
    pub(super) fn new(
        item: Arc<Mutex<Network>>,
        excluded: &[Value],
        program: &Program,
        label: u32,
    ) -> Result<Self, LimitExceeded> {
        Ok(Self {
            item,
            excluded: match excluded {
                [] => None,
                values => Some(network_of(values, program)?),
            },
            label,
            is_partial: false,
            known: FxHashMap::default(),
        })
    }

    /// A machine that knows of no values, though there are some: a sketch of an item out of so many that the others do not matter, as long
    /// as it may still become any of them.
    pub(super) fn partial(item: Arc<Mutex<Network>>, label: u32) -> Self {
        Self {
            item,
            excluded: None,
            label,
            is_partial: true,
            known: FxHashMap::default(),
        }
    }

    /// A text that takes few bytes, or `None` where every value is excluded.
    pub(super) fn shortest(&mut self) -> Result<Option<Vec<u8>>, StepError> {
        let Some(mut state) = self.start().map_err(StepError::from)? else {
            return Ok(None);
        };
        let mut text = Vec::new();
        while !(state.accepts && state.cost == 0) {
            let mut next: Option<(u8, ItemState)> = None;
            let mut first = self.first(&state).unwrap_or(ByteSet::ALL);
            while let Some(byte) = first.pop() {
                let Some(behind) = self.step(&state, byte)? else {
                    continue;
                };
                if next
                    .as_ref()
                    .is_none_or(|(_, best)| behind.cost < best.cost)
                {
                    next = Some((byte, behind));
                }
            }
            match next {
                Some((byte, behind)) if behind.cost < state.cost => {
                    text.push(byte);
                    state = behind;
                }
                _ => {
                    return Err(StepError::Limit(LimitExceeded {
                        what: "bytes on the way to a distinct item",
                        limit: text.len() as u64,
                    }));
                }
            }
        }
        Ok(Some(text))
    }

    /// The state of a pair, if it is live.
    fn state(&mut self, pair: Pair, is_exact: bool) -> Result<Option<ItemState>, StepError> {
        let Some(cost) = self.completion(pair)? else {
            return Ok(None);
        };
        let shared = self.item.clone();
        let mut item = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, excluded) = pair;
        let accepts = item.is_accepting(at)? && !self.excludes(excluded)?;
        let ends = accepts && item.is_final(at)?;
        let free_for = match *item.elements(at) {
            [element] => item.free_for(element.frame),
            _ => None,
        };
        if self.is_partial && at != item.start() && free_for.is_none_or(|n| n < 2) {
            return Err(StepError::NeedsExact);
        }
        let free_for = match free_for {
            // One more character sets it apart from any values.
            Some(n) if excluded != SetId::DEAD || self.is_partial => {
                n.checked_sub(1).filter(|&n| n > 0)
            }
            free_for => free_for,
        };
        Ok(Some(ItemState {
            pair,
            is_exact,
            accepts,
            ends,
            cost,
            free_for,
        }))
    }

    fn excludes(&mut self, set: SetId) -> Result<bool, StepError> {
        match &mut self.excluded {
            Some(network) if set != SetId::DEAD => network.is_accepting(set),
            _ => Ok(false),
        }
    }

    fn step_excluded(&mut self, set: SetId, byte: u8) -> Result<SetId, StepError> {
        match &mut self.excluded {
            Some(network) if set != SetId::DEAD => network.step(set, byte, Memory::Exact),
            _ => Ok(SetId::DEAD),
        }
    }

    /// What is known of a pair without a search: `Some(None)` where it has no completion.
    fn known(&mut self, item: &mut Network, pair: Pair) -> Result<Option<Option<u32>>, StepError> {
        let (at, excluded) = pair;
        if at == SetId::DEAD {
            return Ok(Some(None));
        }
        if excluded == SetId::DEAD {
            let cost = item.cost(at).min(u64::from(u32::MAX / 8)) as u32;
            return Ok(Some(Some(cost)));
        }
        if let Some(&known) = self.known.get(&pair) {
            return Ok(Some(known));
        }
        if item.is_accepting(at)? && !self.excludes(excluded)? {
            return Ok(Some(Some(0)));
        }
        Ok(None)
    }

    /// How many bytes a known completion takes that is not excluded, or `None` where there is none.
    ///
    /// Best first, led by what the item alone would cost. What lies on the way to a completion is live with it, each place one byte
    /// dearer than the next, which keeps costs consistent from search to search.
    fn completion(&mut self, pair: Pair) -> Result<Option<u32>, StepError> {
        let shared = self.item.clone();
        let mut item = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known(&mut item, pair)? {
            return Ok(known);
        }
        let mut parents: FxHashMap<Pair, (Pair, u32)> = FxHashMap::default();
        parents.insert(pair, (pair, 0));
        let mut queue = BinaryHeap::from([(Reverse(0_u64), 0_u32, pair)]);
        let mut needs_exact = false;
        while let Some((_, length, from)) = queue.pop() {
            if let Some(known) = self.known(&mut item, from)? {
                let Some(cost) = known else { continue };
                let (mut at, mut cost) = (from, cost);
                while at != pair {
                    (at, cost) = (parents[&at].0, cost.saturating_add(1));
                    self.known.insert(at, Some(cost));
                }
                return Ok(Some(cost));
            }
            let mut first = item.first(from.0);
            while let Some(byte) = first.pop() {
                let next = match item.step(from.0, byte, Memory::Exact) {
                    Ok(SetId::DEAD) => continue,
                    Ok(next) => next,
                    Err(StepError::NeedsExact) => {
                        needs_exact = true;
                        continue;
                    }
                    Err(limit) => return Err(limit),
                };
                let next = (next, self.step_excluded(from.1, byte)?);
                if let Entry::Vacant(entry) = parents.entry(next) {
                    entry.insert((from, length + 1));
                    let cost = item.cost(next.0).saturating_add(u64::from(length) + 1);
                    queue.push((Reverse(cost), length + 1, next));
                }
            }
            if parents.len() > MAX_SEARCH {
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
            .extend(parents.into_keys().map(|dead| (dead, None)));
        Ok(None)
    }
}

impl Machine for ItemMachine {
    type State = ItemState;
    type Error = StepError;

    fn start(&mut self) -> Result<Option<ItemState>, LimitExceeded> {
        let item = self
            .item
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .start();
        let excluded = self.excluded.as_ref().map_or(SetId::DEAD, Network::start);
        self.state((item, excluded), true).map_err(StepError::limit)
    }

    fn step(&mut self, state: &ItemState, byte: u8) -> Result<Option<ItemState>, StepError> {
        let memory = if state.is_exact {
            Memory::Exact
        } else {
            Memory::Sketch
        };
        let item = {
            let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
            item.step(state.pair.0, byte, memory)?
        };
        if item == SetId::DEAD {
            return Ok(None);
        }
        let excluded = self.step_excluded(state.pair.1, byte)?;
        self.state((item, excluded), state.is_exact)
    }

    fn accept(&self, state: &ItemState) -> Option<u32> {
        state.accepts.then_some(self.label)
    }

    fn is_end(&self, state: &ItemState) -> bool {
        state.ends
    }

    fn first(&mut self, state: &ItemState) -> Option<ByteSet> {
        let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
        Some(item.first(state.pair.0))
    }

    fn span(&mut self, state: &ItemState) -> Option<Span> {
        state.free_for.map(Span::free)
    }

    fn uniform(&mut self, state: &ItemState) -> Option<Uniform<ItemState>> {
        if state.is_exact || self.is_partial {
            return None;
        }
        let (set, mut except) = {
            let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
            let [element] = *item.elements(state.pair.0) else {
                return None;
            };
            let (frame, except) = item.uniform(element.frame)?;
            (item.single(frame, element.below).ok()?, except)
        };
        for byte in 0..=u8::MAX {
            if self.step_excluded(state.pair.1, byte).ok()? != SetId::DEAD {
                except.push(byte);
            }
        }
        except.sort_unstable();
        except.dedup();
        let state = self.state((set, SetId::DEAD), false).ok()??;
        Some(Uniform { state, except })
    }

    fn sketch(&mut self, state: &ItemState) -> Result<Option<ItemState>, StepError> {
        let item = {
            let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
            item.sketch(state.pair.0)?
        };
        self.state((item, state.pair.1), false)
    }

    fn cost(&mut self, state: &ItemState) -> u32 {
        state.cost
    }
}

/// The network of all texts of some values.
fn network_of(values: &[Value], program: &Program) -> Result<Network, LimitExceeded> {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("excluded");
    let strings: Box<[Box<str>]> = values
        .iter()
        .filter_map(|value| match value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    let mut arms = Vec::new();
    if !strings.is_empty() {
        arms.push(builder.expr(Expr::String(StringShape {
            content: StringContent::Literals(strings),
            ..StringShape::default()
        })));
    }
    for value in values {
        if !matches!(value, Value::String(_)) {
            arms.push(expr_of(&mut builder, value));
        }
    }
    let body = builder.choice(arms);
    builder.define(root, body);
    let grammar = builder.finish(root, program.form.clone());
    let program = Program::new(grammar, program.limits.clone()).map_err(|error| match error {
        ProgramError::Limit(limit) => limit,
        ProgramError::CaptureInShape { .. } | ProgramError::Unsatisfiable { .. } => LimitExceeded {
            what: "values without a text",
            limit: 0,
        },
    })?;
    Network::new(Arc::new(program))
}

fn expr_of(builder: &mut GrammarBuilder, value: &Value) -> ExprId {
    match value {
        Value::Null => builder.bytes("null"),
        Value::Bool(true) => builder.bytes("true"),
        Value::Bool(false) => builder.bytes("false"),
        Value::Number(number) => builder.expr(Expr::Number(NumberSet::point(number.clone()))),
        Value::String(text) => builder.expr(Expr::String(StringShape {
            content: StringContent::Literals([text.clone()].into()),
            ..StringShape::default()
        })),
        Value::Array(items) => {
            let count = items.len() as u32;
            let prefix = items.iter().map(|item| Slot::of(expr_of(builder, item)));
            let prefix: Vec<Slot> = prefix.collect();
            builder.expr(Expr::Array(Box::new(ArrayShape {
                prefix,
                min_items: count,
                max_items: Some(count),
                ..ArrayShape::default()
            })))
        }
        Value::Object(members) => {
            let properties = members.iter().map(|(key, value)| Property {
                key: key.clone(),
                value: Slot::of(expr_of(builder, value)),
                required: true,
                ..Property::default()
            });
            let properties: Vec<Property> = properties.collect();
            builder.expr(Expr::Object(Box::new(ObjectShape {
                properties,
                ..ObjectShape::default()
            })))
        }
    }
}
