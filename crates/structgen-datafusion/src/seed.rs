//! Seeds that follow from a row's content.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The seed of a row: that of the run and the text decide it, and neither its place nor when it is computed.
pub(crate) fn seed_of(run: u64, text: &str) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), run)
}
