//! Tables that only grow and that many threads read without a lock.
//!
//! What is found out of a grammar is found out once and stays: a step of an automaton, the number of a state, a mask. Three shapes
//! hold it: a list ([`Segments`]), a map ([`Memo`]) and things numbered in the order in which they are met ([`Interner`]). A look-up is a
//! few loads from memory that nobody writes to any more. Whoever adds something holds a lock for about as long as that takes in an
//! ordinary map.
//!
//! Nothing is ever moved, so references stay valid as long as the table, and all of it is safe code: parts of doubling length
//! are allocated when they are first needed, each behind a [`OnceLock`](std::sync::OnceLock).

mod memo;
mod numbers;
mod parts;
mod segments;
mod table;

pub use memo::{Interner, Memo};
pub use numbers::Numbers;
pub use segments::Segments;

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what holds no half-made value when a thread panics.
#[inline]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What some threads write, apart from what all threads read: a write takes the whole line of the cache away from the readers, and
/// processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
