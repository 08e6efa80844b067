//! Parts of a trie that are told by what tokens are made of.

use structgen_automata::{Span, Utf8};

/// A part of the trie where all that is known to be of a stretch goes on: there what tokens are made of is enough to tell.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) span: Span,
    /// How many of its characters are behind.
    pub(super) characters: u32,
    utf8: Utf8,
    /// Whether the tokens of the stretch are in the mask already.
    pub(super) is_ready: bool,
}

impl Region {
    pub(super) fn new(span: Span, is_ready: bool) -> Self {
        Self {
            span,
            characters: 0,
            utf8: Utf8::Boundary,
            is_ready,
        }
    }

    /// The region behind one more byte; `None` where that leaves it.
    #[inline]
    pub(super) fn behind(self, byte: u8) -> Option<Self> {
        let utf8 = self.utf8.step(byte)?;
        let begins = self.utf8 == Utf8::Boundary;
        if begins && (!self.span.closed.contains(byte) || self.characters == self.span.code_points)
        {
            return None;
        }
        Some(Self {
            utf8,
            characters: self.characters + u32::from(begins),
            ..self
        })
    }
}
