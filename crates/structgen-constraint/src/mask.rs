//! Token masks.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHasher;
use structgen_vocab::{TokenId, TokenMask};

/// The tokens that may come next, including end-of-sequence ids exactly where the output may end.
///
/// A mask of few tokens is stored as a list; its bits are computed on demand.
// Aligned to a cache line, so that the reference count beside it in an `Arc` has a line of its own: a thread that
// changes the count does not invalidate masks that other threads read.
#[derive(Debug)]
#[repr(align(64))]
pub struct Mask(Arc<Tokens>);

/// What all copies of a mask share.
#[derive(Debug)]
struct Tokens {
    width: usize,
    bits: OnceLock<TokenMask>,
    list: Option<Box<[TokenId]>>,
    count: OnceLock<usize>,
    fingerprint: OnceLock<u64>,
}

impl Mask {
    /// The maximum number of tokens of a mask that is stored as a list.
    pub const LISTED: usize = 64;

    /// The mask without tokens.
    pub(crate) fn empty(width: usize) -> Self {
        Self::from_list(&[], width)
    }

    /// Returns the tokens of a set as a list, if there are at most [`Mask::LISTED`].
    pub(crate) fn list_of(bits: &TokenMask) -> Option<Box<[TokenId]>> {
        const WORDS: usize = 8;
        let mut listed = [TokenId(0); Self::LISTED];
        let mut count = 0;
        for (i, words) in bits.words().chunks(WORDS).enumerate() {
            // In a set of few tokens, most words are zero.
            if words.iter().fold(0, |all, word| all | word) == 0 {
                continue;
            }
            for (j, &word) in words.iter().enumerate() {
                let mut word = word;
                while word != 0 {
                    let bit = (i * WORDS + j) as u32 * 64 + word.trailing_zeros();
                    *listed.get_mut(count)? = TokenId(bit);
                    count += 1;
                    word &= word - 1;
                }
            }
        }
        Some(listed[..count].into())
    }

    /// Creates a mask from a sorted list of at most [`Mask::LISTED`] tokens.
    pub(crate) fn from_list(list: &[TokenId], width: usize) -> Self {
        Self(Arc::new(Tokens {
            width,
            bits: OnceLock::new(),
            list: Some(list.into()),
            count: OnceLock::from(list.len()),
            fingerprint: OnceLock::new(),
        }))
    }

    /// Creates a mask from bits, of which more than [`Mask::LISTED`] are set.
    pub(crate) fn from_bits(bits: TokenMask) -> Self {
        Self(Arc::new(Tokens {
            width: bits.len(),
            bits: OnceLock::from(bits),
            list: None,
            count: OnceLock::new(),
            fingerprint: OnceLock::new(),
        }))
    }

    /// Returns whether the token may come next.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        match &self.0.list {
            Some(list) => list.binary_search(&token).is_ok(),
            None => self.bits().contains(token),
        }
    }

    /// Returns the set as bits, as wide as the logits.
    #[must_use]
    pub fn bits(&self) -> &TokenMask {
        self.0.bits.get_or_init(|| {
            let mut bits = TokenMask::new(self.0.width);
            bits.allow_all(self.list().unwrap_or_default());
            bits
        })
    }

    /// Writes the set to `mask`.
    ///
    /// # Panics
    /// If `mask` has another width.
    pub fn fill(&self, mask: &mut TokenMask) {
        match &self.0.list {
            Some(list) => {
                assert_eq!(mask.len(), self.0.width, "masks of different widths");
                mask.clear();
                mask.allow_all(list);
            }
            None => mask.copy_from(self.bits()),
        }
    }

    /// Returns the set as a sorted list if it has at most [`Mask::LISTED`] tokens; a sampler then reads only those
    /// logits.
    #[must_use]
    pub fn list(&self) -> Option<&[TokenId]> {
        self.0.list.as_deref()
    }

    /// Returns the number of tokens in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.count.get_or_init(|| self.bits().count())
    }

    /// Returns a hash of the set.
    pub(crate) fn fingerprint(&self) -> u64 {
        *self.0.fingerprint.get_or_init(|| match &self.0.list {
            Some(list) => fingerprint_of_list(list),
            None => fingerprint_of_words(self.bits().words()),
        })
    }

    /// Returns the same set with a hash that the caller has computed.
    pub(crate) fn with_fingerprint(self, fingerprint: u64) -> Self {
        self.0.fingerprint.get_or_init(|| fingerprint);
        self
    }

    /// Returns the same set in a new allocation, with its own reference count.
    pub(crate) fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    /// Returns the approximate size in bytes, including bits that are not computed yet.
    pub(crate) fn memory(&self) -> usize {
        self.0.width / 8 + self.0.list.as_ref().map_or(0, |list| list.len() * 4) + 128
    }
}

/// Hashes the words of a set in eight independent lanes, by operations that processors have for several words at once.
/// Equal hashes are followed by a comparison.
pub(crate) fn fingerprint_of_words(words: &[u64]) -> u64 {
    let mut lanes = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    let mut chunks = words.chunks_exact(lanes.len());
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk) {
            *lane = lane.rotate_left(5).wrapping_add(*word);
        }
    }
    let mut hasher = FxHasher::default();
    (lanes, chunks.remainder()).hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn fingerprint_of_list(list: &[TokenId]) -> u64 {
    let mut hasher = FxHasher::default();
    list.hash(&mut hasher);
    hasher.finish()
}
