//! The numbers of a text, and how likely it is that it means each.

use std::cmp::Reverse;
use std::ops::Range;

use structgen_automata::Input;
use structgen_constraint::CandidateValue;
use structgen_grammar::Decimal;

use super::spans::{Candidate, placed};
use super::text_units::TextUnits;

/// The logarithm of how probable the less likely reading of a mark is beside the other one: `1.234` is more likely 1234
/// in German, and 1.234 in English.
const OTHER_MARK: f64 = -2.0;

/// The logarithm of how probable it is that digits inside a longer number, such as the 234 of `1 234,50`, are a value
/// of their own.
const PART_OF_NUMBER: f64 = -3.0;

/// The logarithm of how probable it is that digits right after letters, as in `west-2` or `LF1M`, are a value of their
/// own.
const PART_OF_WORD: f64 = -3.0;

/// The numbers of the text. Integers have no fractions.
pub(super) fn numbers(is_whole: bool, input: &Input, units: &TextUnits) -> Vec<Candidate> {
    let mut numbers: Vec<(&Decimal, &Range<usize>, usize)> = { input.candidates().iter() }
        .filter_map(|it| match &it.value {
            CandidateValue::Number(number) if !is_whole || number.is_integer() => {
                Some((number, &it.span, it.reading))
            }
            _ => None,
        })
        .collect();
    // What a longer part of the text means is more certain: `1.234 €` is no fraction, so its 1.234 is none either.
    numbers.sort_by_key(|(_, span, reading)| (span.start, Reverse(span.end), *reading));
    let grouped = grouped_numbers(input, numbers.iter().map(|(_, span, _)| *span));
    let mut found = Vec::with_capacity(numbers.len());
    for here in numbers.chunk_by(|(_, a, _), (_, b, _)| a.start == b.start) {
        for (number, span, _) in here {
            let Some(mut candidate) = placed(number.to_string(), span, units) else {
                continue;
            };
            let likeliest = { here.iter().map(|(other, ..)| *other) }
                .find(|other| other == number || differ_by_mark(number, other));
            if likeliest != Some(*number) {
                candidate.ln_meant += OTHER_MARK;
            }
            if is_within(&grouped, digits(span, input.text())) {
                candidate.ln_meant += PART_OF_NUMBER;
            }
            if is_in_word(span, input.text()) {
                candidate.ln_meant += PART_OF_WORD;
            }
            found.push(candidate);
        }
    }
    found
}

/// Whether letters stand right before a number, with or without a hyphen; not a single x, as `x2` means two times.
fn is_in_word(span: &Range<usize>, text: &str) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let word = before.strip_suffix('-').unwrap_or(before);
    let mut letters = word.chars().rev().take_while(|c| c.is_alphabetic());
    match letters.next() {
        None => false,
        Some('x' | 'X') => letters.next().is_some(),
        Some(_) => true,
    }
}

/// Whether two numbers are written the same, if the mark between their digits is one of thousands for one of them.
fn differ_by_mark(a: &Decimal, b: &Decimal) -> bool {
    a.digits() == b.digits() && (a.exponent() - b.exponent()).abs() == 3
}

/// The part of a span from its first digit to its last; an empty one where it has none.
fn digits(span: &Range<usize>, text: &str) -> Range<usize> {
    let is_digit = |c: char| c.is_ascii_digit();
    let own = text.get(span.clone()).unwrap_or_default();
    match (own.find(is_digit), own.rfind(is_digit)) {
        (Some(first), Some(last)) => span.start + first..span.start + last + 1,
        _ => span.start..span.start,
    }
}

/// Those of some numbers, in the order of their places, that are written in groups after spaces. None is within
/// another.
fn grouped_numbers<'s>(
    input: &Input,
    spans: impl Iterator<Item = &'s Range<usize>>,
) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for span in spans.map(|span| digits(span, input.text())) {
        let is_outer = found.last().is_none_or(|last| last.end < span.end);
        if is_outer && is_grouped(&input.text()[span.clone()]) {
            found.push(span);
        }
    }
    found
}

/// Whether a number has groups of three digits after spaces.
fn is_grouped(number: &str) -> bool {
    let is_space = |c: char| matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let whole = { number.split_once(['.', ',']) }.map_or(number, |(whole, _)| whole);
    let mut groups = whole.split(is_space);
    let has_digits = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    groups.next().is_some_and(has_digits)
        && whole.contains(is_space)
        && groups.all(|group| has_digits(group) && group.len() == 3)
}

/// Whether a span is within one of some others, but is not all of it.
fn is_within(spans: &[Range<usize>], span: Range<usize>) -> bool {
    let at = spans.partition_point(|it| it.start <= span.start);
    let outer = at.checked_sub(1).map(|at| &spans[at]);
    outer.is_some_and(|outer| !span.is_empty() && span.end <= outer.end && span != *outer)
}

#[cfg(test)]
mod tests {
    use super::super::text_units::tests::units_of;
    use super::*;

    /// How likely it is that a text means each of its numbers, as logarithms.
    fn meant(is_whole: bool, text: &str) -> Vec<(String, f64)> {
        let input = crate::recognized_input(text).unwrap();
        let found = numbers(is_whole, &input, &units_of(text));
        found.into_iter().map(|it| (it.text, it.ln_meant)).collect()
    }

    #[track_caller]
    fn check_meant(text: &str, expected: &[(&str, f64)]) {
        let found = meant(false, text);
        for &(number, ln_meant) in expected {
            let own = found.iter().filter(|(text, _)| text == number);
            let own: Vec<f64> = own.map(|&(_, ln)| ln).collect();
            assert!(!own.is_empty(), "{text}: {number} of {found:?}");
            let is_expected = |&ln: &f64| (ln - ln_meant).abs() < 1e-9;
            assert!(own.iter().all(is_expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn marks_between_digits_are_those_of_the_language() {
        let other = OTHER_MARK;
        check_meant("Es sind 1.234", &[("1234", 0.0), ("1.234", other)]);
        check_meant("It is 1.234 m", &[("1.234", 0.0), ("1234", other)]);
        check_meant("It is 1.234 €", &[("1234", 0.0), ("1.234", other)]);
        check_meant("We pay 2,079 zł", &[("2079", 0.0), ("2.079", other)]);
        check_meant(
            "Er hat 41.900 € geboten",
            &[("41900", 0.0), ("41.9", other)],
        );
        assert_eq!(meant(true, "It is 1.234 m"), [("1234".to_owned(), 0.0)]);
    }

    #[test]
    fn values_that_follow_from_others_are_as_likely() {
        check_meant(
            "half an hour, 2 hours",
            &[("0.5", 0.0), ("30", 0.0), ("120", 0.0)],
        );
        check_meant("at 5 %", &[("5", 0.0), ("0.05", 0.0)]);
    }

    #[test]
    fn numbers_right_after_letters_are_less_likely() {
        let part = PART_OF_WORD;
        check_meant(
            "db-west-2 on LF1M: latte x7, 3 tea, EUR 4, 5kg",
            &[
                ("2", part),
                ("1", part),
                ("7", 0.0),
                ("3", 0.0),
                ("4", 0.0),
                ("5", 0.0),
            ],
        );
    }

    #[test]
    fn parts_of_a_number_are_less_likely() {
        let part = PART_OF_NUMBER;
        check_meant(
            "payé 1 454,95 € sur 12 345 678, le 12 mai 2024 à 9 h",
            &[
                ("1454.95", 0.0),
                ("1", part),
                ("454.95", part),
                ("12345678", 0.0),
                ("345", part),
                ("678", part),
                ("2024", 0.0),
                ("9", 0.0),
            ],
        );
        check_meant(
            "Bolt,5,120,blue: 2 of 300 and 40 500",
            &[
                ("5", 0.0),
                ("120", 0.0),
                ("2", 0.0),
                ("300", 0.0),
                ("500", part),
            ],
        );
    }
}
