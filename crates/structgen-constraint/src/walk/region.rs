//! Parts of a trie in which tokens are decided by their characters.

use structgen_automata::{Span, Utf8};

use super::cursor::CoveredSpans;

/// A part of the trie within a span, where the characters of the tokens are followed, without the automaton.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) span: Span,
    /// The number of its characters that were read.
    pub(super) characters: u32,
    utf8: Utf8,
    /// Whether the tokens of the span are already in the mask.
    pub(super) is_ready: bool,
    /// Whether all characters so far are also in the walk's endless span, whose tokens are in the mask.
    pub(super) is_endless: bool,
}

impl Region {
    /// Creates a region whose tokens are to be found.
    pub(super) fn new(span: Span) -> Self {
        Self {
            span,
            characters: 0,
            utf8: Utf8::Boundary,
            is_ready: false,
            is_endless: false,
        }
    }

    /// Creates a region whose tokens are already in the mask.
    pub(super) fn ready(spans: CoveredSpans) -> Self {
        Self {
            is_ready: true,
            is_endless: spans.endless.is_some(),
            ..Self::new(spans.span)
        }
    }

    /// Returns the region after one more byte, or `None` if it is left; `endless` is the walk's endless span.
    #[inline]
    pub(super) fn after(self, byte: u8, endless: Option<&Span>) -> Option<Self> {
        let utf8 = self.utf8.step(byte)?;
        let begins = self.utf8 == Utf8::Boundary;
        let goes_on = |span: &Span| !begins || span.closed.contains(byte);
        let endless = endless.filter(|span| self.is_endless && goes_on(span));
        let has_left = !goes_on(&self.span) || begins && self.characters == self.span.code_points;
        if has_left {
            // Only the endless span remains, if any.
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
