//! Parts of a trie that are told by what tokens are made of.

use structgen_automata::{Span, Utf8};

use super::cursor::Stretch;

/// A part of the trie where all that is known to be of a stretch goes on: there what tokens are made of is enough to
/// tell.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) span: Span,
    /// How many of its characters have been read.
    pub(super) characters: u32,
    utf8: Utf8,
    /// Whether the tokens of the stretch are in the mask already.
    pub(super) is_ready: bool,
    /// Whether all characters so far are of the walk's endless stretch as well, whose tokens are in the mask.
    pub(super) is_endless: bool,
}

impl Region {
    /// A region whose tokens are to be found.
    pub(super) fn new(span: Span) -> Self {
        Self {
            span,
            characters: 0,
            utf8: Utf8::Boundary,
            is_ready: false,
            is_endless: false,
        }
    }

    /// A region whose tokens are in the mask.
    pub(super) fn ready(stretch: Stretch) -> Self {
        Self {
            is_ready: true,
            is_endless: stretch.endless.is_some(),
            ..Self::new(stretch.span)
        }
    }

    /// The region after one more byte, where `endless` is the walk's endless stretch; `None` where that leaves it.
    #[inline]
    pub(super) fn behind(self, byte: u8, endless: Option<&Span>) -> Option<Self> {
        let utf8 = self.utf8.step(byte)?;
        let begins = self.utf8 == Utf8::Boundary;
        let goes_on = |span: &Span| !begins || span.closed.contains(byte);
        let endless = endless.filter(|span| self.is_endless && goes_on(span));
        let has_left = !goes_on(&self.span) || begins && self.characters == self.span.code_points;
        if has_left {
            // What is left is the endless one, if any.
            let span = *endless?;
            return Some(Self {
                span,
                characters: 0,
                utf8,
                is_ready: true,
                is_endless: false,
            });
        }
        Some(Self {
            utf8,
            characters: self.characters + u32::from(begins),
            is_endless: endless.is_some(),
            ..self
        })
    }
}
