//! Finds where in an input a value occurs.

use std::ops::Range;

use structgen_grammar::Decimal;

use super::{CandidateValue, Input};

impl Input {
    /// Returns the spans of the text, in bytes, that are written as this string: those at word boundaries, and those
    /// recognised as this string in some format or notation. Sorted, without duplicates.
    #[must_use]
    pub fn sources_of_string(&self, value: &str) -> Vec<Range<usize>> {
        let indent = self.text.len() - self.text.trim_start().len();
        let trimmed = self.text.trim();
        let mut sources = Vec::new();
        let mut add = |span: Range<usize>| sources.push(indent + span.start..indent + span.end);
        self.occurrences(value, trimmed, 0).for_each(&mut add);
        let second = trimmed.len() + 1;
        if let Some(spaced) = self.bytes.get(second..self.ends[1] as usize) {
            let spaced = str::from_utf8(spaced).unwrap_or_default();
            let mut words = Vec::new();
            let mut at = 0;
            for word in trimmed.split_whitespace() {
                words.push((at, word.as_ptr().addr() - trimmed.as_ptr().addr()));
                at += word.len() + 1;
            }
            let in_text = |position: usize| {
                let word = words
                    .partition_point(|&(at, _)| at <= position)
                    .saturating_sub(1);
                words
                    .get(word)
                    .map_or(0, |&(at, original)| original + position - at)
            };
            for span in self.occurrences(value, spaced, second) {
                // A span does not end with whitespace, so its last byte is in a word.
                add(in_text(span.start)..in_text(span.end - 1) + 1);
            }
        }
        sources.extend(self.recognised(|it| match it {
            CandidateValue::String { text, .. } | CandidateValue::OtherNotation(text) => {
                **text == *value
            }
            CandidateValue::Number(_) => false,
        }));
        sources.sort_unstable_by_key(|span| (span.start, span.end));
        sources.dedup();
        sources
    }

    /// Returns the spans of the text, in bytes, that were recognised as this number. Sorted, without duplicates.
    #[must_use]
    pub fn sources_of_number(&self, value: &Decimal) -> Vec<Range<usize>> {
        let is_it =
            |it: &CandidateValue| matches!(it, CandidateValue::Number(number) if number == value);
        let mut sources: Vec<Range<usize>> = self.recognised(is_it).collect();
        sources.sort_unstable_by_key(|span| (span.start, span.end));
        sources.dedup();
        sources
    }

    /// Converts a span from bytes to characters.
    #[must_use]
    pub fn in_characters(&self, bytes: &Range<usize>) -> Range<usize> {
        let count = |end: usize| {
            let before = self.text.as_bytes().get(..end).unwrap_or_default();
            before.iter().filter(|&byte| byte & 0xC0 != 0x80).count()
        };
        count(bytes.start)..count(bytes.end)
    }

    /// Returns the occurrences of the value, from border to border, in a form of the text that begins at this position.
    fn occurrences<'i>(
        &'i self,
        value: &'i str,
        form: &'i str,
        offset: usize,
    ) -> impl Iterator<Item = Range<usize>> + 'i {
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let first = value.chars().next()?;
                let start = from + form.get(from..)?.find(value)?;
                let end = start + value.len();
                from = start + first.len_utf8();
                let (first, last) = ((offset + start) as u32, (offset + end) as u32);
                if self.borders.is_start(first)
                    && self.borders.is_end(last)
                    && last >= self.borders.first_end(first)
                {
                    return Some(start..end);
                }
            }
        })
    }

    fn recognised(
        &self,
        is_it: impl Fn(&CandidateValue) -> bool,
    ) -> impl Iterator<Item = Range<usize>> {
        let found = self.candidates.iter().filter(move |it| is_it(&it.value));
        found.map(|it| it.span.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Candidate;

    fn texts(input: &Input, value: &str) -> Vec<String> {
        let sources = input.sources_of_string(value).into_iter();
        sources.map(|span| input.text()[span].to_owned()).collect()
    }

    #[test]
    fn a_string_is_found_from_border_to_border_in_any_whitespace() {
        let input = Input::new("  Ada  was\nAda\n\twas, Adam ").unwrap();
        assert_eq!(texts(&input, "Ada was"), ["Ada  was", "Ada\n\twas"]);
        assert_eq!(texts(&input, "Ada\n\twas"), ["Ada\n\twas"]);
        assert_eq!(texts(&input, "Ada"), ["Ada", "Ada"]);
        assert_eq!(texts(&input, ", Adam"), [", Adam"]);
        assert_eq!(texts(&input, "dam"), [""; 0]);
        assert_eq!(texts(&input, ""), [""; 0]);
        assert_eq!(input.sources_of_string("Adam")[0], 21..25);
    }

    #[test]
    fn occurrences_may_overlap() {
        let input = Input::new("a a a").unwrap();
        assert_eq!(input.sources_of_string("a a"), [0..3, 2..5]);
    }

    #[test]
    fn what_was_recognised_is_where_it_was_read() {
        let candidate = |span, value| Candidate {
            span,
            value,
            reading: 0,
        };
        let three = CandidateValue::Number(3.into());
        let date = CandidateValue::String {
            format: "date".into(),
            text: "2024-05-12".into(),
        };
        let found = [candidate(0..5, three), candidate(9..20, date)];
        let input = Input::with_candidates("three on 12 May 2024 ü3", found).unwrap();
        assert_eq!(input.sources_of_number(&3.into())[0], 0..5);
        assert_eq!(input.sources_of_number(&4.into()), []);
        assert_eq!(input.sources_of_string("2024-05-12")[0], 9..20);
        assert_eq!(input.in_characters(&(21..24)), 21..23);
    }
}
