//! Seeds that are derived from a row's content.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Returns the seed of a row, derived from the run's seed and the text, but not from the row's position or the time.
pub(crate) fn seed_of(run: u64, text: &str) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), run)
}
