//! Registers: what a stack remembers beyond its place.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::values::Excluded;
use crate::interned::Interned;
use crate::program::{Counts, ObjectProgram};

/// The members that an object has so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct ObjectRegister {
    /// How many of the ordered properties are behind us.
    pub(super) passed: u32,
    /// A bit for each of the other properties that is there.
    pub(super) seen: Box<[u64]>,
    /// The undeclared keys, sorted.
    pub(super) others: Arc<[Box<str>]>,
    /// Whether there are undeclared keys whose text a sketch did not keep.
    pub(super) unknown: bool,
    /// What counts for the object's bounds, where it has any.
    pub(super) counts: Counts,
}

/// The items that an array has so far, where more counts than how many they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct ArrayRegister {
    pub(super) counts: Counts,
    /// Where items are distinct: their values.
    pub(super) values: Excluded,
    /// Whether there are values that a sketch did not keep.
    pub(super) unknown: bool,
}

/// Registers and texts, stored once.
#[derive(Debug)]
pub(super) struct Registers {
    objects: Interned<ObjectRegister>,
    arrays: Interned<ArrayRegister>,
    /// Texts as lists from the end: what is before, and the last byte. Text 0 is empty.
    texts: Vec<(u32, u8)>,
    text_ids: FxHashMap<(u32, u8), u32>,
    bytes: usize,
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            objects: Interned::default(),
            arrays: Interned::default(),
            texts: vec![(0, 0)],
            text_ids: FxHashMap::default(),
            bytes: 0,
        }
    }
}

impl Registers {
    pub(super) fn object(&self, id: u32) -> &ObjectRegister {
        self.objects.get(id)
    }

    pub(super) fn array(&self, id: u32) -> &ArrayRegister {
        self.arrays.get(id)
    }

    pub(super) fn add_object(&mut self, register: ObjectRegister) -> u32 {
        self.bytes +=
            register.seen.len() * 8 + register.others.len() * 16 + register.counts.keys.len() * 8;
        self.objects.id(register)
    }

    pub(super) fn add_array(&mut self, register: ArrayRegister) -> u32 {
        self.arrays.id(register)
    }

    /// The register of an array of which a sketch knows only what counts.
    pub(super) fn without_values(&mut self, id: u32) -> u32 {
        let counts = self.array(id).counts.clone();
        self.add_array(ArrayRegister {
            counts,
            values: Excluded::NONE,
            unknown: true,
        })
    }

    /// The text with one more byte.
    pub(super) fn push_text(&mut self, text: u32, byte: u8) -> u32 {
        let next = self.texts.len() as u32;
        let id = *self.text_ids.entry((text, byte)).or_insert(next);
        if id == next {
            self.texts.push((text, byte));
        }
        id
    }

    /// The bytes of a text.
    pub(super) fn text(&self, mut text: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while text != 0 {
            let (before, byte) = self.texts[text as usize];
            bytes.push(byte);
            text = before;
        }
        bytes.reverse();
        bytes
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
            + self.objects.memory()
            + self.arrays.memory()
            + self.texts.capacity() * 8
            + self.text_ids.capacity() * 16
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

    /// Whether the property is there, or is out of turn.
    pub(super) fn is_past(&self, object: &ObjectProgram, property: usize) -> bool {
        match property.checked_sub(object.ordered as usize) {
            Some(bit) => self.seen[bit / 64] >> (bit % 64) & 1 == 1,
            None => property < self.passed as usize,
        }
    }

    /// Notes that the property is there.
    pub(super) fn pass(&mut self, object: &ObjectProgram, property: usize) {
        match property.checked_sub(object.ordered as usize) {
            Some(bit) => {
                self.seen[bit / 64] |= 1 << (bit % 64);
                self.passed = object.ordered;
            }
            None => self.passed = property as u32 + 1,
        }
    }
}
