//! Slices that are allocated one by one and never move.

use std::sync::OnceLock;

/// The maximum number of slices. Each is twice as long as the one before.
pub(crate) const MOST: usize = 28;

/// A slice, allocated on demand.
type Part<T> = OnceLock<Box<[T]>>;

/// Slice 0, which suffices for most tables, and the others.
pub(crate) struct Parts<T> {
    first: Part<T>,
    others: OnceLock<Box<[Part<T>; MOST]>>,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self {
            first: OnceLock::new(),
            others: OnceLock::new(),
        }
    }
}

impl<T: Default> Parts<T> {
    /// Returns a slice, if it is allocated.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Option<&[T]> {
        match number {
            0 => self.first.get().map(|part| &**part),
            _ => self.others.get()?[number].get().map(|part| &**part),
        }
    }

    /// Returns a slice, allocating it with this length if necessary.
    pub(crate) fn make(&self, number: usize, len: usize) -> &[T] {
        let part = match number {
            0 => &self.first,
            _ => {
                let new = || Box::new([const { OnceLock::new() }; MOST]);
                &self.others.get_or_init(new)[number]
            }
        };
        part.get_or_init(|| (0..len).map(|_| T::default()).collect())
    }

    /// Returns the approximate size of the slices in bytes.
    pub(crate) fn memory(&self) -> usize {
        let others = self.others.get().map_or(0, |parts| size_of_val(&**parts));
        let parts = (0..MOST).filter_map(|number| self.get(number));
        others + parts.map(size_of_val).sum::<usize>()
    }
}
