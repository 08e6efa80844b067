//! Registers: what a stack remembers besides its position.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use structgen_memo::Interner;

use super::values::Excluded;
use crate::json::{TextSet, TextSets};
use crate::program::{Counts, ObjectProgram};

/// The members that an object has so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct ObjectRegister {
    /// The number of ordered properties that are passed.
    pub(super) passed: u32,
    /// A bit for each of the other properties that is present.
    pub(super) seen: Arc<[u64]>,
    /// The undeclared keys.
    pub(super) others: TextSet,
    /// Whether there are undeclared keys whose text a sketch omits.
    pub(super) unknown: bool,
    /// The counts for the object's bounds, if it has any.
    pub(super) counts: Counts,
}

/// The items that an array has so far, if more than their number matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct ArrayRegister {
    pub(super) counts: Counts,
    /// Their values, if items are distinct.
    pub(super) values: Excluded,
    /// Whether there are values that a sketch omits.
    pub(super) unknown: bool,
}

/// Interned registers and texts.
#[derive(Debug, Default)]
pub(super) struct Registers {
    objects: Interner<ObjectRegister>,
    arrays: Interner<ArrayRegister>,
    /// Texts as lists from the end: what is before, and the last byte. Number 0 is text 1: text 0 is empty.
    texts: Interner<(u32, u8)>,
    /// The undeclared keys of objects.
    pub(super) keys: Arc<TextSets>,
    /// The number of bytes that the registers of objects own.
    bytes: AtomicUsize,
}

impl Registers {
    pub(super) fn object(&self, id: u32) -> &ObjectRegister {
        &self.objects.get(id).0
    }

    pub(super) fn array(&self, id: u32) -> &ArrayRegister {
        &self.arrays.get(id).0
    }

    pub(super) fn add_object(&self, register: ObjectRegister) -> u32 {
        let Counts { tallies, keys, .. } = &register.counts;
        let owned = register.seen.len() * 8 + (tallies.len() + keys.len()) * 4;
        let (id, is_new) = self.objects.number(register, |_| ());
        if is_new {
            self.bytes.fetch_add(owned, Ordering::Relaxed);
        }
        id
    }

    pub(super) fn add_array(&self, register: ArrayRegister) -> u32 {
        self.arrays.number(register, |_| ()).0
    }

    /// Returns the register of an array with the values omitted, as a sketch has it.
    pub(super) fn without_values(&self, id: u32) -> u32 {
        let counts = self.array(id).counts.clone();
        self.add_array(ArrayRegister {
            counts,
            values: Excluded::NONE,
            unknown: true,
        })
    }

    /// Returns the text with one more byte.
    pub(super) fn push_text(&self, text: u32, byte: u8) -> u32 {
        self.texts.number((text, byte), |_| ()).0 + 1
    }

    /// Returns the bytes of a text.
    pub(super) fn text(&self, mut text: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(number) = text.checked_sub(1) {
            let ((before, byte), ()) = *self.texts.get(number);
            bytes.push(byte);
            text = before;
        }
        bytes.reverse();
        bytes
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
            + self.objects.memory()
            + self.arrays.memory()
            + self.texts.memory()
            + self.keys.memory()
    }
}

impl ObjectRegister {
    pub(super) fn new(object: &ObjectProgram) -> Self {
        let unordered = object.properties.len() - object.ordered as usize;
        Self {
            seen: vec![0; unordered.div_ceil(64)].into(),
            counts: object.no_counts(),
            ..Self::default()
        }
    }

    /// Returns whether the property is present, or may no longer come in order.
    pub(super) fn is_past(&self, object: &ObjectProgram, property: usize) -> bool {
        match property.checked_sub(object.ordered as usize) {
            Some(bit) => self.seen[bit / 64] >> (bit % 64) & 1 == 1,
            None => property < self.passed as usize,
        }
    }

    /// Marks the property as present.
    pub(super) fn pass(&mut self, object: &ObjectProgram, property: usize) {
        match property.checked_sub(object.ordered as usize) {
            Some(bit) => {
                Arc::make_mut(&mut self.seen)[bit / 64] |= 1 << (bit % 64);
                self.passed = object.ordered;
            }
            None => self.passed = property as u32 + 1,
        }
    }
}
