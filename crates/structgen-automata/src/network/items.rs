//! Arrays: which items may come next, and what registers remember.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::register::ArrayRegister;
use super::sets::{LOST, NOT_BEGUN, Place};
use super::values::Excluded;
use super::written::CostClass;
use super::{Call, Element, Frame, SetId, StepError};
use crate::LimitExceeded;
use crate::json::{KeyContent, Punctuation};
use crate::listing::AllowedKeys;
use crate::program::{Alternative, ArrayProgram, Counts, Program};
use crate::value::Value;

/// The number of items for which the way to the end of an array is kept.
const KEPT_AHEAD: usize = 256;

impl Call<'_> {
    pub(super) fn open_array(
        &self,
        array: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let shape = &self.program.arrays[array as usize];
        let data = if shape.remembers() {
            let counts = shape.no_counts();
            self.registers.add_array(ArrayRegister {
                counts,
                ..ArrayRegister::default()
            })
        } else {
            0
        };
        let (more_allowed, close_allowed) = self.items_go_on(array, data, below)?;
        let open = Punctuation::Open {
            open: b'[',
            close: b']',
            more_allowed,
            close_allowed,
        };
        let terminal = self
            .terminals
            .punctuation(open, self.sets.depth(below) + 1)?;
        Ok(Some(Element {
            frame: self.reading(Place::ArrayOpen(array), terminal, data, 0),
            below,
        }))
    }

    pub(super) fn after_item(
        &self,
        array: u32,
        data: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let (more_allowed, close_allowed) = self.items_go_on(array, data, below)?;
        let after = Punctuation::After {
            close: b']',
            more_allowed,
            close_allowed,
        };
        let terminal = self
            .terminals
            .punctuation(after, self.sets.depth(below) + 1)?;
        Ok(Some(Element {
            frame: self.reading(Place::ArrayAfter(array), terminal, data, 0),
            below,
        }))
    }

    /// Returns whether another item may come, and whether the array may end.
    fn items_go_on(&self, array: u32, data: u32, below: SetId) -> Result<(bool, bool), StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        self.look_at(shape.prefix.iter().chain(&shape.rest))?;
        if !shape.remembers() {
            return Ok((self.item_allowed(array, data, below), data >= shape.min));
        }
        let counts = self.registers.array(data).counts.clone();
        let close_allowed = shape.bounds().are_met(&counts);
        let depth = self.sets.depth(below) + 1;
        let more_allowed =
            if shape.is_plainly_distinct() && self.items_have_many_values(shape, depth) {
                shape.max.is_none_or(|max| counts.members < max) && self.item_fits(shape, below)
            } else {
                self.has_next_item(array, data, below)?
            };
        Ok((more_allowed, close_allowed))
    }

    /// Returns whether another item may come. Nothing is entered if that is known without, since items may be arrays
    /// like this one.
    fn has_next_item(&self, array: u32, data: u32, below: SetId) -> Result<bool, StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let register = self.registers.array(data).clone();
        if shape.unique && (register.unknown || register.values != Excluded::NONE) {
            return Ok(!self.next_items(array, data, below)?.is_empty());
        }
        let depth = self.sets.depth(below) + 1;
        for alternative in shape.slot(register.counts.members).into_iter().flatten() {
            let fits = self.fits(alternative.node, depth);
            let counts = shape.add(&register.counts, alternative.tallies);
            let Some(counts) = counts.filter(|_| fits) else {
                continue;
            };
            let is_possible = if shape.unique {
                self.distinct_left(shape, &counts, register.values, alternative, depth)?
                    .is_some()
            } else {
                self.items_left(array, &counts, depth, self.class())?
                    .is_some()
            };
            if is_possible {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether an item may follow `count` others, in an array that remembers only their number.
    pub(super) fn item_allowed(&self, array: u32, count: u32, below: SetId) -> bool {
        let shape = &self.program.arrays[array as usize];
        let depth = self.sets.depth(below) + 1;
        let fits = |alternative: &Alternative| self.can_begin(alternative.node, depth);
        shape.max.is_none_or(|max| count < max)
            && shape.slot(count).is_some_and(|slot| slot.iter().any(fits))
    }

    /// Returns the elements that read the next item.
    pub(super) fn next_items(
        &self,
        array: u32,
        data: u32,
        below: SetId,
    ) -> Result<Vec<Element>, StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let depth = self.sets.depth(below) + 1;
        let mut found = Vec::new();
        if !shape.remembers() {
            let waiting = Place::ArrayAfter(array);
            let below = self.waiting(waiting, shape.counted(data), 0, below)?;
            for alternative in shape.slot(data).into_iter().flatten() {
                self.enter_into(alternative.node, below, true, &mut found)?;
            }
            return Ok(found);
        }
        let register = self.registers.array(data).clone();
        if let Some((texts, _)) = listed_items(&program, shape) {
            let terminal = self.listed_terminal(texts, register.values)?;
            let is_full = shape.max.is_some_and(|max| register.counts.members >= max);
            return Ok(terminal
                .filter(|_| !is_full && self.item_fits(shape, below))
                .map(|terminal| Element {
                    frame: self.reading(Place::ArrayItem(array), terminal, data, LOST),
                    below,
                })
                .into_iter()
                .collect());
        }
        if register.unknown {
            if !shape.is_plainly_distinct() || !self.items_have_many_values(shape, depth) {
                return Err(StepError::NeedsExact);
            }
            let slot = shape.rest.iter().flatten();
            for alternative in slot.filter(|it| self.fits(it.node, depth)) {
                let terminal = self.partial_terminal(alternative.node, depth)?;
                found.push(Element {
                    frame: self.reading(Place::ArrayItem(array), terminal, data, NOT_BEGUN),
                    below,
                });
            }
            return Ok(found);
        }
        let slot = shape.slot(register.counts.members);
        for (i, alternative) in slot.into_iter().flatten().enumerate() {
            if !self.fits(alternative.node, depth) {
                continue;
            }
            let Some(counts) = shape.add(&register.counts, alternative.tallies) else {
                continue;
            };
            if shape.unique {
                let left =
                    self.distinct_left(shape, &counts, register.values, alternative, depth)?;
                let Some((_, excluded)) = left else {
                    continue;
                };
                let terminal = self.item_terminal(alternative.node, depth, excluded, i as u32)?;
                let Some((terminal, state)) = terminal else {
                    continue;
                };
                let frame = Frame {
                    state,
                    ..self.reading(Place::ArrayItem(array), terminal, data, NOT_BEGUN)
                };
                found.push(Element { frame, below });
            } else if self
                .items_left(array, &counts, depth, self.class())?
                .is_some()
            {
                let register = self.registers.add_array(ArrayRegister {
                    counts,
                    ..ArrayRegister::default()
                });
                let below = self.waiting(Place::ArrayAfter(array), register, 0, below)?;
                self.enter_into(alternative.node, below, true, &mut found)?;
            }
        }
        Ok(found)
    }

    fn item_fits(&self, shape: &ArrayProgram, below: SetId) -> bool {
        let depth = self.sets.depth(below) + 1;
        let slot = shape.rest.iter().flatten();
        slot.into_iter()
            .any(|alternative| self.fits(alternative.node, depth))
    }

    /// Returns the cost of the items that an array with tallies still needs, each with its comma; `None` if it cannot
    /// be completed.
    pub(super) fn items_left(
        &self,
        array: u32,
        counts: &Counts,
        depth: u32,
        class: CostClass,
    ) -> Result<Option<u64>, LimitExceeded> {
        let place = |counts: &Counts| (array, self.near(depth), class, counts.clone());
        if let Some(&known) = self.items_left.get(&place(counts)) {
            return Ok(known);
        }
        let measures = self.measures_at(class, depth);
        let cost = |node| self.fits(node, depth).then(|| measures.cost(node));
        let shape = &self.program.arrays[array as usize];
        let way = shape.way_to_end(counts, cost, self.plan_meter())?;
        let insert = |counts: &Counts, cost| {
            if self.items_left.get(&place(counts)).is_none() {
                let owned = size_of_val(&*counts.tallies);
                self.owned_bytes.fetch_add(owned, Ordering::Relaxed);
                self.items_left.insert(place(counts), cost);
            }
        };
        let Some(way) = way else {
            insert(counts, None);
            return Ok(None);
        };
        // The next items are probably those on the way. If not, its rest would be kept in vain.
        let first = way.iter().take(KEPT_AHEAD);
        first.for_each(|(counts, cost)| insert(counts, Some(*cost)));
        Ok(way.first().map(|&(_, cost)| cost))
    }

    /// Returns the register after an item whose label or text matters.
    pub(super) fn take_item(&self, array: u32, frame: Frame, label: u32) -> Result<u32, StepError> {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let mut register = self.registers.array(frame.data).clone();
        if let Some((texts, alternative)) = listed_items(&program, shape) {
            // The label is the index of the text.
            if let Some(counts) = shape.add(&register.counts, alternative.tallies) {
                register.counts = counts;
            }
            let text = texts[label as usize].clone();
            register.values = self.with_value(register.values, Value::String(text))?;
            return Ok(self.registers.add_array(register));
        }
        let slot = shape.slot(register.counts.members);
        let tallies = slot
            .and_then(|slot| slot.get(label as usize))
            .map_or(0, |it| it.tallies);
        if let Some(counts) = shape.add(&register.counts, tallies) {
            register.counts = counts;
        }
        if frame.extra == LOST {
            register.unknown = true;
        } else {
            let value = Value::read(&self.registers.text(frame.extra))?;
            register.values = self.with_value(register.values, value)?;
        }
        Ok(self.registers.add_array(register))
    }

    fn with_value(&self, values: Excluded, value: Value) -> Result<Excluded, LimitExceeded> {
        let mut store = self.values();
        let value = store.id(value)?;
        Ok(store.with(values, value))
    }

    /// Returns the terminal of an item from a list, without the values already present; `None` if none is left.
    fn listed_terminal(
        &self,
        texts: &[Box<str>],
        values: Excluded,
    ) -> Result<Option<u32>, StepError> {
        let key = (texts.as_ptr().addr(), values);
        if let Some(known) = self.terminals.known_listed(&key) {
            return Ok(known);
        }
        let (keys, labels) = self.terminals.list(texts);
        let store = self.values();
        let is_there = |text: &str| store.has(values, &Value::String(text.into()));
        let weights = texts.iter().map(|text| (!is_there(text)).then_some(0));
        let content = KeyContent {
            keys,
            labels,
            allowed: AllowedKeys::with_weight(weights.collect()),
            classes: Vec::new(),
            covers: false,
            sets: self.registers.keys.clone(),
            work: Cell::default(),
        };
        drop(store);
        Ok(self.terminals.add_listed(key, content)?)
    }
}

impl ArrayProgram {
    /// Returns whether its items are distinct and nothing else is remembered of them, so that any item may come at any
    /// index.
    pub(super) fn is_plainly_distinct(&self) -> bool {
        self.unique && self.prefix.is_empty() && self.tallies.is_empty()
    }
}

impl Program {
    /// Returns whether the items of each array of distinct items are alike, so that the value of an item matters to
    /// others only as one that they must differ from.
    pub(super) fn has_alike_items(&self) -> bool {
        let mut distinct = self.arrays.iter().filter(|array| array.unique);
        distinct.all(ArrayProgram::is_plainly_distinct)
    }
}

/// Returns the list that the items of an array come from, if they are distinct and nothing else is remembered.
fn listed_items<'p>(
    program: &'p Program,
    shape: &'p ArrayProgram,
) -> Option<(&'p [Box<str>], &'p Alternative)> {
    let [alternative] = shape.rest.as_deref()? else {
        return None;
    };
    let texts = program
        .listed(alternative.node)
        .filter(|_| shape.is_plainly_distinct())?;
    Some((texts, alternative))
}
