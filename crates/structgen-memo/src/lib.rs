//! Tables that only grow and that many threads read without a lock.
//!
//! What is computed for a grammar is computed once and kept: a step of an automaton, the number of a state, a mask.
//! There are three data structures: a list ([`Segments`]), a map ([`Memo`]) and an interner, which numbers values in
//! the order in which they are met ([`Interner`]). A lookup is a few loads from memory that is no longer written to.
//! Adding an entry takes a lock for about as long as inserting into an ordinary map.
//!
//! Nothing is ever moved, so references stay valid as long as the table. All of this is safe code: parts of doubling
//! length are allocated on demand, each in a [`OnceLock`](std::sync::OnceLock).

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

/// Locks a mutex whose value is consistent even if a thread panics.
#[inline]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps what some threads write apart from what all threads read: a write invalidates the whole cache line, and
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
