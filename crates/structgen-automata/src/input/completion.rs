//! Where a span of an input that has begun is completed.

use super::{Input, OpenSpan, first_bytes};
use crate::bytes::escaped_length;

/// How many characters of a span were read, and how many it may have at least and at most.
pub(crate) type Lengths = (u32, u32, u32);

impl Input {
    /// Where a span is completed that stands at a position: the first end with enough characters. `None` where these
    /// would be too many.
    pub(crate) fn completion(
        &self,
        OpenSpan {
            position,
            first_end,
        }: OpenSpan,
        (length, min, max): Lengths,
    ) -> Option<u32> {
        // A character that has begun is counted.
        let missing = min.saturating_sub(length);
        let first = self.character(position);
        let long_enough = self.start_of(first + missing)?;
        let end = self.borders.end_from(long_enough.max(first_end))?;
        let length = length + (self.character(end) - first);
        (self.form_end(position) >= end && length <= max).then_some(end)
    }

    /// How many bytes of JSON the text between two positions takes.
    pub(crate) fn written_length(&self, position: u32, end: u32) -> u32 {
        escaped_length(&self.bytes[position as usize..end as usize])
    }

    /// Sorts positions so that those with the same text after them stand together, up to eight bytes of it.
    pub(crate) fn sort_by_text(&self, positions: &mut [OpenSpan]) {
        positions.sort_unstable_by_key(|at| first_bytes(&self.bytes, at.position));
    }
}
