//! The text of a sequence: token bytes in, whole characters out.

use std::ops::Range;

use super::stop::{StopMatch, StopStrings};

/// The length of U+FFFD in bytes.
const REPLACED: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// Collects the bytes of the output and returns what is final, cut at character borders.
///
/// It holds back incomplete characters and, if stop strings are trimmed, a possible start of one.
#[derive(Debug, Clone)]
pub(super) struct OutputText {
    bytes: Vec<u8>,
    text: String,
    /// The number of bytes that `text` covers.
    decoded: usize,
    /// The number of bytes of `text` that were returned.
    delivered: usize,
    stops: StopStrings,
    trim: bool,
    /// The bytes replaced by U+FFFD, and their position in `text`.
    replaced: Vec<(Range<usize>, usize)>,
}

impl OutputText {
    pub(super) fn new(stops: &[String], trim: bool) -> Self {
        Self {
            bytes: Vec::new(),
            text: String::new(),
            decoded: 0,
            delivered: 0,
            stops: StopStrings::new(stops),
            trim,
            replaced: Vec::new(),
        }
    }

    /// Appends a token's bytes. A stop string ends the text, and the rest of the token is dropped.
    pub(super) fn push(&mut self, token: &[u8]) -> Option<StopMatch> {
        for &byte in token {
            self.bytes.push(byte);
            if let Some(found) = self.stops.push(byte) {
                if self.trim {
                    self.bytes.truncate(self.bytes.len() - found.len);
                }
                return Some(found);
            }
        }
        None
    }

    /// Appends bytes without looking for stop strings.
    pub(super) fn push_prefill(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the number of bytes so far, including those held back.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the text so far, including what is held back.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the text that became final since the last call.
    pub(super) fn take_delta(&mut self) -> &str {
        let held = if self.trim { self.stops.held_back() } else { 0 };
        self.decode(self.bytes.len() - held, false);
        self.deliver()
    }

    /// Returns the rest of the text, after the last token. An incomplete character becomes U+FFFD.
    pub(super) fn finish(&mut self) -> &str {
        self.decode(self.bytes.len(), true);
        self.deliver()
    }

    /// Returns the position of some bytes in the finished text.
    pub(super) fn span(&self, bytes: Range<usize>) -> Range<usize> {
        let start = self.place(bytes.start, 0);
        start..self.place(bytes.end, REPLACED).max(start)
    }

    /// Returns the position of a byte in the text. Within replaced bytes, it is as far after the start of the
    /// replacement.
    fn place(&self, byte: usize, within: usize) -> usize {
        let byte = byte.min(self.bytes.len());
        let before = self.replaced.partition_point(|(gone, _)| gone.start < byte);
        match self.replaced[..before].last() {
            None => byte,
            Some((gone, at)) if byte < gone.end => at + within,
            Some((gone, at)) => at + REPLACED + (byte - gone.end),
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn deliver(&mut self) -> &str {
        let start = std::mem::replace(&mut self.delivered, self.text.len());
        &self.text[start..]
    }

    fn decode(&mut self, end: usize, last: bool) {
        let mut rest = self.bytes.get(self.decoded..end).unwrap_or_default();
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    self.text.push_str(valid);
                    rest = &[];
                }
                Err(error) => {
                    let (valid, tail) = rest.split_at(error.valid_up_to());
                    // The prefix is valid by the definition of the error; lossy decoding does not change it.
                    self.text.push_str(&String::from_utf8_lossy(valid));
                    rest = tail;
                    match error.error_len() {
                        None if !last => break,
                        invalid => {
                            let len = invalid.unwrap_or(rest.len());
                            let start = end - rest.len();
                            self.replaced.push((start..start + len, self.text.len()));
                            self.text.push(char::REPLACEMENT_CHARACTER);
                            rest = &rest[len..];
                        }
                    }
                }
            }
        }
        self.decoded = end.max(self.decoded) - rest.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_split_over_tokens_come_out_whole() {
        let mut text = OutputText::new(&[], true);
        text.push(b"a\xe2\x82");
        assert_eq!(text.take_delta(), "a");
        text.push(b"\xac!");
        assert_eq!(text.take_delta(), "\u{20ac}!");
        assert_eq!(text.finish(), "");
    }

    #[test]
    fn a_character_that_is_never_finished_is_replaced() {
        let mut text = OutputText::new(&[], true);
        text.push(b"a\xe2\x82");
        text.take_delta();
        assert_eq!(text.finish(), "\u{fffd}");
        assert_eq!(text.into_text(), "a\u{fffd}");
    }

    #[test]
    fn the_beginning_of_a_stop_string_is_held_back_until_it_is_none() {
        let mut text = OutputText::new(&["END".to_owned()], true);
        text.push(b"xE");
        assert_eq!(text.take_delta(), "x");
        text.push(b"NE");
        assert_eq!(text.take_delta(), "EN");
        assert!(text.push(b"NDzzz").is_some());
        assert_eq!(text.len(), 3);
        assert_eq!(text.finish(), "");
        assert_eq!(text.into_text(), "xEN");
    }

    #[test]
    fn a_kept_stop_string_stays_and_the_rest_of_the_token_goes() {
        let mut text = OutputText::new(&["END".to_owned()], false);
        text.push(b"xE");
        assert_eq!(text.take_delta(), "xE");
        assert!(text.push(b"NDzzz").is_some());
        assert_eq!(text.finish(), "ND");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn deltas_join_to_the_lossy_text(
            tokens in proptest::collection::vec(
                prop_oneof![
                    proptest::collection::vec(any::<u8>(), 1..4),
                    "\\PC{1,3}".prop_map(String::into_bytes),
                ],
                0..20,
            ),
            cut in 0usize..4,
        ) {
            let mut bytes: Vec<u8> = tokens.concat();
            bytes.truncate(bytes.len().saturating_sub(cut));
            let mut text = OutputText::new(&["zz".to_owned()], true);
            let mut joined = String::new();
            let mut stopped = false;
            for chunk in bytes.chunks(3) {
                stopped |= text.push(chunk).is_some();
                if stopped {
                    break;
                }
                joined.push_str(text.take_delta());
            }
            joined.push_str(text.finish());
            let end = bytes.windows(2).position(|w| w == b"zz").unwrap_or(bytes.len());
            let expected = String::from_utf8_lossy(&bytes[..end]).into_owned();
            prop_assert_eq!(&joined, &expected);
            prop_assert_eq!(text.into_text(), expected);
        }
    }
}
