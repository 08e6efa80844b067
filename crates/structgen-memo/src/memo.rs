//! A map, and numbers for things.

use std::fmt;
use std::hash::Hash;

use crate::table::Table;

/// A map that remembers what was computed: an entry stays as it was added first.
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
    /// A map for about so many entries at least, which are found soonest.
    #[must_use]
    pub fn with_room(entries: usize) -> Self {
        Self(Table::with_room(entries))
    }

    /// The value of a key, if it is known.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.find(key).map(|(_, value)| value)
    }

    /// Remembers the value of a key, unless there is one; returns the one that stays.
    pub fn insert(&self, key: K, value: V) -> &V {
        self.0.add(key, |_| value).1
    }

    /// The value of a key, which is made if there is none, once for all threads. Others that add to the map wait meanwhile: so making it has to be
    /// quick, and must not use the map.
    pub fn get_or_insert_with(&self, key: K, value: impl FnOnce() -> V) -> &V {
        self.0.add(key, |_| value()).1
    }

    /// The values, in the order in which they were added.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        let numbers = 0..self.len() as u32;
        numbers.filter_map(|number| self.0.get(number).map(|(_, value)| value))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes the map takes, without what its entries own.
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

/// Things stored once, by number: equal things have equal numbers. With each comes what follows from it.
///
/// Numbers are given in the order in which things are met, which depends on the threads that meet them: nothing observable may depend on
/// more than whether two numbers are equal.
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
    /// A table for about so many things at least, which are found soonest.
    #[must_use]
    pub fn with_room(things: usize) -> Self {
        Self(Table::with_room(things))
    }

    /// The number of a thing, and whether it has just been added with what `follows` from it. That has to be quick, and must not use the
    /// interner but for things that have a number.
    pub fn number(&self, thing: T, follows: impl FnOnce(&T) -> V) -> (u32, bool) {
        let (number, _, is_new) = self.0.add(thing, follows);
        (number, is_new)
    }

    /// The same where nothing may follow from the thing, which gets no number then.
    ///
    /// # Errors
    /// When `follows` fails.
    #[inline]
    pub fn try_number<E>(
        &self,
        thing: T,
        follows: impl FnOnce(&T) -> Result<V, E>,
    ) -> Result<(u32, bool), E> {
        let (number, _, is_new) = self.0.try_add(thing, follows)?;
        Ok((number, is_new))
    }

    /// The thing with a number, and what follows from it.
    ///
    /// # Panics
    /// When no thing has that number.
    #[inline]
    #[must_use]
    pub fn get(&self, number: u32) -> &(T, V) {
        self.0
            .get(number)
            .expect("a number is given to a thing that is there")
    }

    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes the table takes, without what the things own.
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
