//! The tokens of a text, and what the text has at their borders.

use std::ops::Range;

use super::words::{Word, words};

/// The tokens of a text, and where they begin among all.
pub(super) struct TextTokens {
    pub(super) first: usize,
    /// The bytes of each.
    pub(super) spans: Vec<Range<usize>>,
    /// Those at which a value can begin, and end.
    pub(super) starts: Vec<usize>,
    pub(super) ends: Vec<usize>,
    pub(super) words: Vec<Word>,
    /// The bytes at which lines end.
    line_ends: Vec<usize>,
    /// The bytes at which sentences and lines end.
    sentence_ends: Vec<usize>,
    /// The bytes at which sentences, lines and parts of sentences end.
    breaks: Vec<usize>,
}

impl TextTokens {
    pub(super) fn new(first: usize, spans: Vec<Range<usize>>, text: &str) -> Self {
        let before = |at: usize| text.get(..at).and_then(|text| text.chars().next_back());
        let after = |at: usize| text.get(at..).and_then(|text| text.chars().next());
        let is_word = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
        let is_space = |it: Option<char>| it.is_none_or(char::is_whitespace);
        // A token that ends within a character has no border there.
        let is_border =
            |at: usize| text.is_char_boundary(at) && !(is_word(before(at)) && is_word(after(at)));
        let tokens = || {
            spans
                .iter()
                .enumerate()
                .filter(|(_, span)| !span.is_empty())
        };
        let ends_with = |marks: &'static [char]| {
            { text.char_indices() }
                .filter(|&(at, letter)| {
                    letter == '\n'
                        || marks.contains(&letter) && is_space(after(at + letter.len_utf8()))
                })
                .map(|(at, _)| at)
                .collect()
        };
        Self {
            starts: tokens()
                .filter(|(_, span)| is_border(span.start) && !is_space(after(span.start)))
                .map(|(at, _)| at)
                .collect(),
            ends: tokens()
                .filter(|(_, span)| is_border(span.end) && !is_space(before(span.end)))
                .map(|(at, _)| at)
                .collect(),
            words: words(text),
            line_ends: ends_with(&[]),
            sentence_ends: ends_with(&['.', ';', '!', '?']),
            breaks: ends_with(&['.', ';', '!', '?', ':', ',']),
            first,
            spans,
        }
    }

    /// The token that has a byte.
    pub(super) fn at(&self, byte: usize) -> Option<usize> {
        let at = self.spans.partition_point(|span| span.end <= byte);
        (at < self.spans.len()).then_some(at)
    }

    /// The number of the line that a token is in.
    pub(super) fn line(&self, token: usize) -> usize {
        let start = self.spans[token].start;
        self.line_ends.partition_point(|&end| end < start)
    }

    /// The number of the sentence that has a byte.
    pub(super) fn sentence(&self, byte: usize) -> usize {
        self.sentence_ends.partition_point(|&end| end < byte)
    }

    /// Where a sentence ends, if not with the text.
    pub(super) fn sentence_end(&self, sentence: usize) -> Option<usize> {
        self.sentence_ends.get(sentence).copied()
    }

    /// How many ends of sentences, lines and parts of sentences these bytes have.
    pub(super) fn breaks_in(&self, bytes: Range<usize>) -> usize {
        let before = |byte: usize| self.breaks.partition_point(|&at| at < byte);
        before(bytes.end).saturating_sub(before(bytes.start))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A text whose tokens are its words, spaces and other characters.
    pub(crate) fn tokens_of(text: &str) -> TextTokens {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut last: Option<char> = None;
        for (at, letter) in text.char_indices() {
            let end = at + letter.len_utf8();
            match spans.last_mut() {
                Some(span)
                    if letter.is_alphanumeric() && last.is_some_and(char::is_alphanumeric) =>
                {
                    span.end = end;
                }
                _ => spans.push(at..end),
            }
            last = Some(letter);
        }
        TextTokens::new(0, spans, text)
    }

    #[test]
    fn values_begin_and_end_at_borders_of_words() {
        let text = "Total: 12.50 €";
        let spans = [
            0..3,
            3..5,
            5..6,
            6..7,
            7..8,
            8..9,
            9..10,
            10..11,
            11..12,
            12..13,
            13..16,
        ];
        let tokens = TextTokens::new(4, spans.to_vec(), text);
        assert_eq!(tokens.starts, [0, 2, 4, 6, 7, 10]);
        assert_eq!(tokens.ends, [1, 2, 5, 6, 8, 10]);
        assert_eq!(
            [tokens.at(0), tokens.at(4), tokens.at(15), tokens.at(16)],
            [Some(0), Some(1), Some(10), None]
        );
    }

    #[test]
    fn sentences_end_at_marks_before_spaces_and_at_lines() {
        let tokens = tokens_of("At 12.50, ok? Yes:\nno; end");
        let sentences: Vec<usize> = { tokens.words.iter() }
            .map(|word| tokens.sentence(word.start))
            .collect();
        assert_eq!(sentences, [0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(tokens.sentence_end(0), Some(12));
        assert_eq!(tokens.sentence_end(3), None);
        assert_eq!(tokens.breaks_in(0..8), 0);
        assert_eq!(tokens.breaks_in(0..9), 1);
        assert_eq!(tokens.breaks_in(0..19), 4);
    }
}
