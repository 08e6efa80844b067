//! A list that grows without moving its items.

use std::fmt;
use std::ops::Index;

use crate::parts::Parts;

/// A list by index. Items are created with their default when an index is first requested, and change only as far as
/// their type allows through a shared reference: atomics, or a [`OnceLock`](std::sync::OnceLock).
pub struct Segments<T> {
    parts: Parts<T>,
    /// The length of the first part, a power of two.
    first: usize,
}

impl<T> Default for Segments<T> {
    /// Creates a list for few items or many.
    fn default() -> Self {
        Self {
            parts: Parts::default(),
            first: 8,
        }
    }
}

impl<T: Default> Segments<T> {
    /// Creates a list with capacity for at least about `items` items, whose lookups are the fastest.
    #[must_use]
    pub fn with_room(items: usize) -> Self {
        Self {
            parts: Parts::default(),
            first: items.next_power_of_two(),
        }
    }

    /// Returns the part that contains an index, and the index in that part.
    #[inline(always)]
    fn part_of(&self, place: usize) -> (usize, usize) {
        if place < self.first {
            return (0, place);
        }
        let place = place + self.first;
        let number = (place.ilog2() - self.first.ilog2()) as usize;
        (number, place - (self.first << number))
    }

    /// Returns the item at an index, if it exists.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&T> {
        let (number, place) = self.part_of(place);
        self.parts.get(number)?.get(place)
    }

    /// Returns the item at an index, creating it if necessary.
    ///
    /// # Panics
    /// If the index is too large for any memory: about 2³⁰.
    pub fn make(&self, place: usize) -> &T {
        let (number, place) = self.part_of(place);
        &self.parts.make(number, self.first << number)[place]
    }

    /// Returns the approximate size in bytes, without what the items own.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.parts.memory()
    }
}

impl<T: Default> Index<usize> for Segments<T> {
    type Output = T;

    /// Returns an item that was [made](Segments::make) before.
    #[inline(always)]
    fn index(&self, place: usize) -> &T {
        self.get(place)
            .expect("the place was made before its number was passed on")
    }
}

impl<T> fmt::Debug for Segments<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments").finish_non_exhaustive()
    }
}
