//! Ids of replies, calls and requests.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns an id that cannot be guessed from others: 128 bits of keyed hashes, whose keys come from the system's random
/// number generator.
pub(crate) fn new_id(prefix: &str) -> String {
    let random = || {
        let state = RandomState::new();
        state.build_hasher().finish()
    };
    format!("{prefix}{:016x}{:016x}", random(), random())
}
