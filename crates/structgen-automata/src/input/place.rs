//! A place in a span of an input.

use std::sync::Arc;

use super::{Input, Spans, SpansState};
use crate::bytes::escaped_length;

/// Where in an input a span goes on, between two of its characters: a walk over many continuations needs no state of a
/// machine for each.
#[derive(Clone, Debug)]
pub struct GroundedPlace {
    input: Arc<Input>,
    places: Vec<u32>,
    has_begun: bool,
    length: u32,
    min: u32,
    max: u32,
}

impl GroundedPlace {
    /// The place of a state, with so many characters read, of so many at least and at most.
    pub(crate) fn new(spans: &Spans, at: SpansState, (length, min, max): (u32, u32, u32)) -> Self {
        Self {
            input: spans.input().clone(),
            places: spans.places(at).collect(),
            has_begun: at.depth > 0,
            length,
            min,
            max,
        }
    }

    /// The places of the text at which the span may go on.
    #[must_use]
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The byte at a place, unescaped; `None` at the end of the text.
    #[inline]
    #[must_use]
    pub fn byte(&self, place: u32) -> Option<u8> {
        self.input.byte(place)
    }

    /// Whether the span may end before a place, so many characters further on.
    #[inline]
    #[must_use]
    pub fn may_end(&self, place: u32, characters: u32) -> bool {
        (self.has_begun || characters > 0)
            && self.length + characters >= self.min
            && self.input.may_end(place)
    }

    /// Whether the span can be completed from a place, so many characters further on.
    #[inline]
    #[must_use]
    pub fn is_live(&self, place: u32, characters: u32) -> bool {
        if (self.min, self.max) == (0, u32::MAX) {
            return true;
        }
        let lengths = (self.length + characters, self.min, self.max);
        let has_begun = self.has_begun || characters > 0;
        length_cost(&self.input, place, has_begun, lengths).is_some()
    }
}

/// What is left to write from a place in the input up to the first end with enough characters; `None` where they would
/// be too many.
pub(crate) fn length_cost(
    input: &Input,
    mut place: u32,
    mut has_begun: bool,
    (mut length, min, max): (u32, u32, u32),
) -> Option<u32> {
    let mut cost = 0_u32;
    loop {
        if has_begun && length >= min && input.may_end(place) {
            return (length <= max).then_some(cost);
        }
        let byte = input.byte(place).filter(|_| length <= max)?;
        let begins = byte & 0xC0 != 0x80;
        length += u32::from(begins);
        cost += escaped_length(&[byte]);
        has_begun = true;
        place += 1;
    }
}
