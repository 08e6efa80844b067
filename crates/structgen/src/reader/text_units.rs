//! The units of a text, and what the text has at their borders.

use std::ops::Range;

use super::units::Unit;
use super::words::{Word, words};

/// The units of a text, and where they begin among all.
pub(super) struct TextUnits {
    pub(super) first: usize,
    /// The bytes of each.
    pub(super) spans: Vec<Range<usize>>,
    /// Those at which a value can begin, and end.
    pub(super) starts: Vec<usize>,
    pub(super) ends: Vec<usize>,
    pub(super) words: Vec<Word>,
    /// The bytes at which sentences and lines end.
    sentence_ends: Vec<usize>,
}

impl TextUnits {
    /// Those of a text, which come after `first` others.
    pub(super) fn new(first: usize, units: &[Unit], text: &str) -> Self {
        let spans: Vec<Range<usize>> = units.iter().map(|unit| unit.start..unit.end).collect();
        let before = |at: usize| text.get(..at).and_then(|text| text.chars().next_back());
        let after = |at: usize| text.get(at..).and_then(|text| text.chars().next());
        let is_word = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
        let is_space = |it: Option<char>| it.is_none_or(char::is_whitespace);
        let is_border = |at: usize| !(is_word(before(at)) && is_word(after(at)));
        let is_end = |&(at, letter): &(usize, char)| {
            let is_mark = matches!(letter, '.' | ';' | '!' | '?');
            letter == '\n' || is_mark && is_space(after(at + letter.len_utf8()))
        };
        let sentence_ends = text.char_indices().filter(is_end).map(|(at, _)| at);
        Self {
            starts: { spans.iter().enumerate() }
                .filter(|(_, span)| is_border(span.start) && !is_space(after(span.start)))
                .map(|(at, _)| at)
                .collect(),
            ends: { spans.iter().enumerate() }
                .filter(|(_, span)| is_border(span.end) && !is_space(before(span.end)))
                .map(|(at, _)| at)
                .collect(),
            words: words(text),
            sentence_ends: sentence_ends.collect(),
            first,
            spans,
        }
    }

    /// The unit that has a byte.
    pub(super) fn at(&self, byte: usize) -> Option<usize> {
        let at = self.spans.partition_point(|span| span.end <= byte);
        (at < self.spans.len()).then_some(at)
    }

    /// The number of the sentence that has a byte.
    pub(super) fn sentence(&self, byte: usize) -> usize {
        self.sentence_ends.partition_point(|&end| end < byte)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::units::units;
    use super::*;

    pub(crate) fn units_of(text: &str) -> TextUnits {
        TextUnits::new(0, &units(text), text)
    }

    #[test]
    fn values_begin_and_end_at_borders_of_words() {
        let text = "Total: 12.50 €";
        let units = units_of(text);
        assert_eq!(units.starts, [0, 1, 2, 3, 4, 5]);
        assert_eq!(units.ends, [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            [units.at(0), units.at(4), units.at(15), units.at(16)],
            [Some(0), Some(0), Some(5), None]
        );
    }

    #[test]
    fn sentences_end_at_marks_before_spaces_and_at_lines() {
        let units = units_of("At 12.50, ok? Yes:\nno; end");
        let sentences: Vec<usize> = { units.words.iter() }
            .map(|word| units.sentence(word.start))
            .collect();
        assert_eq!(sentences, [0, 0, 0, 0, 1, 2, 3]);
    }
}
