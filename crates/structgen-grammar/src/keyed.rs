//! Hashing of what schemas, grammars and other files contain, in which nobody can prepare collisions.
//!
//! The hash function of `rustc-hash` is the fastest for numbers, but has no secret: a file can list any number of strings
//! with the same hash, and a table of them takes time that is quadratic in its size.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;

/// A map whose keys come from a file.
pub type KeyedMap<K, V> = hashbrown::HashMap<K, V>;

/// A set of values that come from a file.
pub type KeyedSet<T> = hashbrown::HashSet<T>;

/// The hash function of this process.
static FUNCTION: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// Returns the hash of a value that comes from a file. It differs from process to process.
pub fn keyed_hash<T: Hash + ?Sized>(value: &T) -> u64 {
    FUNCTION.hash_one(value)
}

/// Returns a hasher for a value that is hashed part by part. The hash differs from process to process.
pub fn keyed_hasher() -> impl Hasher {
    FUNCTION.build_hasher()
}
