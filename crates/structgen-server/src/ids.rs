//! Ids of replies, calls and requests.

use std::hash::{BuildHasher, Hasher, RandomState};

/// An id that nobody can guess from another one: 128 bits of keyed hashes, whose keys come from the system's random
/// numbers.
pub(crate) fn new_id(prefix: &str) -> String {
    let random = || {
        let state = RandomState::new();
        state.build_hasher().finish()
    };
    format!("{prefix}{:016x}{:016x}", random(), random())
}
