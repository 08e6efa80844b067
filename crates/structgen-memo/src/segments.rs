//! A list.

use std::fmt;
use std::ops::Index;

use crate::parts::Parts;

/// A list by places, whose items are there from the moment that somebody asks for a place. An item changes only as far as its own type allows
/// that through a shared reference: atomics, or a [`OnceLock`](std::sync::OnceLock).
pub struct Segments<T> {
    parts: Parts<T>,
    /// The length of the first part, a power of two.
    first: usize,
}

impl<T> Default for Segments<T> {
    /// A list for a few items, or many.
    fn default() -> Self {
        Self {
            parts: Parts::default(),
            first: 8,
        }
    }
}

impl<T: Default> Segments<T> {
    /// A list for about so many items at least. Places among these are found soonest.
    #[must_use]
    pub fn with_room(items: usize) -> Self {
        Self {
            parts: Parts::default(),
            first: items.next_power_of_two(),
        }
    }

    /// The part of a place, and the place in it.
    #[inline(always)]
    fn part_of(&self, place: usize) -> (usize, usize) {
        if place < self.first {
            return (0, place);
        }
        let place = place + self.first;
        let number = (place.ilog2() - self.first.ilog2()) as usize;
        (number, place - (self.first << number))
    }

    /// The item at a place, if it is there.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&T> {
        let (number, place) = self.part_of(place);
        self.parts.get(number)?.get(place)
    }

    /// The item at a place, which is made if it is not there.
    ///
    /// # Panics
    /// When memory for it could never be had: some 2³⁰ places.
    pub fn make(&self, place: usize) -> &T {
        let (number, place) = self.part_of(place);
        &self.parts.make(number, self.first << number)[place]
    }

    /// About how many bytes the list takes, without what its items own.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.parts.memory()
    }
}

impl<T: Default> Index<usize> for Segments<T> {
    type Output = T;

    /// The item at a place that somebody has [made](Segments::make).
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
