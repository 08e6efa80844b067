//! Stop strings, matched byte by byte across token borders.

/// A set of stop strings, and how far each matches at the end of the text.
///
/// Knuth, Morris and Pratt 1977: each byte costs amortised constant time, however long the strings are.
#[derive(Debug, Clone)]
pub(super) struct StopStrings {
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    bytes: Vec<u8>,
    /// `borders[i]`: the length of the longest proper prefix that is also a suffix of the first `i + 1` bytes.
    borders: Vec<usize>,
    matched: usize,
}

/// A stop string at the end of the text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StopMatch {
    /// The index of the string.
    pub(super) index: usize,
    /// Its length in bytes.
    pub(super) len: usize,
}

impl StopStrings {
    /// Creates a set of strings, none of which may be empty.
    pub(super) fn new(strings: &[String]) -> Self {
        let patterns = strings.iter().map(|s| Pattern::new(s.as_bytes())).collect();
        Self { patterns }
    }

    /// Reads the next byte of the text; returns the longest string that ends with it, if any.
    pub(super) fn push(&mut self, byte: u8) -> Option<StopMatch> {
        let mut found: Option<StopMatch> = None;
        for (index, pattern) in self.patterns.iter_mut().enumerate() {
            let len = pattern.bytes.len();
            if pattern.push(byte) && found.is_none_or(|f| f.len < len) {
                found = Some(StopMatch { index, len });
            }
        }
        found
    }

    /// Returns how many bytes at the end of the text may be the start of a stop string.
    pub(super) fn held_back(&self) -> usize {
        self.patterns.iter().map(|p| p.matched).max().unwrap_or(0)
    }
}

impl Pattern {
    fn new(bytes: &[u8]) -> Self {
        let mut borders = vec![0; bytes.len()];
        let mut border = 0;
        for i in 1..bytes.len() {
            while border > 0 && bytes[i] != bytes[border] {
                border = borders[border - 1];
            }
            border += usize::from(bytes[i] == bytes[border]);
            borders[i] = border;
        }
        Self {
            bytes: bytes.to_vec(),
            borders,
            matched: 0,
        }
    }

    fn push(&mut self, byte: u8) -> bool {
        while self.matched > 0
            && (self.matched == self.bytes.len() || self.bytes[self.matched] != byte)
        {
            self.matched = self.borders[self.matched - 1];
        }
        self.matched += usize::from(self.bytes[self.matched] == byte);
        self.matched == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first_match(stops: &[String], text: &str) -> Option<(usize, usize)> {
        let mut strings = StopStrings::new(stops);
        text.bytes()
            .enumerate()
            .find_map(|(i, b)| strings.push(b).map(|m| (i + 1 - m.len, m.index)))
    }

    #[test]
    fn of_two_that_end_together_the_longer_wins() {
        let stops = ["b".to_owned(), "ab".to_owned()];
        assert_eq!(first_match(&stops, "xab"), Some((1, 1)));
    }

    #[test]
    fn a_failed_beginning_falls_back_to_its_border() {
        assert_eq!(first_match(&["aab".to_owned()], "aaab"), Some((1, 0)));
        let mut strings = StopStrings::new(&["aab".to_owned()]);
        for b in *b"xaa" {
            assert_eq!(strings.push(b), None);
        }
        assert_eq!(strings.held_back(), 2);
        strings.push(b'x');
        assert_eq!(strings.held_back(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_first_match_is_the_one_a_plain_search_finds(
            text in "[ab]{0,40}",
            stops in proptest::collection::vec("[ab]{1,5}", 1..4),
        ) {
            let expected = (1..=text.len()).find_map(|end| {
                let ending: Vec<_> = stops
                    .iter()
                    .filter(|s| text[..end].ends_with(s.as_str()))
                    .map(|s| end - s.len())
                    .collect();
                ending.into_iter().min()
            });
            prop_assert_eq!(first_match(&stops, &text).map(|(start, _)| start), expected);
        }
    }
}
