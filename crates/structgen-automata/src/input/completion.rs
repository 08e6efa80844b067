//! Where a span of an input that has begun is completed.

use super::{Input, first_bytes};
use crate::bytes::escaped_length;

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

    /// Sorts positions so that those with the same text after them stand together, up to eight bytes of it.
    pub(crate) fn sort_by_text(&self, positions: &mut [u32]) {
        positions.sort_unstable_by_key(|&position| first_bytes(&self.bytes, position));
    }
}
