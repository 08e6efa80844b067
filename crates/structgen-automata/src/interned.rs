//! Interned values, identified by number.

use std::hash::Hash;

use hashbrown::HashTable;
use structgen_grammar::keyed::keyed_hash;

/// Equal values have equal numbers, which are given in the order of insertion.
#[derive(Debug)]
pub(crate) struct Interned<T> {
    items: Vec<T>,
    ids: HashTable<u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ids: HashTable::new(),
        }
    }
}

impl<T: Eq + Hash> Interned<T> {
    pub(crate) fn id(&mut self, item: T) -> u32 {
        let hash = keyed_hash(&item);
        if let Some(&id) = self.ids.find(hash, |&id| self.items[id as usize] == item) {
            return id;
        }
        let id = self.items.len() as u32;
        self.items.push(item);
        let items = &self.items;
        self.ids
            .insert_unique(hash, id, |&id| keyed_hash(&items[id as usize]));
        id
    }

    /// Returns the number of a value, if it is interned.
    pub(crate) fn find(&self, item: &T) -> Option<u32> {
        let same = |&id: &u32| self.items[id as usize] == *item;
        self.ids.find(keyed_hash(item), same).copied()
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &T {
        &self.items[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the size in bytes, without what the values own.
    pub(crate) fn memory(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.ids.capacity() * 5
    }
}
