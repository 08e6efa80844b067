//! Sets of values as trees by the digits of their numbers, each value with its own place in its own texts.
//!
//! For values whose parts have no order that all of their texts share: of objects, keys come in any. Such a set takes one
//! step for each value.

use rustc_hash::FxHashMap;
use structgen_grammar::JsonForm;

use super::{StepError, ValueId};
use crate::interned::Interned;
use crate::value::{Value, ValueText};
use crate::{ByteSet, LimitExceeded};

/// Some values, each with how far the text is in its own: those with another text so far are left out. Equal ones have
/// equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SteppedSet(u32);

impl SteppedSet {
    /// No values.
    pub(super) const NONE: Self = Self(NOTHING);
}

/// The trees, of which equal parts are stored once: one value more, or one byte more of the text, makes few new parts,
/// however many values there are.
#[derive(Debug)]
pub(super) struct SteppedSets {
    form: JsonForm,
    /// What reads the texts of a value, once somebody has asked.
    texts: FxHashMap<u32, Box<ValueText>>,
    parts: Interned<Part>,
    /// Steps of parts of the level [`KEPT`].
    steps: FxHashMap<(u32, u8), u32>,
    /// What parts own.
    bytes: usize,
}

/// A set of values whose numbers have the same first digits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Part {
    /// The digits that they have in common, and how many follow the one that comes next.
    prefix: u32,
    level: u32,
    /// By the next digit a smaller part; where that is the last digit, the state of the value's text.
    entries: Box<[(u8, u32)]>,
    /// Whether a text of one of the values ends here, which follows from the rest.
    is_text: bool,
}

/// The bits of a digit.
const DIGIT: u32 = 4;

/// The digits of a number.
const DIGITS: u32 = 5;

/// The most values that are told apart.
pub(super) const MAX_VALUES: u32 = 1 << (DIGIT * DIGITS);

/// Steps are kept of parts that are this large, of up to 16 values: more are few parts.
const KEPT: u32 = 0;

/// How many steps are kept.
const MAX_STEPS: usize = 1 << 16;

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
            bytes: 0,
        }
    }

    /// The values with one more, of which nothing has been read.
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
                // A value that nobody has read has no text yet, and none has the empty one.
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

    /// Whether a value is among those of which nothing has been read.
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

    /// The values that are left after one more byte.
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
            // Neither texts nor sets go on from 0.
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

    /// Adds the bytes that may come next in a text, at most.
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
        for i in 0..self.parts.get(part).entries.len() {
            let (digit, at) = self.parts.get(part).entries[i];
            match level {
                0 => {
                    let value = prefix << DIGIT | u32::from(digit);
                    first.union_with(self.text(value, values)?.first(at)?);
                }
                _ => self.add_first_of(at, values, first)?,
            }
        }
        Ok(())
    }

    /// Whether the text is one of a value's.
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

    /// About how many bytes the sets take, and what reads their values.
    pub(super) fn memory(&self) -> usize {
        let texts = self.texts.values().map(|text| text.memory());
        self.bytes
            + self.parts.memory()
            + self.steps.capacity() * 16
            + self.texts.capacity() * size_of::<(u32, Box<ValueText>)>()
            + texts.sum::<usize>()
    }
}

/// The digits of a number are counted from its end.
fn digit(number: u32, level: u32) -> u8 {
    (number >> (level * DIGIT) & ((1 << DIGIT) - 1)) as u8
}
