//! Dates and amounts in usual notations, for patterns that require one which the text does not use.

use std::ops::Range;

use structgen_recognize::{Candidate, Leaf, Number, Value, allowed};

/// Returns the dates and amounts of a text in other notations than that of a format, with their spans.
pub(super) fn other_notations(found: &[Candidate]) -> Vec<(Range<usize>, String)> {
    let mut notations = Vec::new();
    for date in allowed(found, Leaf::Date) {
        for text in notations_of_date(&date.text) {
            notations.extend(date.spans.iter().map(|span| (span.clone(), text.clone())));
        }
    }
    for Candidate { span, readings } in found {
        for number in readings.iter().filter_map(amount) {
            let texts = notations_of_amount(number).into_iter();
            notations.extend(texts.map(|text| (span.clone(), text)));
        }
    }
    notations
}

/// Returns an ISO 8601 date as `12.05.2024`, `12/05/2024`, `05/12/2024`, `12-05-2024`, `2024/05/12`, and with days,
/// months and years in fewer digits.
fn notations_of_date(date: &str) -> Vec<String> {
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else {
        return Vec::new();
    };
    let (short_month, short_day) = (month.trim_start_matches('0'), day.trim_start_matches('0'));
    let mut notations = vec![format!("{year}/{month}/{day}")];
    for (month, day) in [(month, day), (short_month, short_day)] {
        for year in [year, &year[year.len() - 2..]] {
            for mark in ['.', '/', '-'] {
                notations.push(format!("{day}{mark}{month}{mark}{year}"));
            }
            notations.push(format!("{month}/{day}/{year}"));
        }
    }
    notations
}

/// Returns the number of an amount of money, or a number with a fraction.
fn amount(value: &Value) -> Option<Number> {
    match value {
        Value::Amount { number, .. } => Some(*number),
        Value::Number(number) => Some(*number).filter(|it| it.to_string().contains('.')),
        _ => None,
    }
}

/// Returns a number with two decimals as `1234.50`, `1234,50`, `1,234.50` and `1.234,50`; none if it has more.
fn notations_of_amount(number: Number) -> Vec<String> {
    let text = number.shortest().to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > 2 {
        return Vec::new();
    }
    let mut notations = Vec::new();
    for (mark, group) in [('.', ','), (',', '.')] {
        notations.push(format!("{whole}{mark}{fraction:0<2}"));
        let grouped = grouped(whole, group);
        if grouped != whole {
            notations.push(format!("{grouped}{mark}{fraction:0<2}"));
        }
    }
    notations
}

/// Puts a mark before each group of three digits.
fn grouped(whole: &str, mark: char) -> String {
    let digits = whole.trim_start_matches('-').len();
    let mut grouped = String::new();
    for (at, character) in whole.chars().rev().enumerate() {
        if at > 0 && at % 3 == 0 && at < digits {
            grouped.push(mark);
        }
        grouped.push(character);
    }
    grouped.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use structgen_recognize::{Options, recognize};

    use super::*;

    fn notations(text: &str) -> Vec<String> {
        let found = other_notations(&recognize(text, &Options::default()));
        found.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_date_has_the_usual_notations() {
        let found = notations("5 May 2024");
        for text in [
            "2024/05/05",
            "05.05.2024",
            "5.5.2024",
            "05/05/24",
            "5/5/2024",
            "05-05-2024",
            "5.5.24",
        ] {
            assert!(found.iter().any(|it| it == text), "{text}: {found:?}");
        }
        let found = notations("12 May 2024");
        for text in ["12/05/2024", "05/12/2024", "5/12/24"] {
            assert!(found.iter().any(|it| it == text), "{text}: {found:?}");
        }
        assert_eq!(notations("12 May"), [""; 0]);
    }

    #[test]
    fn an_amount_has_two_decimals_after_either_mark() {
        let check = |text: &str, expected: &[&str]| {
            let mut found = notations(text);
            found.sort();
            found.dedup();
            assert_eq!(found, expected, "{text}");
        };
        check(
            "1.234,50 EUR",
            &["1,234.50", "1.234,50", "1234,50", "1234.50"],
        );
        check("12 €", &["12,00", "12.00"]);
        check("Total 12.00", &["12,00", "12.00"]);
        check(
            "-1234567.5",
            &[
                "-1,234,567.50",
                "-1.234.567,50",
                "-1234567,50",
                "-1234567.50",
                "1,234,567.50",
                "1.234.567,50",
                "1234567,50",
                "1234567.50",
            ],
        );
        check("3 lamps of 1.2345 kg", &[]);
    }
}
