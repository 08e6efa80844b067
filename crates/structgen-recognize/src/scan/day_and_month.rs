//! Dates with the name of the month: `12 May 2024`, `May 12th, 2024`, `den 3. Mai`, `1er mai`, `5 de mayo de 2024`,
//! `12/May/2024`, `the first of May`, `May 2024`, `12 May 24`.

use super::clock::{counts_something, named_at, part_of_day};
use super::date::earlier_days;
use super::ordinal::ordinal;
use super::{Found, Scan};
use crate::date::full_years;
use crate::language::{Entry, Sense};
use crate::tokens::{Kind, Tokens};
use crate::{Date, Value};

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for at in 0..tokens.len() {
        // Homographs count here: next to a number, `mar` is a month.
        let named = tokens
            .all_entries(at)
            .iter()
            .filter_map(|entry| match entry.sense {
                Sense::MonthName(month) => Some(month),
                _ => None,
            });
        let mut months: Vec<u8> = named.collect();
        months.dedup();
        for month in months {
            let day = day_before(scan, at);
            let year = year_after(tokens, at + 1);
            if let Some((first, day)) = day {
                let (end, years) = match year {
                    Some((end, year)) => (end, vec![Some(year)]),
                    None => short_year_after(tokens, at + 1).unwrap_or((at + 1, vec![None])),
                };
                let dates = { years.iter() }.filter_map(|year| Date::new(*year, month, Some(day)));
                found.add(first, end, dates.map(Value::Date).collect());
                earlier_days(tokens, first, month, years[0], found);
            } else if let Some((end, year)) = year {
                add(found, at, end, Some(year), month, None);
            }
            days_after(tokens, at, month, found);
        }
    }
}

fn add(
    found: &mut Found<'_>,
    first: usize,
    end: usize,
    year: Option<u16>,
    month: u8,
    day: Option<u8>,
) {
    let date = Date::new(year, month, day);
    found.add(first, end, date.into_iter().map(Value::Date).collect());
}

/// Returns the day before a month, and its start.
fn day_before(scan: &Scan<'_>, month: usize) -> Option<(usize, u8)> {
    let tokens = scan.tokens;
    let mut end = tokens.back_space(month);
    if tokens.has_any(end.wrapping_sub(1), Sense::Of) {
        end = tokens.back_space(end - 1);
    }
    if matches!(tokens.kind_before(end), Some(Kind::Mark('.' | '-' | '/'))) {
        end -= 1;
    }
    let at = end.checked_sub(1)?;
    let digits = if tokens.kind(at) == Some(Kind::Word) && tokens.has_any(at, Sense::OrdinalMark) {
        at.checked_sub(1 + usize::from(tokens.is_mark(at.wrapping_sub(1), '.')))?
    } else {
        at
    };
    if let Some(day) = tokens.digits(digits, 1, 2) {
        let inside = matches!(tokens.kind_before(digits), Some(Kind::Mark(':')));
        return Some((digits, u8::try_from(day).ok().filter(|_| !inside)?));
    }
    let in_words = || {
        let quantity = scan
            .quantities
            .ending_at(end)
            .find(|quantity| quantity.language.is_some())?;
        Some((quantity.first, quantity.small()?))
    };
    let (first, day) = ordinal(tokens, at)
        .map(|(first, _, day)| (first, day))
        .or_else(in_words)?;
    Some((first, u8::try_from(day).ok()?))
}

/// Returns the year after a month or day, and its end.
fn year_after(tokens: &Tokens<'_>, at: usize) -> Option<(usize, u16)> {
    let mut at = at;
    let mut joined = false;
    if matches!(tokens.kind(at), Some(Kind::Mark('.' | ',' | '-' | '/'))) {
        joined = !tokens.is_mark(at, '.') && !tokens.is_mark(at, ',');
        at += 1;
    }
    at = tokens.skip_space(at);
    if tokens.has_any(at, Sense::Of) {
        at = tokens.skip_space(at + 1);
    }
    let apostrophe = matches!(tokens.kind(at), Some(Kind::Mark('\'' | '’')));
    at += usize::from(apostrophe);
    let year = match tokens.digits(at, 4, 4) {
        Some(year) => year as u16,
        None => {
            full_years(tokens.digits(at, 2, 2).filter(|_| joined || apostrophe)? as u16).next()?
        }
    };
    // A number that continues is not a year, but a time may follow after a colon, as in logs.
    let goes_on = matches!(tokens.kind(at + 1), Some(Kind::Mark('.' | ',')))
        && tokens.kind(at + 2) == Some(Kind::Digits);
    ((1000..3000).contains(&year) && !goes_on).then_some((at + 1, year))
}

/// Returns the possible years of two digits after a month, best first, and their end: `3 Sep 23`. If a noun follows,
/// which they may count (`on 3 May 12 people came`), the first is none.
fn short_year_after(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Vec<Option<u16>>)> {
    let gap = at + usize::from(tokens.is_mark(at, '.'));
    let mut at = tokens.skip_space(gap);
    if at > gap && tokens.has_any(at, Sense::Of) {
        at = tokens.skip_space(at + 1);
    }
    let year = tokens.digits(at, 2, 2).filter(|_| at > gap)?;
    let end = at + 1;
    (!goes_on(tokens, end) && !is_hour_or_count(tokens, end)).then_some(())?;
    let next = tokens.skip_space(end);
    let is_common = |entry: &Entry| matches!(entry.sense, Sense::Common | Sense::At | Sense::Until);
    let may_count = tokens.kind(next) == Some(Kind::Word)
        && !tokens.str(end).contains('\n')
        && !tokens.all_entries(next).iter().any(is_common);
    let none = may_count.then_some(None);
    let years = none.into_iter().chain(full_years(year as u16).map(Some));
    Some((end, years.collect()))
}

/// Returns whether a number that ends at `end` is a part of a longer one or of a word, or the start of a range that
/// does not end with a date: `3 May 10 to 12`.
fn goes_on(tokens: &Tokens<'_>, end: usize) -> bool {
    let next = tokens.skip_space(end);
    if next == end {
        return match tokens.kind(end) {
            Some(Kind::Word) => true,
            Some(Kind::Mark(_)) => tokens.kind(end + 1) == Some(Kind::Digits),
            _ => false,
        };
    }
    let dash = matches!(tokens.kind(next), Some(Kind::Mark('-' | '–' | '—')))
        && tokens.kind(next + 1) == Some(Kind::Space);
    // `3 mai 23 à 14 h` is a date with a time.
    let connects = dash || tokens.has_any(next, Sense::Until) && tokens.str(next) != "à";
    let second = tokens.skip_space(next + 1);
    let month = tokens.skip_space(second + 1 + usize::from(tokens.is_mark(second + 1, '.')));
    let range = connects && tokens.kind(second) == Some(Kind::Digits) && !is_month(tokens, month);
    range || tokens.str(next) == "000"
}

fn is_month(tokens: &Tokens<'_>, at: usize) -> bool {
    let mut senses = tokens.all_entries(at).iter().map(|entry| entry.sense);
    senses.any(|sense| matches!(sense, Sense::MonthName(_)))
}

/// Returns whether a number that ends at `end` is an hour, or counts days, units or money.
fn is_hour_or_count(tokens: &Tokens<'_>, end: usize) -> bool {
    let next = tokens.skip_space(end);
    named_at(tokens, next).is_some()
        || part_of_day(tokens, end).is_some()
        || counts_something(tokens, end)
        || tokens.has_any(next, Sense::Noon)
        || tokens.has_any(next, Sense::Midnight)
}

/// Returns the year directly before a month, as in `2024 May 12` and `2024-May-12`, and its start.
fn year_before(tokens: &Tokens<'_>, month: usize) -> Option<(usize, u16)> {
    let at = month.checked_sub(2)?;
    let joined = tokens.str(at + 1) == " " || tokens.is_hyphen(at + 1);
    let year = tokens.digits(at, 4, 4).filter(|_| joined)?;
    let inside = matches!(
        tokens.kind_before(at),
        Some(Kind::Mark('.' | '/' | '-' | ':' | ','))
    );
    ((1900..2100).contains(&year) && !inside).then_some((at, year as u16))
}

/// Adds the days after a month: `May 12th, 2024`, `May 3–5`.
fn days_after(tokens: &Tokens<'_>, month_at: usize, month: u8, found: &mut Found<'_>) {
    let mut at = tokens.skip_space(month_at + 1 + usize::from(tokens.is_mark(month_at + 1, '.')));
    // `2024-May-12`.
    if tokens.is_hyphen(month_at + 1) && year_before(tokens, month_at).is_some() {
        at = month_at + 2;
    }
    // `May the 4th`.
    if tokens.str(at).eq_ignore_ascii_case("the") {
        at = tokens.skip_space(at + 1);
    }
    let Some((end, first)) = day_at(tokens, at) else {
        return;
    };
    let second = second_day(tokens, end);
    let last = second.map_or(end, |(_, end, _)| end);
    let year = year_after(tokens, last)
        .filter(|_| !tokens.is_mark(last, '-') && !tokens.is_mark(last, '/'));
    let year_end = year.map(|(end, _)| end);
    let before = year_before(tokens, month_at).filter(|_| year.is_none());
    let first_at = before.map_or(month_at, |(first, _)| first);
    let year = year.or(before).map(|(_, year)| year);
    match second {
        Some((at, end, second)) => {
            add(found, first_at, end, year, month, Some(first));
            add(
                found,
                at,
                year_end.unwrap_or(end),
                year,
                month,
                Some(second),
            );
        }
        None => add(
            found,
            first_at,
            year_end.unwrap_or(end),
            year,
            month,
            Some(first),
        ),
    }
}

/// Returns a day in digits, with its ordinal suffix, and its end.
fn day_at(tokens: &Tokens<'_>, at: usize) -> Option<(usize, u8)> {
    let day = tokens.digits(at, 1, 2)?;
    let end = at + 1 + usize::from(tokens.has_any(at + 1, Sense::OrdinalMark));
    let goes_on = matches!(tokens.kind(end), Some(Kind::Mark(':' | '.' | '/')))
        && tokens.kind(end + 1) == Some(Kind::Digits);
    Some((end, u8::try_from(day).ok().filter(|_| !goes_on)?))
}

/// Returns the start and end of the second day of a range, and the day.
fn second_day(tokens: &Tokens<'_>, end: usize) -> Option<(usize, usize, u8)> {
    let connector = tokens.skip_space(end);
    let connects = matches!(
        tokens.kind(connector),
        Some(Kind::Mark('-' | '–' | '—' | '&'))
    ) || tokens.has_any(connector, Sense::Until);
    let at = tokens.skip_space(connector + 1);
    let (end, day) = day_at(tokens, at).filter(|_| connects)?;
    Some((at, end, day))
}
