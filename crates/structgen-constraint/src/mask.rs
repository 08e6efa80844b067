//! The tokens that may come next.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHasher;
use structgen_vocab::{TokenId, TokenMask};

/// The tokens that may come next, end-of-sequence ids included exactly where the output may end.
///
/// A mask of few tokens is kept as a list; its bits are made when somebody asks for them.
// Aligned to a line of the processor's cache, so that the count of owners beside it in an `Arc` has a line of its own: a thread that changes
// it takes nothing from threads that read other masks.
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
    /// Masks of at most this many tokens have a list.
    pub const LISTED: usize = 64;

    /// The mask without tokens.
    pub(crate) fn empty(width: usize) -> Self {
        Self::from_list(&[], width)
    }

    /// The tokens of a set as a list, if there are at most [`Mask::LISTED`].
    pub(crate) fn list_of(bits: &TokenMask) -> Option<Box<[TokenId]>> {
        const WORDS: usize = 8;
        let mut listed = [TokenId(0); Self::LISTED];
        let mut count = 0;
        for (i, words) in bits.words().chunks(WORDS).enumerate() {
            // Where there are few tokens, most words have none.
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

    /// The set of a sorted list of at most [`Mask::LISTED`] tokens.
    pub(crate) fn from_list(list: &[TokenId], width: usize) -> Self {
        Self(Arc::new(Tokens {
            width,
            bits: OnceLock::new(),
            list: Some(list.into()),
            count: OnceLock::from(list.len()),
            fingerprint: OnceLock::new(),
        }))
    }

    /// The set of these bits, which are more than [`Mask::LISTED`].
    pub(crate) fn from_bits(bits: TokenMask) -> Self {
        Self(Arc::new(Tokens {
            width: bits.len(),
            bits: OnceLock::from(bits),
            list: None,
            count: OnceLock::new(),
            fingerprint: OnceLock::new(),
        }))
    }

    /// Whether the token may come next.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        match &self.0.list {
            Some(list) => list.binary_search(&token).is_ok(),
            None => self.bits().contains(token),
        }
    }

    /// The set as bits, as wide as the logits.
    #[must_use]
    pub fn bits(&self) -> &TokenMask {
        self.0.bits.get_or_init(|| {
            let mut bits = TokenMask::new(self.0.width);
            bits.allow_all(self.list().unwrap_or_default());
            bits
        })
    }

    /// Writes the set into a mask of the caller's.
    ///
    /// # Panics
    /// When that is not as wide.
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

    /// The set as a sorted list, where it has at most [`Mask::LISTED`] tokens: a sampler then reads those logits and no others.
    #[must_use]
    pub fn list(&self) -> Option<&[TokenId]> {
        self.0.list.as_deref()
    }

    /// How many tokens are in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.count.get_or_init(|| self.bits().count())
    }

    /// A hash of the set; equal sets have equal ones.
    pub(crate) fn fingerprint(&self) -> u64 {
        *self.0.fingerprint.get_or_init(|| match &self.0.list {
            Some(list) => fingerprint_of_list(list),
            None => fingerprint_of_words(self.bits().words()),
        })
    }

    /// The same set, whose hash is known.
    pub(crate) fn with_fingerprint(self, fingerprint: u64) -> Self {
        self.0.fingerprint.get_or_init(|| fingerprint);
        self
    }

    /// The same set with a count of owners of its own.
    pub(crate) fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    /// About how many bytes it takes, its bits counted if they may ever be there.
    pub(crate) fn memory(&self) -> usize {
        self.0.width / 8 + self.0.list.as_ref().map_or(0, |list| list.len() * 4) + 128
    }
}

/// A hash of a set's words, eight at a time: they do not wait for one another.
pub(crate) fn fingerprint_of_words(words: &[u64]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    let mut chunks = words.chunks_exact(lanes.len());
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk) {
            *lane = (lane.rotate_left(5) ^ word).wrapping_mul(FACTOR);
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
