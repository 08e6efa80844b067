//! Registers: what a stack remembers beyond its place.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The keys that an object has so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct ObjectRegister {
    /// In declared order: how many of the declared properties are behind us.
    pub(super) passed: u32,
    /// In any order: a bit for each property that is there.
    pub(super) seen: Box<[u64]>,
    /// The undeclared keys, sorted.
    pub(super) others: Arc<[Box<str>]>,
    /// Whether there are undeclared keys whose text a sketch did not keep.
    pub(super) unknown: bool,
}

/// Registers and texts, stored once.
#[derive(Debug)]
pub(super) struct Registers {
    objects: Vec<ObjectRegister>,
    ids: FxHashMap<ObjectRegister, u32>,
    /// Texts as lists from the end: what is before, and the last byte. Text 0 is empty.
    texts: Vec<(u32, u8)>,
    text_ids: FxHashMap<(u32, u8), u32>,
    bytes: usize,
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            objects: Vec::new(),
            ids: FxHashMap::default(),
            texts: vec![(0, 0)],
            text_ids: FxHashMap::default(),
            bytes: 0,
        }
    }
}

impl Registers {
    pub(super) fn object(&self, id: u32) -> &ObjectRegister {
        &self.objects[id as usize]
    }

    pub(super) fn intern(&mut self, register: ObjectRegister) -> u32 {
        if let Some(&id) = self.ids.get(&register) {
            return id;
        }
        let id = self.objects.len() as u32;
        self.bytes += 2
            * (size_of::<ObjectRegister>() + register.seen.len() * 8 + register.others.len() * 16)
            + 16;
        self.ids.insert(register.clone(), id);
        self.objects.push(register);
        id
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
        self.bytes + self.texts.capacity() * 8 + self.text_ids.capacity() * 16
    }
}
