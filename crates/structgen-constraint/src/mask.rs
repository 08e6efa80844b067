//! The tokens that may come next.

use structgen_vocab::{TokenId, TokenMask};

/// The tokens that may come next, end-of-sequence ids included exactly where the output may end.
#[derive(Debug)]
pub struct Mask {
    bits: TokenMask,
    list: Option<Box<[TokenId]>>,
    count: usize,
}

impl Mask {
    /// Masks of at most this many tokens have a list too.
    pub const LISTED: usize = 64;

    pub(crate) fn new(bits: TokenMask) -> Self {
        let count = bits.count();
        let list = (count <= Self::LISTED).then(|| bits.iter().collect());
        Self { bits, list, count }
    }

    /// The set as bits, as wide as the logits.
    #[must_use]
    pub fn bits(&self) -> &TokenMask {
        &self.bits
    }

    /// The set as a sorted list, where it has at most [`Mask::LISTED`] tokens: a sampler then reads those logits and no others.
    #[must_use]
    pub fn list(&self) -> Option<&[TokenId]> {
        self.list.as_deref()
    }

    /// How many tokens are in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// About how many bytes it takes.
    pub(crate) fn memory(&self) -> usize {
        self.bits.words().len() * 8 + self.list.as_ref().map_or(0, |list| list.len() * 4) + 64
    }
}
