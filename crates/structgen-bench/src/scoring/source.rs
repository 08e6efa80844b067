//! The text that answers come from, and what occurs in it.

use std::ops::Range;

/// A text in which values are searched for. Runs of whitespace count as one space.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    numbers: Vec<f64>,
}

impl Source {
    /// Creates it from a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = one_spaced(text);
        let numbers = numbers(&text);
        Self { text, numbers }
    }

    /// Returns whether the text contains a string.
    #[must_use]
    pub fn contains(&self, part: &str) -> bool {
        self.spans(&one_spaced(part)).next().is_some()
    }

    /// Returns whether two strings occur in the text such that they overlap.
    #[must_use]
    pub fn overlap(&self, a: &str, b: &str) -> bool {
        let (a, b) = (one_spaced(a), one_spaced(b));
        self.spans(&a)
            .any(|a| self.spans(&b).any(|b| a.start < b.end && b.start < a.end))
    }

    /// Returns whether a number occurs in the text in digits, of either sign, with a point or a comma before its
    /// decimals and with or without thousands separators.
    #[must_use]
    pub fn has_number(&self, number: f64) -> bool {
        self.numbers.contains(&number.abs())
    }

    /// Returns the occurrences of a string that is not empty.
    fn spans<'t>(&'t self, part: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let matches = (!part.is_empty()).then(|| self.text.match_indices(part));
        let span = |(at, part): (usize, &str)| at..at + part.len();
        matches.into_iter().flatten().map(span)
    }
}

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns every number that the text's digits may mean.
fn numbers(text: &str) -> Vec<f64> {
    const MARKS: [char; 5] = ['.', ',', '\'', '’', ' '];
    let mut found = Vec::new();
    let is_digit = |c: char| c.is_ascii_digit();
    for run in text.split(|c: char| !is_digit(c) && !MARKS.contains(&c)) {
        let words = run.split(' ').map(|word| word.trim_matches(MARKS));
        for word in words.clone() {
            found.extend(readings(word));
            found.extend(
                word.split(|c| !is_digit(c))
                    .filter_map(|digits| digits.parse::<f64>().ok()),
            );
        }
        // Thousands may be separated by spaces.
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        for first in 0..words.len() {
            let mut joined = words[first].to_owned();
            for word in &words[first + 1..] {
                let digits = word.chars().take_while(|&c| is_digit(c)).count();
                if digits != 3 {
                    break;
                }
                joined.push_str(word);
                found.extend(readings(&joined));
            }
        }
    }
    found
}

/// Parses a word of digits and marks, with the point as its decimal mark and with the comma.
fn readings(word: &str) -> impl Iterator<Item = f64> {
    let plain = |decimal: char| {
        { word.chars() }
            .filter(|&c| c.is_ascii_digit() || c == decimal)
            .map(|c| if c == decimal { '.' } else { c })
            .collect::<String>()
    };
    [plain('.'), plain(',')]
        .into_iter()
        .filter_map(|number| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_across_line_ends() {
        let source = Source::new("Meet Ada\n  Lovelace at noon.");
        assert!(source.contains("Ada Lovelace") && source.contains("Ada  Lovelace at"));
        assert!(!source.contains("ada") && !source.contains("") && !source.contains(" "));
    }

    #[test]
    fn spans_overlap_where_they_share_characters() {
        let source = Source::new("Ada Lovelace was 36 when Ada died");
        assert!(source.overlap("Ada Lovelace", "Ada Lovelace was"));
        assert!(source.overlap("Lovelace was", "Ada Lovelace"));
        assert!(!source.overlap("Ada Lovelace", "was 36"));
        assert!(!source.overlap("Ada Lovelace", "Byron"));
    }

    #[test]
    fn numbers_are_found_in_many_notations() {
        let source =
            Source::new("1.234,50 EUR, 12,5 %, 3 000 000 m², 1'200.75; -7. 12.05.2024, 0176 555");
        for number in [
            1234.5, 12.5, 3e6, 1200.75, 7.0, -7.0, 12.0, 5.0, 2024.0, 176.0,
        ] {
            assert!(source.has_number(number), "{number}");
        }
        for number in [0.5, 1235.0, 36.0, 2025.0] {
            assert!(!source.has_number(number), "{number}");
        }
    }
}
