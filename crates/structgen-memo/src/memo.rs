//! A map and an interner.

use std::fmt;
use std::hash::Hash;

use crate::table::Table;

/// A map for memoised values: the first entry of a key stays.
///
/// ```
/// use structgen_memo::Memo;
///
/// let squares = Memo::default();
/// assert_eq!(squares.get(&7), None);
/// assert_eq!(*squares.insert(7, 49), 49);
/// // Whoever comes later gets what is there.
/// assert_eq!(*squares.insert(7, 50), 49);
/// assert_eq!(squares.get(&7), Some(&49));
/// ```
pub struct Memo<K, V>(Table<K, V>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(Table::default())
    }
}

impl<K: Eq + Hash, V> Memo<K, V> {
    /// Creates a map with capacity for at least about `entries` entries, whose lookups are the fastest.
    #[must_use]
    pub fn with_room(entries: usize) -> Self {
        Self(Table::with_room(entries))
    }

    /// Returns the value of a key, if there is one.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.find(key).map(|(_, value)| value)
    }

    /// Inserts the value of a key, unless there is one; returns the value that stays.
    pub fn insert(&self, key: K, value: V) -> &V {
        self.0.add(key, |_| value).1
    }

    /// Returns the value of a key, computing it if there is none, once for all threads. Other threads that add entries
    /// wait in the meantime, so `value` has to be fast, and must not use the map.
    pub fn get_or_insert_with(&self, key: K, value: impl FnOnce() -> V) -> &V {
        self.0.add(key, |_| value()).1
    }

    /// Returns the values, in the order in which they were added.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        let numbers = 0..self.len() as u32;
        numbers.filter_map(|number| self.0.get(number).map(|(_, value)| value))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate size in bytes, without what the entries own.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl<K: Eq + Hash, V> fmt::Debug for Memo<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// An interner: equal values are stored once and have equal numbers. Each value has derived data beside it.
///
/// Numbers are given in the order in which values are met, which depends on the threads. So nothing observable may
/// depend on more than the equality of two numbers.
///
/// ```
/// use structgen_memo::Interner;
///
/// let words = Interner::default();
/// let (word, is_new) = words.number("word", |word| word.len());
/// assert!(is_new);
/// assert_eq!(words.number("word", |word| word.len()), (word, false));
/// assert_eq!(words.get(word), &("word", 4));
/// ```
pub struct Interner<T, V = ()>(Table<T, V>);

impl<T, V> Default for Interner<T, V> {
    fn default() -> Self {
        Self(Table::default())
    }
}

impl<T: Eq + Hash, V> Interner<T, V> {
    /// Creates an interner with capacity for at least about `things` values, whose lookups are the fastest.
    #[must_use]
    pub fn with_room(things: usize) -> Self {
        Self(Table::with_room(things))
    }

    /// Returns the number of a value, and whether it was just added, with what `follows` derives from it. `follows` has
    /// to be fast, and must not use the interner except for values that have a number.
    pub fn number(&self, thing: T, follows: impl FnOnce(&T) -> V) -> (u32, bool) {
        let (number, _, is_new) = self.0.add(thing, follows);
        (number, is_new)
    }

    /// Like [`number`](Self::number) with a fallible `follows`; if it fails, the value is not added.
    ///
    /// # Errors
    /// If `follows` fails.
    #[inline]
    pub fn try_number<E>(
        &self,
        thing: T,
        follows: impl FnOnce(&T) -> Result<V, E>,
    ) -> Result<(u32, bool), E> {
        let (number, _, is_new) = self.0.try_add(thing, follows)?;
        Ok((number, is_new))
    }

    /// Returns the value with a number, and its derived data.
    ///
    /// # Panics
    /// If no value has that number.
    #[inline]
    #[must_use]
    pub fn get(&self, number: u32) -> &(T, V) {
        self.0
            .get(number)
            .expect("a number is given to a thing that is there")
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the interner is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate size in bytes, without what the values own.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl<T: Eq + Hash, V> fmt::Debug for Interner<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interner")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::{Interner, Memo};

    const COUNT: u64 = 20_000;

    /// A permutation of the numbers below [`COUNT`] for each thread.
    fn shuffled(thread: u64) -> impl Iterator<Item = u64> {
        (0..COUNT).map(move |i| (i * 7_919 + thread * 4_999) % COUNT)
    }

    #[test]
    fn all_threads_see_the_entries_that_were_added_first() {
        let memo = Memo::default();
        let barrier = Barrier::new(4);
        thread::scope(|scope| {
            for thread in 0..4 {
                let (memo, barrier) = (&memo, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    for key in shuffled(thread) {
                        let kept = *memo.insert(key, (key, thread));
                        assert_eq!(kept.0, key);
                        assert_eq!(memo.get(&key), Some(&kept));
                    }
                });
            }
        });
        assert_eq!(memo.len() as u64, COUNT);
        assert_eq!(memo.get(&COUNT), None);
    }

    #[test]
    fn equal_things_have_equal_numbers_for_all_threads() {
        let interner = Interner::default();
        let barrier = Barrier::new(4);
        let of_threads: Vec<Vec<u32>> = thread::scope(|scope| {
            let threads = (0..4).map(|thread| {
                let (interner, barrier) = (&interner, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut numbers = vec![0; COUNT as usize];
                    for thing in shuffled(thread) {
                        let (number, _) = interner.number(thing, |thing| thing + 1);
                        assert_eq!(interner.get(number), &(thing, thing + 1));
                        numbers[thing as usize] = number;
                    }
                    numbers
                })
            });
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(|it| it.join().expect("no panic"))
                .collect()
        });
        assert_eq!(interner.len() as u64, COUNT);
        for numbers in &of_threads[1..] {
            assert_eq!(numbers, &of_threads[0]);
        }
        let mut numbers = of_threads[0].clone();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..COUNT as u32));
    }
}
