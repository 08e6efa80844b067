//! Texts that exceed the model's context.

use std::ops::Range;

use crate::Result;

/// How to handle a text that exceeds the model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LongText {
    /// Read it in windows that overlap by an eighth, and merge the answers
    /// ([`Confidence::merge`](structgen_decode::Confidence::merge)): objects get the members of all, arrays the items
    /// of all, and of other values the most probable one is taken.
    #[default]
    Windows,
    /// Fail if the prompt and the shortest answer exceed the context. A text that would be read in windows only to
    /// leave an eighth of the context for the answer is read at once.
    Refuse,
}

/// The share of a window that the next one repeats.
const OVERLAP: usize = 8;
/// A longer line is cut after the next sentence or word.
const LONG_LINE: usize = 160;
/// A longer word is cut.
const LONG_WORD: usize = 400;

/// Returns the overlapping windows in which to read a text, each of at most `room` tokens, as estimated from single
/// lines and sentences.
///
/// Windows start and end at line breaks, else after sentences, else after words. They cover every byte, and a text that
/// is not empty has at least one. `count` returns the number of tokens of a piece.
pub(crate) fn windows(
    text: &str,
    room: usize,
    mut count: impl FnMut(&str) -> Result<usize>,
) -> Result<Vec<Range<usize>>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = start + piece(&text[start..]);
        pieces.push((start..end, count(&text[start..end])?));
        start = end;
    }
    let mut windows = Vec::new();
    let mut first = 0;
    while first < pieces.len() {
        let (mut last, mut tokens) = (first, 0);
        while last < pieces.len() && (last == first || tokens + pieces[last].1 <= room) {
            tokens += pieces[last].1;
            last += 1;
        }
        windows.push(pieces[first].0.start..pieces[last - 1].0.end);
        if last == pieces.len() {
            break;
        }
        // The next window starts before this one ends, and after this one starts.
        let (mut next, mut shared) = (last, 0);
        while next > first + 1 && shared + pieces[next - 1].1 <= room / OVERLAP {
            next -= 1;
            shared += pieces[next].1;
        }
        // It must contain something new.
        while next < last && shared + pieces[last].1 > room {
            shared -= pieces[next].1;
            next += 1;
        }
        first = next;
    }
    Ok(windows)
}

/// Returns the length of a text's first piece: a line, or a part of a long one.
fn piece(text: &str) -> usize {
    let mut after_word = None;
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        if character == '\n' {
            return end;
        }
        if character.is_whitespace() {
            if end >= LONG_LINE && matches!(previous, '.' | '!' | '?' | ';' | ':') {
                return end;
            }
            after_word = Some(end);
        }
        if end >= LONG_WORD {
            return after_word.unwrap_or(end);
        }
        previous = character;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Result<usize> {
        Ok(text.split_whitespace().count())
    }

    #[test]
    fn windows_end_with_lines_and_overlap() {
        let text = "a a a a\nb b b b\nc c c c\nd d\ne e e e\n";
        let cut = windows(text, 16, words).unwrap();
        let cut: Vec<&str> = cut.into_iter().map(|window| &text[window]).collect();
        assert_eq!(cut, ["a a a a\nb b b b\nc c c c\nd d\n", "d d\ne e e e\n"]);
        assert!(windows("", 16, words).unwrap().is_empty());
    }

    #[test]
    fn long_lines_are_cut_after_sentences_and_words() {
        let sentence = format!("{}. ", "word ".repeat(40).trim_end());
        assert_eq!(piece(&sentence.repeat(2)), sentence.len());
        let endless = "word ".repeat(100);
        assert_eq!(piece(&endless), LONG_WORD);
        assert_eq!(piece(&"x".repeat(1_000)), LONG_WORD);
    }

    proptest! {
        #[test]
        fn windows_have_every_byte_and_go_on(text in "([a-z]{0,9}[ .\n]){0,200}|\\PC{0,900}", room in 0_usize..40) {
            let cut = windows(&text, room, words).unwrap();
            let mut end = 0;
            let mut start = None;
            for window in &cut {
                prop_assert!(window.start <= end && window.end > end);
                prop_assert!(start.is_none_or(|start| window.start > start));
                prop_assert!(text.is_char_boundary(window.start));
                (start, end) = (Some(window.start), window.end);
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
