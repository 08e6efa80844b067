//! Entries by number, found by their keys: what maps and interners are made of.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use rustc_hash::FxHasher;

use crate::parts::{MOST, Parts};
use crate::{Segments, lock};

/// Entries in the order in which they were added, and an index: open addressing, whose slots hold the number of an entry and some bits of its
/// hash. An index that gets full is followed by one of twice the size, which holds all entries again. The old one stays for whoever is
/// reading it, and misses only what has been added since: whoever adds looks once more.
pub(crate) struct Table<K, V> {
    entries: Segments<OnceLock<(K, V)>>,
    indexes: Parts<AtomicU32>,
    /// The slots of the first index, a power of two.
    slots: usize,
    /// The index that holds all entries.
    current: AtomicUsize,
    /// How many entries there are; held by whoever adds one.
    adding: Mutex<u32>,
    /// The same, for whoever asks.
    len: AtomicU32,
}

/// The bits of a slot that number an entry, from 1: 0 is an empty slot.
const NUMBER: u32 = (1 << 24) - 1;

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::with_room(8)
    }
}

impl<K, V> Table<K, V> {
    /// A table for about so many entries at least.
    pub(crate) fn with_room(entries: usize) -> Self {
        Self {
            entries: Segments::with_room(entries),
            indexes: Parts::default(),
            slots: entries.next_power_of_two() * 2,
            current: AtomicUsize::new(0),
            adding: Mutex::new(0),
            len: AtomicU32::new(0),
        }
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&(K, V)> {
        self.entries.get(number as usize)?.get()
    }

    /// The number and the value of a key that is known.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Option<(u32, &V)> {
        self.find_hashed(hash(key), key)
    }

    #[inline]
    fn find_hashed(&self, hash: u64, key: &K) -> Option<(u32, &V)> {
        let slots = self.indexes.get(self.current.load(Ordering::Acquire))?;
        let mask = slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return None;
            }
            if slot & !NUMBER == tag(hash) {
                let number = (slot & NUMBER) - 1;
                if let Some((_, value)) = self.get(number).filter(|(other, _)| other == key) {
                    return Some((number, value));
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// The number and the value of a key, which is added with a value if it is not there; the last part says whether it was added.
    #[inline]
    pub(crate) fn add(&self, key: K, value: impl FnOnce(&K) -> V) -> (u32, &V, bool) {
        let hash = hash(&key);
        // All of these are in the index, so that a key that is not found is missing unless others have been added since.
        let len = self.len.load(Ordering::Acquire);
        match self.find_hashed(hash, &key) {
            Some((number, value)) => (number, value, false),
            None => self.add_missing(hash, key, len, value),
        }
    }

    /// The same for a key that has just been looked for, and most likely is missing.
    pub(crate) fn add_new(&self, key: K, value: V) -> &V {
        let hash = hash(&key);
        self.add_missing(hash, key, u32::MAX, |_| value).1
    }

    /// Adds a key that is not among so many entries; of [`u32::MAX`] nothing is known.
    fn add_missing(
        &self,
        hash: u64,
        key: K,
        missing_from: u32,
        value: impl FnOnce(&K) -> V,
    ) -> (u32, &V, bool) {
        let mut len = lock(&self.adding);
        if *len != missing_from
            && let Some((number, value)) = self.find_hashed(hash, &key)
        {
            return (number, value, false);
        }
        let number = *len;
        let entry = self.entries.make(number as usize);
        let (_, value) = entry.get_or_init(|| {
            let value = value(&key);
            (key, value)
        });
        *len += 1;
        // So many entries take more memory than states may. If they ever do not, what is beyond is not found again, and added twice.
        if *len < NUMBER {
            self.index(hash, *len);
        }
        self.len.store(*len, Ordering::Release);
        (number, value, true)
    }

    /// Puts the last of so many entries into the index.
    fn index(&self, hash: u64, len: u32) {
        let current = self.current.load(Ordering::Relaxed);
        let slots = self.indexes.make(current, self.slots << current);
        let is_full = len as usize > slots.len() / 8 * 7;
        if !is_full || current + 1 == MOST {
            return put(slots, hash, len);
        }
        let slots = self.indexes.make(current + 1, self.slots << (current + 1));
        for number in 1..=len {
            if let Some((key, _)) = self.get(number - 1) {
                put(slots, self::hash(key), number);
            }
        }
        self.current.store(current + 1, Ordering::Release);
    }

    /// About how many bytes the table takes, without what its entries own.
    pub(crate) fn memory(&self) -> usize {
        self.entries.memory() + self.indexes.memory()
    }
}

#[inline]
fn hash<K: Hash>(key: &K) -> u64 {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The bits of a hash that a slot keeps: not those that say where it is.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !NUMBER
}

fn put(slots: &[AtomicU32], hash: u64, number: u32) {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at].load(Ordering::Relaxed) != 0 {
        at = (at + 1) & mask;
    }
    slots[at].store(tag(hash) | number, Ordering::Release);
}
