//! A mask that is being computed.

use structgen_vocab::{TokenId, TokenMask};

use crate::Mask;

/// The tokens of a mask that is being computed: a list while they are few, bits from then on. A mask of few tokens then
/// takes no time that grows with the vocabulary.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The tokens as long as they are listed, in any order; some may be listed twice.
    few: Vec<TokenId>,
    is_listed: bool,
    /// The tokens from then on.
    bits: TokenMask,
}

/// The length up to which tokens are listed, repeated ones included.
const FEW: usize = 2 * Mask::LISTED;

impl Draft {
    /// The empty set over ids `0..width`.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            few: Vec::with_capacity(FEW),
            is_listed: true,
            bits: TokenMask::new(width),
        }
    }

    /// Returns the width of the mask.
    pub(crate) fn width(&self) -> usize {
        self.bits.len()
    }

    /// Removes all tokens.
    pub(crate) fn clear(&mut self) {
        self.few.clear();
        self.is_listed = true;
    }

    /// Adds a token.
    #[inline]
    pub(crate) fn allow(&mut self, token: TokenId) {
        if self.is_listed {
            if self.few.len() < FEW {
                self.few.push(token);
                return;
            }
            self.as_bits();
        }
        self.bits.allow(token);
    }

    /// Adds tokens.
    #[inline]
    pub(crate) fn allow_all(&mut self, tokens: &[TokenId]) {
        if self.is_listed && self.few.len() + tokens.len() <= FEW {
            self.few.extend_from_slice(tokens);
        } else {
            self.as_bits().allow_all(tokens);
        }
    }

    /// Adds every token of a set.
    pub(crate) fn union_with(&mut self, tokens: &TokenMask) {
        if self.is_listed {
            self.is_listed = false;
            self.bits.copy_from(tokens);
            self.bits.allow_all(&self.few);
        } else {
            self.bits.union_with(tokens);
        }
    }

    /// Returns the tokens as bits, which they stay.
    pub(crate) fn as_bits(&mut self) -> &mut TokenMask {
        if self.is_listed {
            self.is_listed = false;
            self.bits.clear();
            self.bits.allow_all(&self.few);
        }
        &mut self.bits
    }

    /// Returns the tokens as they are stored.
    pub(crate) fn drafted(&mut self) -> Drafted<'_> {
        if self.is_listed {
            self.few.sort_unstable();
            self.few.dedup();
            if self.few.len() <= Mask::LISTED {
                return Drafted::List(self.few[..].into());
            }
        }
        Drafted::of(self.as_bits())
    }
}

/// The tokens of a mask, as they are stored.
pub(crate) enum Drafted<'d> {
    /// At most [`Mask::LISTED`] tokens, sorted.
    List(Box<[TokenId]>),
    /// More tokens.
    Bits(&'d TokenMask),
}

impl<'d> Drafted<'d> {
    /// Returns the tokens of a set.
    pub(crate) fn of(bits: &'d TokenMask) -> Self {
        match Mask::list_of(bits) {
            Some(list) => Self::List(list),
            None => Self::Bits(bits),
        }
    }
}
