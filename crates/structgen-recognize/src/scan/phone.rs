//! Phone numbers: seven to fifteen digits in common groupings, such as `+49 30 123456`, `(030) 12 34 56`,
//! `555-123-4567` and `06.12.34.56.78`; several in a row, such as `030 123456 / 030 654321`.

use std::ops::RangeInclusive;

use super::{Found, Scan, currency};
use crate::Value;
use crate::tokens::{Kind, Tokens};

/// The limits of the E.164 numbering plan.
const DIGITS: RangeInclusive<usize> = 7..=15;
/// Fewer digits before a slash are a country and area code rather than a number: `+49 33701 / 12345`.
const LEAST_INTERNATIONAL: usize = 9;
/// Fewer digits after a slash are an extension, or the end of another number.
const LEAST_AFTER_SPACED_SLASH: usize = 5;
/// Maximum number of tokens in a number: each digit on its own, with two marks before it.
const MAX_TOKENS: usize = 48;

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    let mut at = 0;
    let mut last_end = None;
    while at < tokens.len() {
        // A slash after a number may separate it from another one.
        let separated = tokens.is_mark(at.wrapping_sub(1), '/') && last_end == at.checked_sub(1);
        match phone(tokens, at).filter(|_| separated || begins(tokens, at)) {
            Some((end, number)) => {
                found.add(at, end, vec![Value::Phone(number)]);
                last_end = Some(end);
                at = end;
            }
            None => at += 1,
        }
    }
}

/// Returns whether what is at `at` is not inside a word, number, date or time.
fn begins(tokens: &Tokens<'_>, at: usize) -> bool {
    match tokens.kind_before(at) {
        // `Tel:030 123456`, but not the minutes of a time.
        Some(Kind::Mark(':')) => tokens.kind(at.wrapping_sub(2)) != Some(Kind::Digits),
        Some(Kind::Mark('/')) => tokens.is_mark(at, '+'),
        Some(Kind::Word | Kind::Digits | Kind::Mark('.' | '-' | '#' | '_')) => false,
        _ => true,
    }
}

/// A group of digits of a number.
struct Group<'t> {
    digits: &'t str,
    end: usize,
    /// The marks between the group before it and this one.
    gap: Gap,
}

#[derive(Clone, Copy, Default)]
struct Gap {
    slash: bool,
    space: bool,
    bracket: bool,
    hyphen: bool,
}

impl Gap {
    /// Returns whether the marks may separate two numbers: ` / `, `/`, ` - `.
    fn divides(self) -> bool {
        self.slash || self.space && self.hyphen
    }
}

impl Group<'_> {
    /// Returns whether this is a trunk prefix, which is left out of international numbers: `+49 (0) 30`.
    fn is_trunk_prefix(&self) -> bool {
        self.gap.bracket && self.digits == "0"
    }
}

fn phone(tokens: &Tokens<'_>, at: usize) -> Option<(usize, String)> {
    let international = tokens.is_mark(at, '+');
    if !(international || tokens.is_mark(at, '(') || tokens.kind(at) == Some(Kind::Digits)) {
        return None;
    }
    if is_date(tokens, at) || currency::sign(tokens.kind_before(tokens.back_space(at))).is_some() {
        return None;
    }
    let mut groups = groups(tokens, at, at + usize::from(international));
    if international {
        groups.retain(|group| !group.is_trunk_prefix());
    }
    let count = match first_border(&groups, international) {
        Some(count) => count,
        None if digits(&groups) <= *DIGITS.end() => groups.len(),
        None => best_border(&groups),
    };
    let groups = &groups[..count];
    let end = groups.last()?.end;
    let goes_on = match tokens.kind(end) {
        Some(Kind::Word) => true,
        // `1.234.567,89`.
        Some(Kind::Mark(',')) => {
            tokens.is_mark(end.wrapping_sub(2), '.') && tokens.kind(end + 1) == Some(Kind::Digits)
        }
        _ => currency::sign(tokens.kind(tokens.skip_space(end))).is_some(),
    };
    let valid = DIGITS.contains(&digits(groups)) && !goes_on;
    let sign = if international { "+" } else { "" };
    let number = std::iter::once(sign).chain(groups.iter().map(|group| group.digits));
    valid.then(|| (end, number.collect()))
}

/// Returns whether a date with a year starts here: `2025-05-12`, `12.05.2025`.
fn is_date(tokens: &Tokens<'_>, at: usize) -> bool {
    let mark = tokens.kind(at + 1);
    let joined = matches!(mark, Some(Kind::Mark('-' | '.' | '/'))) && tokens.kind(at + 3) == mark;
    let part = |at: usize, digits| tokens.digits(at, 1, digits);
    let in_order = match tokens.str(at).len() {
        4 => [part(at, 4), part(at + 2, 2), part(at + 4, 2)],
        _ => [part(at + 4, 4), part(at + 2, 2), part(at, 2)],
    };
    let [Some(year), Some(second), Some(third)] = in_order else {
        return false;
    };
    let day_and_month =
        (1..=31).contains(&second.max(third)) && (1..=12).contains(&second.min(third));
    joined && (1900..2100).contains(&year) && day_and_month
}

/// Returns whether the digits at `at` start a date, time or decimal number.
fn is_other(tokens: &Tokens<'_>, at: usize) -> bool {
    let has_digits = tokens.kind(at + 2) == Some(Kind::Digits);
    let joined = match tokens.kind(at + 1) {
        Some(Kind::Mark(':')) => has_digits,
        // Between the cells of a row, there is a comma as well.
        Some(Kind::Mark(',')) => has_digits && tokens.str(at + 2).len() <= 2,
        _ => false,
    };
    joined || is_date(tokens, at)
}

/// Returns the groups of digits on one line, with at most ` - ` between two of them.
fn groups<'t>(tokens: &Tokens<'t>, at: usize, first: usize) -> Vec<Group<'t>> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut gap = Gap::default();
    let mut next = first;
    while next < at + MAX_TOKENS && next < groups.last().map_or(at, |group| group.end) + 4 {
        match tokens.kind(next) {
            Some(Kind::Digits) if gap.space && !groups.is_empty() && is_other(tokens, next) => {
                break;
            }
            Some(Kind::Digits) => {
                groups.push(Group {
                    digits: tokens.str(next),
                    end: next + 1,
                    gap,
                });
                gap = Gap::default();
            }
            Some(Kind::Space) if !tokens.str(next).contains(['\n', '\r']) => gap.space = true,
            Some(Kind::Mark('/')) => gap.slash = true,
            Some(Kind::Mark('(')) => gap.bracket = true,
            Some(Kind::Mark('-')) => gap.hyphen = true,
            Some(Kind::Mark('.' | ')')) => {}
            _ => break,
        }
        next += 1;
    }
    groups
}

fn digits(groups: &[Group<'_>]) -> usize {
    groups.iter().map(|group| group.digits.len()).sum()
}

/// Returns the number of groups before the first slash or dash with a whole number before it and another one after it.
fn first_border(groups: &[Group<'_>], international: bool) -> Option<usize> {
    let least_before = if international {
        LEAST_INTERNATIONAL
    } else {
        *DIGITS.start()
    };
    let mut before = 0;
    for (index, group) in groups.iter().enumerate() {
        let is_number = (least_before..=*DIGITS.end()).contains(&before);
        if group.gap.divides() && is_number {
            let rest = &groups[index..];
            let next_border = rest[1..].iter().position(|group| group.gap.divides());
            let after = digits(&rest[..next_border.map_or(rest.len(), |border| border + 1)]);
            let least_after = if group.gap.slash && group.gap.space {
                LEAST_AFTER_SPACED_SLASH
            } else {
                *DIGITS.start()
            };
            if after >= least_after {
                return Some(index);
            }
        }
        before += group.digits.len();
    }
    None
}

/// Returns the number of groups before the most likely border between two numbers, the last one of several, if there
/// are too many digits for one number; without a border, as many groups as one number can have.
fn best_border(groups: &[Group<'_>]) -> usize {
    let mut before = 0;
    let mut fitting = 0;
    let mut best = (0, 0);
    for (index, group) in groups.iter().enumerate() {
        if before > *DIGITS.end() {
            break;
        }
        fitting = index;
        let joined = |group: &Group<'_>| group.gap.hyphen && !group.gap.space;
        let Gap {
            slash,
            space,
            bracket,
            hyphen,
        } = group.gap;
        let after_hyphens = space && !hyphen && groups[..index].iter().any(joined);
        let likelihood = 4 * u8::from(slash && space)
            + 2 * u8::from(group.gap.divides() || bracket)
            + u8::from(after_hyphens)
            + u8::from(group.digits.starts_with('0'));
        if before >= *DIGITS.start() && likelihood > 0 {
            best = best.max((likelihood, index));
        }
        before += group.digits.len();
    }
    if best.1 > 0 { best.1 } else { fitting }
}
