//! A map from numbers to numbers.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};

use crate::Padded;
use crate::parts::Parts;

/// A cache from numbers to numbers that are computed from them. Nobody ever waits: neither reading nor adding takes a
/// lock.
///
/// Open addressing, with key and value in the slot. When a table is full, one of four times the size follows. Entries
/// that are added to the old one in the meantime may be lost, and are then computed again. So every thread must add the
/// same value for a key.
///
/// ```
/// use structgen_memo::Numbers;
///
/// let squares = Numbers::default();
/// assert_eq!(squares.get(7), None);
/// squares.insert(7, 49);
/// assert_eq!(squares.get(7), Some(49));
/// ```
pub struct Numbers {
    tables: Parts<Slot>,
    /// The index of the table that is read.
    current: AtomicUsize,
    /// Kept off the cache line that readers use.
    growth: Padded<Growth>,
}

#[derive(Default)]
struct Growth {
    /// The approximate number of entries of the current table.
    len: AtomicUsize,
    /// Held by the thread that fills the next table.
    growing: Mutex<()>,
}

struct Slot {
    /// [`NONE`] if the slot is free. A key is never moved or removed.
    key: AtomicU64,
    /// [`NONE`] until it is stored, which happens after the key.
    value: AtomicU64,
}

/// Reserved: neither a key nor a value.
const NONE: u64 = u64::MAX;

/// The number of slots of the first table.
const FIRST: usize = 128;

/// The factor in slots from each table to the next, in bits.
const GROWTH: usize = 2;

/// The maximum number of tables; the last has 2³¹ slots.
const TABLES: usize = 13;

/// Returns the number of slots of a table.
fn slots_of(table: usize) -> usize {
    FIRST << (table * GROWTH)
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            key: AtomicU64::new(NONE),
            value: AtomicU64::new(NONE),
        }
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            tables: Parts::default(),
            current: AtomicUsize::new(0),
            growth: Padded::default(),
        }
    }
}

impl Numbers {
    /// Returns the value of a key, if it is cached.
    #[inline]
    #[must_use]
    pub fn get(&self, key: u64) -> Option<u64> {
        let slots = self.tables.get(self.current.load(Ordering::Acquire))?;
        for slot in probe(slots, key) {
            match slot.key.load(Ordering::Relaxed) {
                NONE => return None,
                found if found == key => {
                    let value = slot.value.load(Ordering::Acquire);
                    return (value != NONE).then_some(value);
                }
                _ => {}
            }
        }
        None
    }

    /// Caches the value of a key.
    ///
    /// # Panics
    /// If the key or the value is [`u64::MAX`].
    pub fn insert(&self, key: u64, value: u64) {
        assert!(key != NONE && value != NONE, "the number is reserved");
        let mut current = self.current.load(Ordering::Acquire);
        if self.growth.len.load(Ordering::Relaxed) >= slots_of(current) / 4 * 3 {
            self.grow(current);
            current = self.current.load(Ordering::Acquire);
        }
        for slot in probe(self.tables.make(current, slots_of(current)), key) {
            let mut found = slot.key.load(Ordering::Relaxed);
            if found == NONE {
                found =
                    match slot
                        .key
                        .compare_exchange(NONE, key, Ordering::Relaxed, Ordering::Relaxed)
                    {
                        Ok(_) => {
                            self.growth.len.fetch_add(1, Ordering::Relaxed);
                            key
                        }
                        Err(other) => other,
                    };
            }
            if found == key {
                return slot.value.store(value, Ordering::Release);
            }
        }
    }

    /// Fills the next table, unless another thread does.
    #[cold]
    fn grow(&self, current: usize) {
        let _growing = match self.growth.growing.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if self.current.load(Ordering::Relaxed) != current || current + 1 == TABLES {
            return;
        }
        let Some(old) = self.tables.get(current) else {
            return;
        };
        let new = self.tables.make(current + 1, slots_of(current + 1));
        let mut len = 0;
        for slot in old {
            let value = slot.value.load(Ordering::Acquire);
            let key = slot.key.load(Ordering::Relaxed);
            if value == NONE {
                continue;
            }
            let free = probe(new, key).find(|slot| slot.key.load(Ordering::Relaxed) == NONE);
            if let Some(free) = free {
                free.key.store(key, Ordering::Relaxed);
                free.value.store(value, Ordering::Release);
                len += 1;
            }
        }
        self.growth.len.store(len, Ordering::Relaxed);
        self.current.store(current + 1, Ordering::Release);
    }

    /// Returns the approximate number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.growth.len.load(Ordering::Relaxed)
    }

    /// Returns whether the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tables.memory()
    }
}

/// Returns the slots in which a key may be, in probing order.
#[inline]
fn probe(slots: &[Slot], key: u64) -> impl Iterator<Item = &Slot> {
    let mask = slots.len() - 1;
    // The upper half depends on all bits of the key.
    let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    (first..first + slots.len()).map(move |at| &slots[at & mask])
}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Numbers")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::Numbers;

    const COUNT: u64 = 20_000;

    #[test]
    fn values_are_those_that_were_added() {
        let numbers = Numbers::default();
        for key in 0..COUNT {
            numbers.insert(key << 16 | 5, key * key);
        }
        for key in 0..COUNT {
            assert_eq!(numbers.get(key << 16 | 5), Some(key * key));
            assert_eq!(numbers.get(key << 16 | 6), None);
        }
        assert_eq!(numbers.len() as u64, COUNT);
    }

    #[test]
    fn threads_that_add_at_once_read_no_other_value() {
        let numbers = Numbers::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let numbers = &numbers;
                scope.spawn(move || {
                    for i in 0..COUNT {
                        let key = (i * 7_919 + thread * 4_999) % COUNT;
                        assert!(numbers.get(key).is_none_or(|value| value == key + 1));
                        numbers.insert(key, key + 1);
                    }
                });
            }
        });
        // Entries that were lost while a table grew are added again by the thread that needs them.
        let known = (0..COUNT).filter(|&key| numbers.get(key).is_some());
        assert!(known.count() as u64 > COUNT / 2);
        for key in 0..COUNT {
            numbers.insert(key, key + 1);
            assert_eq!(numbers.get(key), Some(key + 1));
        }
    }
}
