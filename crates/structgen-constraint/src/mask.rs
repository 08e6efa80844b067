//! The tokens that may come next.

use std::sync::OnceLock;

use structgen_vocab::{TokenId, TokenMask};

/// The tokens that may come next, end-of-sequence ids included exactly where the output may end.
///
/// A mask of few tokens is kept as a list; its bits are made when somebody asks for them.
#[derive(Debug)]
pub struct Mask {
    width: usize,
    bits: OnceLock<TokenMask>,
    list: Option<Box<[TokenId]>>,
    count: OnceLock<usize>,
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
        let mut listed = [TokenId(0); Self::LISTED];
        let mut count = 0;
        for token in bits.iter().take(Self::LISTED + 1) {
            *listed.get_mut(count)? = token;
            count += 1;
        }
        Some(listed[..count].into())
    }

    /// The set of a sorted list of at most [`Mask::LISTED`] tokens.
    pub(crate) fn from_list(list: &[TokenId], width: usize) -> Self {
        Self {
            width,
            bits: OnceLock::new(),
            list: Some(list.into()),
            count: OnceLock::from(list.len()),
        }
    }

    /// The set of these bits, which are more than [`Mask::LISTED`].
    pub(crate) fn from_bits(bits: TokenMask) -> Self {
        Self {
            width: bits.len(),
            bits: OnceLock::from(bits),
            list: None,
            count: OnceLock::new(),
        }
    }

    /// Whether the token may come next.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        match &self.list {
            Some(list) => list.binary_search(&token).is_ok(),
            None => self.bits().contains(token),
        }
    }

    /// The set as bits, as wide as the logits.
    #[must_use]
    pub fn bits(&self) -> &TokenMask {
        self.bits.get_or_init(|| {
            let mut bits = TokenMask::new(self.width);
            bits.allow_all(self.list().unwrap_or_default());
            bits
        })
    }

    /// Writes the set into a mask of the caller's.
    ///
    /// # Panics
    /// When that is not as wide.
    pub fn fill(&self, mask: &mut TokenMask) {
        match &self.list {
            Some(list) => {
                assert_eq!(mask.len(), self.width, "masks of different widths");
                mask.clear();
                mask.allow_all(list);
            }
            None => mask.copy_from(self.bits()),
        }
    }

    /// The set as a sorted list, where it has at most [`Mask::LISTED`] tokens: a sampler then reads those logits and no others.
    #[must_use]
    pub fn list(&self) -> Option<&[TokenId]> {
        self.list.as_deref()
    }

    /// How many tokens are in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.count.get_or_init(|| self.bits().count())
    }

    /// About how many bytes it takes, its bits counted if they may ever be there.
    pub(crate) fn memory(&self) -> usize {
        self.width / 8 + self.list.as_ref().map_or(0, |list| list.len() * 4) + 64
    }
}
