//! Completes a span of an input.

use super::{Input, OpenSpan, first_bytes};
use crate::bytes::escaped_length;

/// The number of characters read of a span, and its minimum and maximum.
pub(crate) type Lengths = (u32, u32, u32);

impl Input {
    /// Returns the first end with enough characters for a span at a position; `None` if it would have too many.
    pub(crate) fn completion(
        &self,
        OpenSpan {
            position,
            first_end,
        }: OpenSpan,
        (length, min, max): Lengths,
    ) -> Option<u32> {
        // A character that has begun counts.
        let missing = min.saturating_sub(length);
        let first = self.character(position);
        let long_enough = self.start_of(first + missing)?;
        let end = self.borders.end_from(long_enough.max(first_end))?;
        let length = length + (self.character(end) - first);
        (self.form_end(position) >= end && length <= max).then_some(end)
    }

    /// Returns the number of bytes of the text between two positions in JSON.
    pub(crate) fn written_length(&self, position: u32, end: u32) -> u32 {
        escaped_length(&self.bytes[position as usize..end as usize])
    }

    /// Sorts positions by the text after them, up to eight bytes of it, so that equal texts are adjacent.
    pub(crate) fn sort_by_text(&self, positions: &mut [OpenSpan]) {
        positions.sort_unstable_by_key(|at| first_bytes(&self.bytes, at.position));
    }
}
