//! The keys that may come next in an object.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::{listed_first, listed_run};
use super::text_sets::{TextSet, TextSets};
use super::utf8::Utf8;
use crate::bytes::{LONGEST_ESCAPE, common_run, escaped_byte, plain_letters};
use crate::listing::{AllowedKeys, Beginning, ListedTexts, Listing, narrow};
use crate::machine::MAX_COST;
use crate::{ByteSet, LimitExceeded, Machine};
use structgen_regular::{Lookahead, RegularMachine, RegularState};

/// The keys that may come next in an object.
pub(crate) struct KeyContent {
    /// The declared keys, sorted.
    pub(crate) keys: ListedTexts,
    /// The label of each key.
    pub(crate) labels: Arc<[u32]>,
    /// The declared keys that may come next.
    pub(crate) allowed: AllowedKeys,
    /// The classes of undeclared keys that may come next.
    pub(crate) classes: Vec<ClassContent>,
    /// Whether every text is in one of the classes.
    pub(crate) covers: bool,
    /// The sets of undeclared keys that objects have so far. The state of a key has the one that it must not be in.
    pub(crate) sets: Arc<TextSets>,
    /// The work of the classes' machines for these keys so far.
    pub(crate) work: Cell<u64>,
}

/// A class of keys that may come next.
pub(crate) struct ClassContent {
    pub(crate) label: u32,
    /// The machine of its keys, and whether its known completions need no escape; `None` if every text is a key.
    pub(crate) machine: Option<(ClassMachine, bool)>,
    /// The cost of a key beyond its bytes.
    pub(crate) weight: u32,
}

/// The automaton of a class of keys, shared by all states of an object.
#[derive(Clone, Debug)]
pub(crate) struct ClassMachine(Arc<Mutex<RegularMachine>>);

impl ClassMachine {
    pub(crate) fn new(machine: RegularMachine) -> Self {
        Self(Arc::new(Mutex::new(machine)))
    }

    fn lock(&self) -> MutexGuard<'_, RegularMachine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A locked machine whose work is added to that of its user.
struct Counted<'m> {
    machine: MutexGuard<'m, RegularMachine>,
    before: u64,
    work: &'m Cell<u64>,
}

impl Deref for Counted<'_> {
    type Target = RegularMachine;

    fn deref(&self) -> &RegularMachine {
        &self.machine
    }
}

impl DerefMut for Counted<'_> {
    fn deref_mut(&mut self) -> &mut RegularMachine {
        &mut self.machine
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let own = self.machine.work() - self.before;
        self.work.set(self.work.get() + own);
    }
}

/// A state within a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyState {
    /// The listed keys `low..high` begin with the text so far, which is `depth` bytes long; all zero if none does.
    low: u32,
    high: u32,
    depth: u32,
    /// The rests of the seen keys that begin with the text.
    seen: TextSet,
    pub(crate) utf8: Utf8,
    /// The states of the classes that have a machine.
    classes: Box<[Option<RegularState>]>,
}

/// The label of keys of the first class; each further class has the next lower one.
pub(crate) const OTHER_KEY: u32 = u32::MAX - 1;

/// More keys than these are not checked one by one for those that may come next.
const MANY_KEYS: u32 = 256;

/// The maximum number of classes of keys: labels below these are properties.
const MAX_CLASSES: u32 = 1 << 16;

/// Returns the label of the keys of a class.
pub(crate) fn label_of_class(class: usize) -> u32 {
    OTHER_KEY - (class as u32).min(MAX_CLASSES)
}

/// Returns the class whose keys have the label; `None` for the label of a property.
pub(crate) fn class_of(label: u32) -> Option<usize> {
    (label >= OTHER_KEY - MAX_CLASSES).then(|| (OTHER_KEY - label) as usize)
}

impl KeyContent {
    /// Returns the cost of a declared key beyond its bytes, by index; `None` if it may not come.
    fn allowed(&self, key: usize) -> Option<u32> {
        self.allowed.weight(key, self.labels[key])
    }

    /// Returns whether only declared keys may come.
    pub(super) fn is_listed(&self) -> bool {
        !self.covers && self.classes.is_empty()
    }

    /// Returns the declared keys with which a key may go on, if no others may.
    pub(super) fn listing(&self, state: &KeyState) -> Option<Listing> {
        self.is_listed().then(|| Listing {
            texts: self.keys.clone(),
            keys: Some((self.labels.clone(), self.allowed.clone())),
            start: Beginning {
                low: state.low,
                high: state.high,
                depth: state.depth,
            },
        })
    }

    /// Returns the state before a key, given the undeclared keys that were seen.
    pub(super) fn start(&mut self, seen: TextSet) -> Result<Option<KeyState>, LimitExceeded> {
        let mut classes = Vec::new();
        for machine in self.machines() {
            classes.push(self.counted(machine).start()?);
        }
        self.if_live(KeyState {
            low: 0,
            high: self.keys.len() as u32,
            depth: 0,
            seen,
            utf8: Utf8::Boundary,
            classes: classes.into(),
        })
    }

    pub(super) fn step(
        &mut self,
        state: &KeyState,
        byte: u8,
    ) -> Result<Option<KeyState>, LimitExceeded> {
        let Some(utf8) = state.utf8.step(byte) else {
            return Ok(None);
        };
        let listed = (state.low < state.high)
            .then(|| narrow(&self.keys, (state.low, state.high), state.depth, byte))
            .flatten();
        let (low, high, depth) = match listed {
            Some((low, high)) => (low, high, state.depth + 1),
            None => (0, 0, 0),
        };
        let mut classes = state.classes.clone();
        for (i, machine) in self.machines().enumerate() {
            if let Some(from) = classes[i] {
                classes[i] = self.counted(machine).step(&from, byte)?;
            }
        }
        self.if_live(KeyState {
            low,
            high,
            depth,
            seen: self.sets.after(state.seen, byte),
            utf8,
            classes,
        })
    }

    pub(super) fn work(&self) -> u64 {
        self.work.get()
    }

    fn machines(&self) -> impl Iterator<Item = &ClassMachine> {
        let machines = { self.classes.iter() }.filter_map(|class| class.machine.as_ref());
        machines.map(|(machine, _)| machine)
    }

    /// Returns the classes that are left, with their machines locked one after the other.
    fn left<'s>(
        &'s self,
        state: &'s KeyState,
    ) -> impl Iterator<Item = (Counted<'s>, &'s RegularState)> {
        let machines = self.machines().zip(&state.classes);
        machines
            .filter_map(|(machine, state)| Some((state.as_ref()?, machine)))
            .map(|(state, machine)| (self.counted(machine), state))
    }

    /// Locks a machine whose work is to be counted.
    fn counted<'m>(&'m self, machine: &'m ClassMachine) -> Counted<'m> {
        let machine = machine.lock();
        Counted {
            before: machine.work(),
            machine,
            work: &self.work,
        }
    }

    /// Returns whether any text is a key, at any state within it.
    fn is_open(&self) -> bool {
        self.covers || self.classes.iter().any(|class| class.machine.is_none())
    }

    fn if_live(&self, mut state: KeyState) -> Result<Option<KeyState>, LimitExceeded> {
        // A class without keys left is dropped, so that states that differ in nothing else are equal.
        for i in 0..state.classes.len() {
            if let Some(class) = &state.classes[i]
                && !self.has_more(i, class, &state)?
            {
                state.classes[i] = None;
            }
        }
        let listed = (state.low..state.high).any(|key| self.allowed(key as usize).is_some());
        let live = listed || self.is_open() || state.classes.iter().any(Option::is_some);
        Ok(live.then_some(state))
    }

    /// Returns whether a class has a completion of the text that is neither listed nor seen.
    fn has_more(
        &self,
        index: usize,
        class: &RegularState,
        state: &KeyState,
    ) -> Result<bool, LimitExceeded> {
        let listed = &self.keys[state.low as usize..state.high as usize];
        let depth = state.depth as usize;
        let Some(machine) = self.machines().nth(index) else {
            return Ok(false);
        };
        let mut machine = self.counted(machine);
        let enough = listed.len() as u32 + self.sets.len(state.seen) + 1;
        let count = machine.count(class, enough)?;
        if count >= enough {
            return Ok(true);
        }
        let mut members = 0;
        for key in listed {
            let state = machine.run(class, &key.as_bytes()[depth..])?;
            members += u32::from(state.is_some_and(|state| machine.is_accepting(&state)));
        }
        // All seen keys are in some class; those of this class are the ones that it accepts.
        let mut left = vec![(*class, state.seen)];
        while let Some((class, seen)) = left.pop() {
            let ends = self.sets.has_end(seen) && machine.accept(&class).is_some();
            members += u32::from(ends);
            for &(byte, next) in self.sets.next(seen) {
                left.extend(machine.step(&class, byte)?.map(|class| (class, next)));
            }
        }
        Ok(count > members)
    }

    pub(super) fn accept(&self, state: &KeyState) -> Option<u32> {
        if state.utf8 != Utf8::Boundary {
            return None;
        }
        if let Some(key) = self.listed(state) {
            return self.allowed(key).map(|_| self.labels[key]);
        }
        if self.sets.has_end(state.seen) {
            return None;
        }
        let mut states = state.classes.iter();
        self.classes.iter().find_map(|class| {
            let accepted = match &class.machine {
                Some((machine, _)) => {
                    let state = states.next().and_then(Option::as_ref);
                    state.is_some_and(|state| machine.lock().accept(state).is_some())
                }
                None => true,
            };
            accepted.then_some(class.label)
        })
    }

    /// Returns the listed key that equals the text.
    fn listed(&self, state: &KeyState) -> Option<usize> {
        let key = state.low as usize;
        let is_key = state.low < state.high && self.keys[key].len() == state.depth as usize;
        is_key.then_some(key)
    }

    /// Returns the cost of a key with this label beyond its bytes.
    pub(super) fn weight(&self, label: u32) -> u32 {
        if let Some(class) = self.classes.iter().find(|class| class.label == label) {
            return class.weight;
        }
        let place = self.labels.iter().position(|&other| other == label);
        place
            .and_then(|place| self.allowed(place))
            .unwrap_or(MAX_COST)
    }

    pub(super) fn cost(&mut self, state: &KeyState) -> u32 {
        let depth = state.depth as usize;
        let mut best = u32::MAX;
        for key in state.low..state.high {
            if let Some(weight) = self.allowed(key as usize) {
                let rest = self.keys.escaped_from(key as usize, depth);
                best = best.min(rest.saturating_add(weight));
            }
        }
        let mut machine_states = state.classes.iter();
        for i in 0..self.classes.len() {
            let weight = self.classes[i].weight;
            let rest = match &self.classes[i].machine {
                None => self.open_cost(state),
                Some(_) => match machine_states.next().and_then(Option::as_ref) {
                    Some(class) => self.class_cost(i, class, state),
                    None => continue,
                },
            };
            best = best.min(rest.saturating_add(weight));
        }
        best
    }

    /// Returns whether the text may continue to a listed or seen key.
    fn may_be_known(&self, state: &KeyState) -> bool {
        state.low < state.high || state.seen != TextSet::NONE
    }

    /// Returns the length of the shortest text without escapes that continues from the state to a key that is neither
    /// listed nor seen. Levels of the search are few: it goes on only where every byte continues a known key.
    fn open_cost(&self, state: &KeyState) -> u32 {
        let mut utf8 = state.utf8;
        let mut level = vec![(state.low, state.high, state.depth, state.seen)];
        let mut length = 0;
        loop {
            let is_taken = |&(low, high, depth, seen): &(u32, u32, u32, TextSet)| {
                let is_listed = low < high && self.keys[low as usize].len() == depth as usize;
                is_listed || self.sets.has_end(seen)
            };
            if utf8 == Utf8::Boundary && !level.iter().all(is_taken) {
                return length;
            }
            // All of a level are equally far from the end of a character.
            let bytes: Vec<u8> = match utf8 {
                Utf8::Boundary => plain_letters().collect(),
                _ => { 0x80..=0xBF }
                    .filter(|&byte| utf8.step(byte).is_some())
                    .collect(),
            };
            let Some(after) = bytes.first().and_then(|&byte| utf8.step(byte)) else {
                return u32::MAX;
            };
            length += 1;
            let mut next = Vec::new();
            for &(low, high, depth, seen) in &level {
                if ((high - low) as usize) + self.sets.next(seen).len() < bytes.len() {
                    return length + after.missing();
                }
                for &byte in &bytes {
                    let seen = self.sets.after(seen, byte);
                    match narrow(&self.keys, (low, high), depth, byte) {
                        Some((low, high)) => next.push((low, high, depth + 1, seen)),
                        None if seen != TextSet::NONE => next.push((0, 0, 0, seen)),
                        None => return length + after.missing(),
                    }
                }
            }
            (level, utf8) = (next, after);
        }
    }

    /// Returns a bound on the least bytes, in JSON, of a key of a class that continues from the state and is neither
    /// listed nor seen. The search goes along listed and seen keys, since whatever leaves them is free.
    fn class_cost(&self, index: usize, class: &RegularState, state: &KeyState) -> u32 {
        let keys = &self.keys;
        let Some((machine, plain)) = &self.classes[index].machine else {
            return u32::MAX;
        };
        let mut machine = self.counted(machine);
        let bytes_per_byte = if *plain { 1 } else { LONGEST_ESCAPE };
        let mut best = u32::MAX;
        // What is to be continued, by the bytes that lead there.
        let mut levels = BTreeMap::new();
        let start = (*class, state.low, state.high, state.depth, state.seen);
        levels.insert(0, vec![start]);
        while let Some((here, level)) = levels.pop_first()
            && here < best
        {
            for (at, low, high, depth, seen) in level {
                let is_listed = low < high && keys[low as usize].len() == depth as usize;
                if machine.accept(&at).is_some() && !is_listed && !self.sets.has_end(seen) {
                    best = best.min(here);
                    continue;
                }
                if low == high && seen == TextSet::NONE {
                    let rest = machine.cost(&at).saturating_mul(bytes_per_byte);
                    best = best.min(here.saturating_add(rest));
                    continue;
                }
                for byte in 0..=u8::MAX {
                    let Ok(Some(behind)) = machine.step(&at, byte) else {
                        continue;
                    };
                    let after = escaped_byte(byte).saturating_add(here);
                    let seen = self.sets.after(seen, byte);
                    let listed = (low < high).then(|| narrow(keys, (low, high), depth, byte));
                    let next = match listed.flatten() {
                        Some((low, high)) => (behind, low, high, depth + 1, seen),
                        None if seen != TextSet::NONE => (behind, 0, 0, 0, seen),
                        None => {
                            let rest = machine.cost(&behind).saturating_mul(bytes_per_byte);
                            best = best.min(after.saturating_add(rest));
                            continue;
                        }
                    };
                    levels.entry(after).or_default().push(next);
                }
            }
        }
        best
    }

    /// Returns whether there are counters that no short token exhausts, see [`Machine::has_long_counters`].
    pub(super) fn has_long_counters(&self) -> bool {
        let mut machines = self.machines();
        machines.any(|machine| machine.lock().has_long_counters())
    }

    /// Returns a state that accepts the same short texts, see [`Machine::abstract_counters`]. If known keys may be in a
    /// class, the number of its keys matters.
    pub(super) fn abstract_counters(&self, state: &KeyState, reach: Lookahead) -> Option<KeyState> {
        if self.may_be_known(state) {
            return None;
        }
        let mut abstracted = state.clone();
        for (machine, state) in self.machines().zip(&mut abstracted.classes) {
            if let Some(state) = state {
                let abstracted = self.counted(machine).abstract_counters(state, reach);
                *state = abstracted.unwrap_or(*state);
            }
        }
        (abstracted != *state).then_some(abstracted)
    }

    /// Returns a superset of the bytes that may come next, see [`Machine::first`].
    pub(super) fn first(&self, state: &KeyState) -> Option<ByteSet> {
        if self.is_open() {
            Some(ByteSet::PRINTABLE)
        } else {
            self.listed_first(state)
        }
    }

    /// Returns a superset of the bytes that may come next if only declared keys may.
    pub(super) fn listed_first(&self, state: &KeyState) -> Option<ByteSet> {
        if self.is_open() || state.classes.iter().any(Option::is_some) {
            return None;
        }
        let range = (state.low, state.high);
        if state.high - state.low > MANY_KEYS {
            return Some(listed_first(&self.keys, range, state.depth));
        }
        let keys = (state.low..state.high).map(|key| key as usize);
        let allowed = keys.filter(|&key| self.allowed(key).is_some());
        let mut first = ByteSet::default();
        for key in allowed {
            if let Some(&byte) = self.keys[key].as_bytes().get(state.depth as usize) {
                first.insert(byte);
            }
        }
        Some(first)
    }

    /// Returns whether keys of a class with a machine may follow.
    pub(super) fn has_classes(&self, state: &KeyState) -> bool {
        state.utf8 == Utf8::Boundary && state.classes.iter().any(Option::is_some)
    }

    /// Returns the bytes around this one that lead to the same state, see [`Machine::equivalent_bytes`].
    pub(super) fn equivalent_bytes(&mut self, state: &KeyState, byte: u8) -> (u8, u8) {
        let listed = listed_run(&self.keys, (state.low, state.high), state.depth, byte);
        let mut run = common_run(listed, self.sets.run(state.seen, byte));
        for (mut machine, state) in self.left(state) {
            run = common_run(run, machine.equivalent_bytes(state, byte));
        }
        run
    }

    /// Returns whether some character may follow, as far as the structure shows.
    pub(super) fn goes_on(&self, state: &KeyState) -> bool {
        let is_longer = |key: &u32| {
            let key = *key as usize;
            self.allowed(key).is_some() && self.keys[key].len() > state.depth as usize
        };
        state.utf8 == Utf8::Boundary
            && (self.is_open() || (state.low..state.high).any(|key| is_longer(&key)))
    }

    /// Returns whether any text continues to a key that is not listed.
    pub(super) fn is_free(&self, state: &KeyState) -> bool {
        let mut left = self.left(state);
        state.utf8 == Utf8::Boundary
            && (self.is_open() || left.any(|(mut machine, class)| machine.is_universal(class)))
    }

    /// Returns the state after any text that does not begin with one of these bytes; a quote stands for the empty text.
    pub(super) fn uniform(&self, state: &KeyState) -> Option<(KeyState, Vec<u8>)> {
        // The classes must be decided: by one that accepts any text from here on, or by there being no others.
        let mut left = self.left(state);
        let is_decided = left.all(|(machine, class)| machine.is_everything(class));
        if !self.is_free(state) || !is_decided {
            return None;
        }
        let next = |key: &str| key.as_bytes().get(state.depth as usize).copied();
        let listed = &self.keys[state.low as usize..state.high as usize];
        let mut except: Vec<u8> = listed.iter().filter_map(|key| next(key)).collect();
        except.extend(self.sets.next(state.seen).iter().map(|&(byte, _)| byte));
        except.sort_unstable();
        except.dedup();
        // Among first bytes, it would stand for the empty text.
        if except.contains(&b'"') {
            return None;
        }
        let unlisted = KeyState {
            low: 0,
            high: 0,
            depth: 0,
            seen: TextSet::NONE,
            ..state.clone()
        };
        if self.accept(state) != self.accept(&unlisted) {
            except.push(b'"');
        }
        Some((unlisted, except))
    }
}
