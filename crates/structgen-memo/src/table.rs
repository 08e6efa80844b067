//! Entries by number, found by their keys: what maps and interners are made of.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use rustc_hash::FxHasher;

use crate::parts::Parts;
use crate::{Padded, lock};

/// Entries in the order in which they were added, and an index: open addressing, whose slots hold the number of an entry and some bits of its
/// hash. An index that gets full is followed by one of four times the size, which holds all entries again. The old one stays for whoever is
/// reading it, and misses only what has been added since: whoever adds looks once more.
pub(crate) struct Table<K, V> {
    /// Made with the first entry: most tables never have one.
    used: OnceLock<Box<Used<K, V>>>,
    /// For how many entries the first index has room.
    room: usize,
}

struct Used<K, V> {
    entries: boxcar::Vec<(K, V)>,
    indexes: Parts<AtomicU32>,
    /// The slots of the first index, a power of two.
    slots: usize,
    /// The index that holds all entries.
    current: AtomicUsize,
    /// Held by whoever adds an entry, and kept off the cache lines that readers read.
    adding: Padded<Mutex<()>>,
}

/// Where a key would be that is not there.
#[derive(Clone, Copy)]
struct Gap {
    index: usize,
    at: usize,
}

/// The bits of a slot that number an entry, from 1: 0 is an empty slot.
const NUMBER: u32 = (1 << 24) - 1;

/// How many times as many slots the next index has, in bits.
const GROWTH: usize = 2;

/// The most indexes: the last has room for all numbers.
const INDEXES: usize = 12;

/// For how many entries there is room unless somebody says so.
const ROOM: usize = 8;

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl<K, V> Table<K, V> {
    /// A table for about so many entries at least.
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

    /// About how many bytes the table takes, without what its entries own.
    pub(crate) fn memory(&self) -> usize {
        self.used().map_or(0, |used| {
            // Buckets of entries double, and so do indexes.
            let entries = used.entries.count() * size_of::<(K, V)>() * 3 / 2;
            size_of_val(used) + entries + used.indexes.memory()
        })
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    /// The number and the value of a key that is known.
    #[inline(always)]
    pub(crate) fn find(&self, key: &K) -> Option<(u32, &V)> {
        self.used()?.find(hash(key), key).ok()
    }

    /// The number and the value of a key, which is added with a value if it is not there; the last part says whether it was added.
    #[inline(always)]
    pub(crate) fn add(&self, key: K, value: impl FnOnce(&K) -> V) -> (u32, &V, bool) {
        let added = self.try_add(key, |key| Ok::<_, Infallible>(value(key)));
        match added {
            Ok(added) => added,
            Err(never) => match never {},
        }
    }

    /// The same where there may be no value for the key, which is not added then.
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
        // So many entries take more memory than states may. If they ever do not, what is beyond is not found again, and added twice.
        if number + 1 < NUMBER {
            self.index(hash, gap, number + 1);
        }
        Ok((number, &self.entry(number).1, true))
    }

    /// Whether a gap is still one. Then its key has not been added: that would have filled it.
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

/// The bits of a hash that a slot keeps: not those that say where it is.
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
