//! Hashing of what schemas, grammars and other files contain, in which nobody can prepare collisions.
//!
//! The hash function of `rustc-hash` is the fastest for numbers, but has no secret: a file can list any number of
//! strings with the same hash, and a table of them takes time that is quadratic in its size. So strings, and lists that
//! are [shared](crate::Shared), are hashed with a secret of the process first.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;
use rustc_hash::FxHasher;

/// A map whose keys come from a file.
pub type KeyedMap<K, V> = hashbrown::HashMap<K, V, KeyedState>;

/// A set of values that come from a file.
pub type KeyedSet<T> = hashbrown::HashSet<T, KeyedState>;

/// The hash function of [`KeyedMap`] and [`KeyedSet`]. It differs from process to process.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyedState;

/// Hashes strings with a secret, and numbers quickly.
#[derive(Clone, Default)]
pub struct KeyedHasher(FxHasher);

static SECRET: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

impl BuildHasher for KeyedState {
    type Hasher = KeyedHasher;

    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher::default()
    }
}

impl Hasher for KeyedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut hasher = SECRET.build_hasher();
        hasher.write(bytes);
        self.0.write_u64(hasher.finish());
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.0.write_u8(value);
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.0.write_u16(value);
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.0.write_u32(value);
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0.write_u64(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.0.write_usize(value);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Returns the hash of a value all of whose parts, numbers too, are hashed with the secret.
pub(crate) fn secret_hash<T: Hash + ?Sized>(value: &T) -> u64 {
    SECRET.hash_one(value)
}

/// Returns the hash of a value that comes from a file. It differs from process to process.
#[inline]
pub fn keyed_hash<T: Hash + ?Sized>(value: &T) -> u64 {
    KeyedState.hash_one(value)
}
