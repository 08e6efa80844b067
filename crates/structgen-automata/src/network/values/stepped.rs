//! Sets of values as trees by the digits of their numbers, each value with its own position in its own texts.
//!
//! They are for values whose texts do not share an order of parts: the keys of objects may come in any. Such a set
//! takes one step for each value.

use rustc_hash::FxHashMap;
use structgen_grammar::JsonForm;

use super::{StepError, ValueId};
use crate::interned::Interned;
use crate::value::{Value, ValueText};
use crate::{ByteSet, LimitExceeded};

/// Some values, each with a position in its own text; values with another text so far are dropped. Equal ones have
/// equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SteppedSet(u32);

impl SteppedSet {
    /// No values.
    pub(super) const NONE: Self = Self(NOTHING);
}

/// The trees, whose equal parts are stored once: adding a value or reading a byte creates few new parts, however many
/// values there are.
#[derive(Debug)]
pub(super) struct SteppedSets {
    form: JsonForm,
    /// What reads the texts of a value, created on demand.
    texts: FxHashMap<u32, Box<ValueText>>,
    parts: Interned<Part>,
    /// Steps of parts of the level [`KEPT`].
    steps: FxHashMap<(u32, u8), u32>,
    /// The bytes that may come next, of parts of this level.
    firsts: FxHashMap<u32, ByteSet>,
    /// The number of bytes that parts own.
    bytes: usize,
}

/// A set of values whose numbers have the same first digits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Part {
    /// Their common digits, and how many digits follow the next one.
    prefix: u32,
    level: u32,
    /// By the next digit a smaller part or, if it is the last digit, the state of the value's text.
    entries: Box<[(u8, u32)]>,
    /// Whether a text of one of the values ends here, which follows from the rest.
    is_text: bool,
}

/// The number of bits of a digit.
const DIGIT: u32 = 4;

/// The number of digits of a number.
const DIGITS: u32 = 5;

/// The maximum number of values.
pub(super) const MAX_VALUES: u32 = 1 << (DIGIT * DIGITS);

/// Steps are cached for parts of this level, which have up to 16 values; larger parts are few.
const KEPT: u32 = 0;

/// The maximum number of cached steps.
const MAX_STEPS: usize = 1 << 16;

/// The maximum number of parts whose next bytes are cached.
const MAX_FIRSTS: usize = 1 << 14;

/// The part without values.
const NOTHING: u32 = 0;

impl SteppedSets {
    pub(super) fn new(form: JsonForm) -> Self {
        let mut parts = Interned::default();
        parts.id(Part {
            level: DIGITS,
            prefix: 0,
            entries: [].into(),
            is_text: false,
        });
        Self {
            form,
            texts: FxHashMap::default(),
            parts,
            steps: FxHashMap::default(),
            firsts: FxHashMap::default(),
            bytes: 0,
        }
    }

    /// Returns the values with one more, of which nothing was read.
    pub(super) fn with(&mut self, set: SteppedSet, value: ValueId) -> SteppedSet {
        const { assert!(ValueText::DEAD == NOTHING) };
        SteppedSet(self.put(set.0, DIGITS - 1, value))
    }

    fn put(&mut self, part: u32, level: u32, value: ValueId) -> u32 {
        let digit = digit(value.0, level);
        let entries = &self.parts.get(part).entries;
        let at = entries.binary_search_by_key(&digit, |&(digit, _)| digit);
        let below = at.map_or(NOTHING, |at| entries[at].1);
        let mut entries = entries.to_vec();
        let entry = match level {
            0 => ValueText::START,
            _ => self.put(below, level - 1, value),
        };
        match at {
            Ok(at) => entries[at].1 = entry,
            Err(at) => entries.insert(at, (digit, entry)),
        }
        let prefix = value.0 >> ((level + 1) * DIGIT);
        self.part(level, prefix, entries)
    }

    fn part(&mut self, level: u32, prefix: u32, entries: Vec<(u8, u32)>) -> u32 {
        if entries.is_empty() {
            return NOTHING;
        }
        let ends = |&(digit, at): &(u8, u32)| match level {
            0 => {
                let value = prefix << DIGIT | u32::from(digit);
                // A value that was never read has no text yet, and no value has the empty text.
                { self.texts.get(&value) }.is_some_and(|text| text.accepts(at))
            }
            _ => self.parts.get(at).is_text,
        };
        let is_text = entries.iter().any(ends);
        let size = entries.len() * size_of::<(u8, u32)>() + 16;
        let before = self.parts.len();
        let id = self.parts.id(Part {
            level,
            prefix,
            entries: entries.into(),
            is_text,
        });
        self.bytes += size * (self.parts.len() - before);
        id
    }

    /// Returns whether a value is among those of which nothing was read.
    pub(super) fn has(&self, set: SteppedSet, value: ValueId) -> bool {
        let mut part = set.0;
        for level in (0..DIGITS).rev() {
            let digit = digit(value.0, level);
            let entries = &self.parts.get(part).entries;
            match entries.binary_search_by_key(&digit, |&(digit, _)| digit) {
                Ok(at) => part = entries[at].1,
                Err(_) => return false,
            }
        }
        true
    }

    /// Returns the values that are left after one more byte.
    pub(super) fn step(
        &mut self,
        set: SteppedSet,
        byte: u8,
        values: &Interned<Value>,
    ) -> Result<SteppedSet, StepError> {
        self.step_part(set.0, byte, values).map(SteppedSet)
    }

    fn step_part(
        &mut self,
        part: u32,
        byte: u8,
        values: &Interned<Value>,
    ) -> Result<u32, StepError> {
        if part == NOTHING {
            return Ok(NOTHING);
        }
        let Part { level, prefix, .. } = *self.parts.get(part);
        if level == KEPT
            && let Some(&known) = self.steps.get(&(part, byte))
        {
            return Ok(known);
        }
        let mut left = Vec::new();
        for i in 0..self.parts.get(part).entries.len() {
            let (digit, at) = self.parts.get(part).entries[i];
            let next = match level {
                0 => {
                    let value = prefix << DIGIT | u32::from(digit);
                    self.text(value, values)?.step(at, byte)?
                }
                _ => self.step_part(at, byte, values)?,
            };
            // Neither texts nor sets continue from 0.
            if next != NOTHING {
                left.push((digit, next));
            }
        }
        let next = self.part(level, prefix, left);
        if level == KEPT {
            if self.steps.len() == MAX_STEPS {
                self.steps.clear();
            }
            self.steps.insert((part, byte), next);
        }
        Ok(next)
    }

    /// Adds a superset of the bytes that may come next in a text.
    pub(super) fn add_first(
        &mut self,
        set: SteppedSet,
        values: &Interned<Value>,
        first: &mut ByteSet,
    ) -> Result<(), StepError> {
        self.add_first_of(set.0, values, first)
    }

    fn add_first_of(
        &mut self,
        part: u32,
        values: &Interned<Value>,
        first: &mut ByteSet,
    ) -> Result<(), StepError> {
        let Part { level, prefix, .. } = *self.parts.get(part);
        if level == KEPT
            && let Some(&known) = self.firsts.get(&part)
        {
            first.union_with(known);
            return Ok(());
        }
        let mut found = ByteSet::default();
        for i in 0..self.parts.get(part).entries.len() {
            let (digit, at) = self.parts.get(part).entries[i];
            match level {
                0 => {
                    let value = prefix << DIGIT | u32::from(digit);
                    found.union_with(self.text(value, values)?.first(at)?);
                }
                _ => self.add_first_of(at, values, &mut found)?,
            }
        }
        if level == KEPT {
            if self.firsts.len() == MAX_FIRSTS {
                self.firsts.clear();
            }
            self.firsts.insert(part, found);
        }
        first.union_with(found);
        Ok(())
    }

    /// Adds the keys that are left of each value, see [`ValueText::keys_left`]. Returns `false` if some value is not an
    /// object whose text has begun, or there are more than `most` values.
    pub(super) fn add_keys_left<'s>(
        &'s self,
        set: SteppedSet,
        most: usize,
        left: &mut Vec<Vec<&'s str>>,
    ) -> bool {
        let Part {
            level,
            prefix,
            entries,
            ..
        } = self.parts.get(set.0);
        entries.iter().all(|&(digit, at)| {
            if *level > 0 {
                return self.add_keys_left(SteppedSet(at), most, left);
            }
            let value = prefix << DIGIT | u32::from(digit);
            let text = self.texts.get(&value);
            let Some(keys) = text.and_then(|text| text.keys_left(at)) else {
                return false;
            };
            left.push(keys.collect());
            left.len() <= most
        })
    }

    /// Returns whether the text is one of a value's.
    pub(super) fn is_text(&self, set: SteppedSet) -> bool {
        self.parts.get(set.0).is_text
    }

    fn text(
        &mut self,
        value: u32,
        values: &Interned<Value>,
    ) -> Result<&mut ValueText, LimitExceeded> {
        Ok(match self.texts.entry(value) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                let text = ValueText::new(values.get(value), &self.form)?;
                vacant.insert(Box::new(text))
            }
        })
    }

    /// Returns the approximate size in bytes of the sets and of what reads their values.
    pub(super) fn memory(&self) -> usize {
        let texts = self.texts.values().map(|text| text.memory());
        self.bytes
            + self.parts.memory()
            + self.steps.capacity() * 16
            + self.firsts.capacity() * size_of::<(u32, ByteSet)>()
            + self.texts.capacity() * size_of::<(u32, Box<ValueText>)>()
            + texts.sum::<usize>()
    }
}

/// Returns a digit of a number, counted from its end.
fn digit(number: u32, level: u32) -> u8 {
    (number >> (level * DIGIT) & ((1 << DIGIT) - 1)) as u8
}
