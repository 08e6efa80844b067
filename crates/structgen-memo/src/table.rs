//! Entries by number with an index by key: the basis of maps and interners.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use rustc_hash::FxHasher;

use crate::parts::Parts;
use crate::{Padded, lock};

/// Entries in the order in which they were added, and an index with open addressing, whose slots have the number of an
/// entry and some bits of its hash. When an index is full, one of four times the size follows, which again has all
/// entries. The old one stays for its readers and lacks only later entries, so adding looks the key up once more.
pub(crate) struct Table<K, V> {
    /// Created with the first entry; most tables never have one.
    used: OnceLock<Box<Used<K, V>>>,
    /// The number of entries that the first index has capacity for.
    room: usize,
}

struct Used<K, V> {
    entries: boxcar::Vec<(K, V)>,
    indexes: Parts<AtomicU32>,
    /// The number of slots of the first index, a power of two.
    slots: usize,
    /// The number of the index that has all entries.
    current: AtomicUsize,
    /// Held by the thread that adds an entry, and kept off the cache lines that readers use.
    adding: Padded<Mutex<()>>,
}

/// The free slot at which a key would be inserted.
#[derive(Clone, Copy)]
struct Gap {
    index: usize,
    at: usize,
}

/// The bits of a slot that number an entry, from 1; 0 is an empty slot.
const NUMBER: u32 = (1 << 24) - 1;

/// The factor in slots from each index to the next, in bits.
const GROWTH: usize = 2;

/// The maximum number of indexes; the last has capacity for all numbers.
const INDEXES: usize = 12;

/// The default capacity in entries.
const ROOM: usize = 8;

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl<K, V> Table<K, V> {
    /// Creates a table with capacity for at least about `entries` entries.
    pub(crate) fn with_room(entries: usize) -> Self {
        Self {
            used: OnceLock::new(),
            room: entries,
        }
    }

    #[inline(always)]
    fn used(&self) -> Option<&Used<K, V>> {
        self.used.get().map(|used| &**used)
    }

    pub(crate) fn len(&self) -> usize {
        self.used().map_or(0, |used| used.entries.count())
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<&(K, V)> {
        self.used()?.entries.get(number as usize)
    }

    /// Returns the approximate size in bytes, without what the entries own.
    pub(crate) fn memory(&self) -> usize {
        self.used().map_or(0, |used| {
            // Allocations double in size, for entries as for indexes.
            let entries = used.entries.count() * size_of::<(K, V)>() * 3 / 2;
            size_of_val(used) + entries + used.indexes.memory()
        })
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    /// Returns the number and the value of a key, if there is one.
    #[inline(always)]
    pub(crate) fn find(&self, key: &K) -> Option<(u32, &V)> {
        self.used()?.find(hash(key), key).ok()
    }

    /// Returns the number and the value of a key, adding it if necessary; the last value is whether it was added.
    #[inline(always)]
    pub(crate) fn add(&self, key: K, value: impl FnOnce(&K) -> V) -> (u32, &V, bool) {
        let added = self.try_add(key, |key| Ok::<_, Infallible>(value(key)));
        match added {
            Ok(added) => added,
            Err(never) => match never {},
        }
    }

    /// Like [`add`](Self::add) with a fallible value; if it fails, the key is not added.
    #[inline(always)]
    pub(crate) fn try_add<E>(
        &self,
        key: K,
        value: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<(u32, &V, bool), E> {
        let used = self
            .used
            .get_or_init(|| Box::new(Used::with_room(self.room)));
        let hash = hash(&key);
        match used.find(hash, &key) {
            Ok((number, value)) => Ok((number, value, false)),
            Err(gap) => used.add(hash, key, gap, value),
        }
    }
}

impl<K, V> Used<K, V> {
    fn with_room(entries: usize) -> Self {
        let slots = entries.next_power_of_two() * 2;
        let indexes = Parts::default();
        indexes.make(0, slots);
        Self {
            entries: boxcar::Vec::new(),
            indexes,
            slots,
            current: AtomicUsize::new(0),
            adding: Padded::default(),
        }
    }

    fn entry(&self, number: u32) -> &(K, V) {
        self.entries
            .get(number as usize)
            .expect("a number is in the index once its entry is there")
    }
}

impl<K: Eq + Hash, V> Used<K, V> {
    #[inline(always)]
    fn find(&self, hash: u64, key: &K) -> Result<(u32, &V), Gap> {
        let index = self.current.load(Ordering::Acquire);
        let slots = self.indexes.get(index).unwrap_or_default();
        let mask = slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return Err(Gap { index, at });
            }
            if slot & !NUMBER == tag(hash) {
                let number = (slot & NUMBER) - 1;
                let (other, value) = self.entry(number);
                if other == key {
                    return Ok((number, value));
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a key that was not found.
    fn add<E>(
        &self,
        hash: u64,
        key: K,
        gap: Gap,
        value: impl FnOnce(&K) -> Result<V, E>,
    ) -> Result<(u32, &V, bool), E> {
        let _adding = lock(&self.adding);
        let gap = match self.is_open(gap) {
            true => gap,
            false => match self.find(hash, &key) {
                Ok((number, value)) => return Ok((number, value, false)),
                Err(gap) => gap,
            },
        };
        let value = value(&key)?;
        let number = self.entries.push((key, value)) as u32;
        // So many entries take more memory than states may. Beyond that, entries are not found again and are added
        // twice.
        if number + 1 < NUMBER {
            self.index(hash, gap, number + 1);
        }
        Ok((number, &self.entry(number).1, true))
    }

    /// Returns whether a gap is still free. Then its key was not added, since that would have filled it.
    fn is_open(&self, gap: Gap) -> bool {
        self.current.load(Ordering::Relaxed) == gap.index
            && self
                .indexes
                .get(gap.index)
                .is_some_and(|slots| slots[gap.at].load(Ordering::Relaxed) == 0)
    }

    /// Puts the last entry into the index.
    fn index(&self, hash: u64, gap: Gap, len: u32) {
        let slots = self.indexes.get(gap.index).unwrap_or_default();
        let is_full = len as usize > slots.len() / 8 * 7;
        if !is_full || gap.index + 1 == INDEXES {
            return slots[gap.at].store(tag(hash) | len, Ordering::Release);
        }
        let next = gap.index + 1;
        let slots = self.indexes.make(next, self.slots << (next * GROWTH));
        for number in 1..=len {
            let (key, _) = self.entry(number - 1);
            put(slots, self::hash(key), number);
        }
        self.current.store(next, Ordering::Release);
    }
}

#[inline(always)]
fn hash<K: Hash>(key: &K) -> u64 {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Returns the bits of a hash that a slot stores: other ones than determine its position.
#[inline(always)]
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
