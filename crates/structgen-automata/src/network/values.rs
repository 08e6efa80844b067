//! The values that items are compared with, each stored once, and how far a text is in theirs.

use rustc_hash::FxHashMap;
use structgen_grammar::JsonForm;

use super::StepError;
use crate::interned::Interned;
use crate::value::{Value, ValueText};
use crate::{ByteSet, LimitExceeded};

/// A value, by its place in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueId(u32);

/// Some values that an item must not be, and how far in the text of each it is: those with another text so far are left out. Equal ones have
/// equal numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Excluded(u32);

impl Excluded {
    /// No values.
    pub(super) const NONE: Self = Self(NOTHING);

    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn of(number: u32) -> Self {
        Self(number)
    }
}

/// The store. Sets of values are trees, by the digits of their numbers, of which equal parts are stored once: one value more, or one byte
/// more of the text, makes few new parts, however many values there are.
#[derive(Debug)]
pub(super) struct Values {
    form: JsonForm,
    values: Interned<Value>,
    /// What reads the texts of a value, once somebody has asked.
    texts: Vec<Option<Box<ValueText>>>,
    parts: Interned<Part>,
    /// Steps of parts of the level [`KEPT`].
    stepped: FxHashMap<(u32, u8), u32>,
    /// What values and parts own.
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

/// Steps are kept of parts that are this large, of up to 16 values: more are few parts.
const KEPT: u32 = 0;

/// How many steps are kept.
const MAX_STEPS: usize = 1 << 16;

/// The part without values.
const NOTHING: u32 = 0;

impl Values {
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
            values: Interned::default(),
            texts: Vec::new(),
            parts,
            stepped: FxHashMap::default(),
            bytes: 0,
        }
    }

    /// The number of a value.
    pub(super) fn id(&mut self, value: Value) -> Result<ValueId, LimitExceeded> {
        let size = value.memory();
        let id = self.values.id(value);
        if id as usize == self.texts.len() {
            if id >> (DIGIT * DIGITS) != 0 {
                return Err(LimitExceeded {
                    what: "values that items are compared with",
                    limit: 1 << (DIGIT * DIGITS),
                });
            }
            self.texts.push(None);
            self.bytes += size;
        }
        Ok(ValueId(id))
    }

    /// The values with one more, of which nothing has been read.
    pub(super) fn with(&mut self, set: Excluded, value: ValueId) -> Excluded {
        const { assert!(ValueText::DEAD == NOTHING) };
        let start = ValueText::START;
        Excluded(self.put(set.0, DIGITS - 1, value, start))
    }

    fn put(&mut self, part: u32, level: u32, value: ValueId, start: u32) -> u32 {
        let digit = digit(value.0, level);
        let entries = &self.parts.get(part).entries;
        let at = entries.binary_search_by_key(&digit, |&(digit, _)| digit);
        let below = at.map_or(NOTHING, |at| entries[at].1);
        let mut entries = entries.to_vec();
        let entry = match level {
            0 => start,
            _ => self.put(below, level - 1, value, start),
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
                { self.texts[value as usize].as_ref() }.is_some_and(|text| text.accepts(at))
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
    pub(super) fn has(&self, set: Excluded, value: &Value) -> bool {
        let Some(id) = self.values.find(value) else {
            return false;
        };
        let mut part = set.0;
        for level in (0..DIGITS).rev() {
            let digit = digit(id, level);
            let entries = &self.parts.get(part).entries;
            match entries.binary_search_by_key(&digit, |&(digit, _)| digit) {
                Ok(at) => part = entries[at].1,
                Err(_) => return false,
            }
        }
        true
    }

    /// The values that are left after one more byte.
    pub(super) fn step(&mut self, set: Excluded, byte: u8) -> Result<Excluded, StepError> {
        self.step_part(set.0, byte).map(Excluded)
    }

    fn step_part(&mut self, part: u32, byte: u8) -> Result<u32, StepError> {
        if part == NOTHING {
            return Ok(NOTHING);
        }
        let Part { level, prefix, .. } = *self.parts.get(part);
        if level == KEPT
            && let Some(&known) = self.stepped.get(&(part, byte))
        {
            return Ok(known);
        }
        let mut left = Vec::new();
        for i in 0..self.parts.get(part).entries.len() {
            let (digit, at) = self.parts.get(part).entries[i];
            let next = match level {
                0 => {
                    let value = ValueId(prefix << DIGIT | u32::from(digit));
                    self.text(value)?.step(at, byte)?
                }
                _ => self.step_part(at, byte)?,
            };
            // Neither texts nor sets go on from 0.
            if next != NOTHING {
                left.push((digit, next));
            }
        }
        let next = self.part(level, prefix, left);
        if level == KEPT {
            if self.stepped.len() == MAX_STEPS {
                self.stepped.clear();
            }
            self.stepped.insert((part, byte), next);
        }
        Ok(next)
    }

    /// The bytes that may come next in a text, at most.
    pub(super) fn first(&mut self, set: Excluded) -> Result<ByteSet, StepError> {
        let mut first = ByteSet::default();
        self.add_first(set.0, &mut first)?;
        Ok(first)
    }

    fn add_first(&mut self, part: u32, first: &mut ByteSet) -> Result<(), StepError> {
        let Part { level, prefix, .. } = *self.parts.get(part);
        for i in 0..self.parts.get(part).entries.len() {
            let (digit, at) = self.parts.get(part).entries[i];
            match level {
                0 => {
                    let value = ValueId(prefix << DIGIT | u32::from(digit));
                    first.union_with(self.text(value)?.first(at)?);
                }
                _ => self.add_first(at, first)?,
            }
        }
        Ok(())
    }

    /// Whether the text is one of a value's.
    pub(super) fn is_text(&self, set: Excluded) -> bool {
        self.parts.get(set.0).is_text
    }

    fn text(&mut self, value: ValueId) -> Result<&mut ValueText, LimitExceeded> {
        let at = value.0 as usize;
        if self.texts[at].is_none() {
            let text = ValueText::new(self.values.get(value.0), &self.form)?;
            self.texts[at] = Some(Box::new(text));
        }
        Ok(self.texts[at].as_mut().expect("it has just been made"))
    }

    /// About how many bytes the values take, and what reads them.
    pub(super) fn memory(&self) -> usize {
        let texts = self.texts.iter().flatten().map(|text| text.memory());
        self.bytes
            + self.values.memory()
            + self.parts.memory()
            + self.stepped.capacity() * 16
            + self.texts.capacity() * size_of::<Option<Box<ValueText>>>()
            + texts.sum::<usize>()
    }
}

/// The digits of a number are counted from its end.
fn digit(number: u32, level: u32) -> u8 {
    (number >> (level * DIGIT) & ((1 << DIGIT) - 1)) as u8
}
