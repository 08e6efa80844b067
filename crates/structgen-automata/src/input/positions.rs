//! A position in a span of an input.

use std::sync::Arc;

use super::{Input, Spans, SpansState};
use crate::bytes::escaped_length;

/// Where in an input a span goes on, between two of its characters: a walk over many continuations needs no state of a
/// machine for each.
#[derive(Clone, Debug)]
pub struct InputPositions {
    input: Arc<Input>,
    positions: Vec<u32>,
    has_begun: bool,
    length: u32,
    min: u32,
    max: u32,
}

impl InputPositions {
    /// The position of a state: the number of characters read, and the least and the most that are allowed.
    pub(crate) fn new(spans: &Spans, at: SpansState, (length, min, max): (u32, u32, u32)) -> Self {
        Self {
            input: spans.input().clone(),
            positions: spans.positions(at).collect(),
            has_begun: at.depth > 0,
            length,
            min,
            max,
        }
    }

    /// The positions of the text at which the span may go on.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The byte at a position, unescaped; `None` at the end of the text.
    #[inline]
    #[must_use]
    pub fn byte(&self, position: u32) -> Option<u8> {
        self.input.byte(position)
    }

    /// Whether the span may end before a position that is `characters` further on.
    #[inline]
    #[must_use]
    pub fn may_end(&self, position: u32, characters: u32) -> bool {
        (self.has_begun || characters > 0)
            && self.length + characters >= self.min
            && self.input.may_end(position)
    }

    /// Whether the span can be completed from a position that is `characters` further on.
    #[inline]
    #[must_use]
    pub fn is_live(&self, position: u32, characters: u32) -> bool {
        if (self.min, self.max) == (0, u32::MAX) {
            return true;
        }
        let lengths = (self.length + characters, self.min, self.max);
        let has_begun = self.has_begun || characters > 0;
        self.input
            .completion(position, has_begun, lengths)
            .is_some()
    }
}

/// How many characters of a span were read, and how many it may have at least and at most.
pub(crate) type Lengths = (u32, u32, u32);

impl Input {
    /// Where a span is completed that stands at a position: the first end with enough characters. `None` where these
    /// would be too many.
    pub(crate) fn completion(
        &self,
        position: u32,
        has_begun: bool,
        (length, min, max): Lengths,
    ) -> Option<u32> {
        // No span is empty. A character that has begun is counted.
        let missing = min.saturating_sub(length).max(u32::from(!has_begun));
        let first = self.character(position);
        let end = self.borders.end_from(self.start_of(first + missing)?)?;
        let length = length + (self.character(end) - first);
        (self.form_end(position) >= end && length <= max).then_some(end)
    }

    /// How many bytes of JSON the text between two positions takes.
    pub(crate) fn written_length(&self, position: u32, end: u32) -> u32 {
        escaped_length(&self.bytes[position as usize..end as usize])
    }
}
