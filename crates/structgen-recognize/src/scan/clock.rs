//! Times in digits: `09:30`, `9:30 pm`, `9pm`, `9.30 Uhr`, `9h30`, `9 heures`, `14:30:05Z`, `093000`
//! in `20240512T093000Z`, `9–11 Uhr`, `at 9`.
//!
//! Without `am`, `pm` or a part of the day, an hour from 1 to 11 without a leading zero is first read as it is written,
//! and second as twelve hours later. An hour that only a preposition announces may also be just a number, which is its
//! last reading.

use super::digits::in_a_list;
use super::quantity::Quantity;
use super::{Found, Scan, currency, offset};
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Language, Number, Time, Value};

/// Further digits of a fraction of a second are cut: most formats for times have no more.
const MAX_FRACTION_DIGITS: usize = 9;

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for at in (0..tokens.len()).filter(|at| tokens.kind(*at) == Some(Kind::Digits)) {
        let Some((end, shown)) = clock(tokens, at) else {
            bare(scan, at, found);
            continue;
        };
        // `9:30 pm UTC`, `9:30 UTC in the morning`.
        let before = part_of_day(tokens, end);
        let (end, shown) = with_offset(tokens, at, before.map_or(end, |(end, _)| end), shown);
        let (end, part) = match before {
            Some((_, part)) => (end, part),
            None => part_of_day(tokens, end).unwrap_or((end, DayPart::Unknown)),
        };
        let mut readings: Vec<Value> = { shown.readings(part).into_iter() }
            .map(Value::Time)
            .collect();
        if shown.bare && shown.offset.is_none() {
            let number = { scan.quantities.starting_at(at) }.find(|quantity| quantity.end == end);
            readings.extend(number.into_iter().flat_map(Quantity::values));
        }
        found.add(at, end, readings);
        if let Some(end) = super::date::range_before(tokens, at) {
            earlier_end(tokens, end, &shown, part, found);
        }
    }
}

/// `14.30` on its own: first a number, and second a time.
fn bare(scan: &Scan<'_>, at: usize, found: &mut Found<'_>) {
    let Some((hour, minute, of_24)) = pointed(scan.tokens, at) else {
        return;
    };
    let price = currency::sign(scan.tokens.kind_before(at)).is_some();
    if price || counts_something(scan.tokens, at + 3) {
        return;
    }
    let number = scan
        .quantities
        .starting_at(at)
        .find(|quantity| quantity.end == at + 3);
    let times = Shown {
        of_24,
        ..Shown::at(hour, minute)
    }
    .readings(DayPart::Unknown);
    if let (Some(number), false) = (number, times.is_empty()) {
        let times = times.into_iter().map(Value::Time);
        found.add(at, at + 3, number.values().chain(times).collect());
    }
}

/// Returns hour and minute with a point between them, and whether the hour is on the 24-hour clock.
fn pointed(tokens: &Tokens<'_>, at: usize) -> Option<(u32, u32, bool)> {
    let hour = tokens
        .digits(at, 1, 2)
        .filter(|hour| *hour <= 24 && tokens.is_mark(at + 1, '.'))?;
    let minute = tokens.digits(at + 2, 2, 2)?;
    let goes_on = matches!(tokens.kind(at + 3), Some(Kind::Mark('.' | ',')))
        && tokens.kind(at + 4) == Some(Kind::Digits);
    (!goes_on).then_some((hour, minute, tokens.str(at).starts_with('0')))
}

/// Returns whether the text after a number makes it a count of days, units or money rather than an hour.
pub(super) fn counts_something(tokens: &Tokens<'_>, end: usize) -> bool {
    let after = tokens.skip_space(end + usize::from(tokens.is_mark(end, '.')));
    let sign = matches!(
        tokens.kind(after),
        Some(Kind::Mark('%' | '€' | '$' | '£' | '°' | '×'))
    );
    sign || tokens.entries(after).any(|entry| {
        matches!(
            entry.sense,
            Sense::MonthName(_)
                | Sense::TimeUnit(_)
                | Sense::ShortTimeUnit(_)
                | Sense::Currency(_)
                | Sense::Percent
                | Sense::Of
                | Sense::Hundred
                | Sense::Scale(_)
        )
    }) || after == end && tokens.has_any(after, Sense::OrdinalMark)
}

/// The time on a clock: with 24 hours if the text makes that clear.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: Option<u32>,
    pub(super) fraction: Option<Number>,
    pub(super) offset: Option<i16>,
    pub(super) of_24: bool,
    /// Whether it may be just a number, since only a preposition announces it: `at 9`.
    pub(super) bare: bool,
}

impl Shown {
    pub(super) fn at(hour: u32, minute: u32) -> Shown {
        Shown {
            hour,
            minute,
            second: None,
            fraction: None,
            offset: None,
            of_24: false,
            bare: false,
        }
    }

    /// Returns its possible times, best first.
    pub(super) fn readings(&self, part: DayPart) -> Vec<Time> {
        let hour = self.hour;
        let late = hour + 12;
        // After an afternoon hour, what looks like `am` is another word.
        let part = if part == DayPart::Morning && hour > 12 {
            DayPart::Unknown
        } else {
            part
        };
        let hours = match part {
            DayPart::Morning => [Some(hour % 12), None],
            DayPart::Afternoon => [Some(if hour < 12 { late } else { hour }), None],
            DayPart::Night if hour < 6 || hour == 12 => [Some(hour % 12), None],
            DayPart::Night => [Some(if hour < 12 { late } else { hour }), None],
            DayPart::Unknown if self.of_24 || hour > 12 || hour == 0 => [Some(hour % 24), None],
            DayPart::Unknown => [Some(hour), Some(late % 24)],
        };
        let hours = hours
            .into_iter()
            .flatten()
            .filter(|hour| *hour < 24 && self.hour <= 24);
        hours
            .filter_map(|hour| {
                Some(Time {
                    fraction: self.fraction,
                    offset: self.offset,
                    ..Time::new(hour, self.minute, self.second)?
                })
            })
            .collect()
    }
}

/// The part of the day that the text names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DayPart {
    Unknown,
    Morning,
    Afternoon,
    /// Before six the early hours, later the evening.
    Night,
}

/// Returns the clock time whose hour is at `at`, and its end.
fn clock(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Shown)> {
    let inside = matches!(tokens.kind_before(at), Some(Kind::Mark(':' | '.' | ',')))
        && at >= 2
        && tokens.kind(at - 2) == Some(Kind::Digits);
    // The colon after the date of a web server's log line is not part of the time.
    let after_year = inside && tokens.is_mark(at - 1, ':') && tokens.str(at - 2).len() == 4;
    if inside && !after_year {
        return None;
    }
    if let Some(found) = basic(tokens, at) {
        return Some(found);
    }
    let of_24 = tokens.str(at).starts_with('0');
    if let (Some(shown), true) = (
        tokens.digits(at, 4, 4),
        named_at(tokens, tokens.skip_space(at + 1)).is_some(),
    ) {
        let end = named_at(tokens, tokens.skip_space(at + 1))?;
        return Some((
            end,
            Shown {
                of_24: true,
                ..Shown::at(shown / 100, shown % 100)
            },
        ));
    }
    let hour = tokens.digits(at, 1, 2).filter(|hour| *hour <= 24)?;
    let shown = |minute| Shown {
        of_24,
        ..Shown::at(hour, minute)
    };
    if tokens.is_mark(at + 1, ':')
        && let Some(minute) = tokens.digits(at + 2, 2, 2)
    {
        return Some(with_seconds(tokens, at, shown(minute)));
    }
    if let Some((_, minute, _)) = pointed(tokens, at) {
        let named = named_at(tokens, tokens.skip_space(at + 3));
        let clear = named.is_some() || part_of_day(tokens, at + 3).is_some();
        let is_time = clear || after_preposition(tokens, at);
        let shown = Shown {
            bare: !clear,
            ..shown(minute)
        };
        return is_time.then_some((named.unwrap_or(at + 3), shown));
    }
    // `9h30`, `9 h 30`, `9 Uhr 30`, `9 heures`.
    let name = tokens.skip_space(at + 1);
    if let Some(end) = named_at(tokens, name) {
        let minute_at = tokens.skip_space(end);
        let minute = tokens.digits(minute_at, 2, 2).filter(|minute| *minute < 60);
        let counted = matches!(
            tokens.kind(minute_at + 1),
            Some(Kind::Mark('.' | ',' | ':' | '%' | '€' | '/'))
        ) && tokens.kind(minute_at + 2) == Some(Kind::Digits);
        return match minute.filter(|_| !counted) {
            Some(minute) => Some((minute_at + 1, shown(minute))),
            None => Some((end, shown(0))),
        };
    }
    let goes_on = separated(tokens, at);
    let announced = after_preposition(tokens, at) && !goes_on && !counts_something(tokens, at + 1);
    let clear = part_of_day(tokens, at + 1).is_some();
    let shown = Shown {
        bare: !clear,
        ..shown(0)
    };
    (clear || announced).then_some((at + 1, shown))
}

/// Matches `093000` in `20240512T093000Z`.
fn basic(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Shown)> {
    let date = at
        .checked_sub(2)
        .filter(|_| tokens.str(at - 1) == "T")
        .and_then(|date| tokens.digits(date, 8, 8));
    date?;
    let (hour_minute, second) = match tokens.digits(at, 6, 6) {
        Some(all) => (all / 100, Some(all % 100)),
        None => (tokens.digits(at, 4, 4)?, None),
    };
    let fraction = second.and_then(|_| fraction_of_second(tokens, at, at + 1));
    let shown = Shown {
        second,
        fraction: fraction.map(|(_, fraction)| fraction),
        of_24: true,
        ..Shown::at(hour_minute / 100, hour_minute % 100)
    };
    Some((fraction.map_or(at + 1, |(end, _)| end), shown))
}

/// Returns whether the digits at `at` continue after a mark.
fn separated(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(
        tokens.kind(at + 1),
        Some(Kind::Mark('.' | ',' | ':' | '/' | '-'))
    ) && tokens.kind(at + 2) == Some(Kind::Digits)
}

/// Adds the seconds after `9:30` at `hour_at` with their fraction, and the word for the clock.
fn with_seconds(tokens: &Tokens<'_>, hour_at: usize, shown: Shown) -> (usize, Shown) {
    let mut end = hour_at + 3;
    let mut shown = shown;
    if tokens.is_mark(end, ':')
        && let Some(second) = tokens.digits(end + 1, 2, 2)
    {
        shown.second = Some(second);
        end += 2;
        if let Some((fraction_end, fraction)) = fraction_of_second(tokens, hour_at, end) {
            shown.fraction = Some(fraction);
            end = fraction_end;
        }
    }
    // The word for the clock: `9:30 Uhr`, `9:30 h`.
    let name = tokens.skip_space(end);
    (named_at(tokens, name).unwrap_or(end), shown)
}

/// Returns the fraction at `at` of the second of a time that starts at `start`, cut to nine digits, and its end.
///
/// A comma may also separate the cells of a row: after it, the digits have to be thousandths, millionths or billionths,
/// or precede an offset from UTC.
fn fraction_of_second(tokens: &Tokens<'_>, start: usize, at: usize) -> Option<(usize, Number)> {
    (tokens.kind(at + 1) == Some(Kind::Digits)).then_some(())?;
    let (digits, end) = (tokens.str(at + 1), at + 2);
    let is_fraction = match tokens.kind(at)? {
        Kind::Mark('.') => true,
        Kind::Mark(',') => {
            let is_usual = matches!(digits.len(), 3 | 6 | 9) && !in_a_list(tokens, start, end);
            is_usual || offset::offset(tokens, start, end, true).is_some()
        }
        _ => false,
    };
    let digits = &digits[..digits.len().min(MAX_FRACTION_DIGITS)];
    let fraction = Number::from_digits(["0"], digits).filter(|_| is_fraction)?;
    Some((end, fraction))
}

/// Adds the offset from UTC. `UTC` and offsets in digits imply a clock of 24 hours, but abbreviated zones do not.
fn with_offset(tokens: &Tokens<'_>, at: usize, end: usize, shown: Shown) -> (usize, Shown) {
    let from_utc = offset::offset(tokens, at, end, shown.second.is_some());
    let Some((end, offset)) = from_utc.or_else(|| offset::zone(tokens, end)) else {
        return (end, shown);
    };
    let shown = Shown {
        offset: Some(offset),
        of_24: shown.of_24 || from_utc.is_some(),
        ..shown
    };
    (end, shown)
}

/// Returns the end of `Uhr`, `h`, `heures`, `o'clock` at `at`.
pub(super) fn named_at(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    if tokens.str(at).eq_ignore_ascii_case("o")
        && matches!(tokens.kind(at + 1), Some(Kind::Mark('\'' | '’')))
    {
        return tokens.has_any(at + 2, Sense::Clock).then_some(at + 3);
    }
    tokens.has_any(at, Sense::Clock).then_some(at + 1)
}

/// Returns the end of `am`, `p.m.` at `at`, and the half of the day.
fn meridiem(tokens: &Tokens<'_>, at: usize) -> Option<(usize, DayPart)> {
    let part = match tokens.str(at).as_bytes().first()?.to_ascii_lowercase() {
        b'a' => DayPart::Morning,
        b'p' => DayPart::Afternoon,
        _ => return None,
    };
    if tokens.str(at).len() == 2 && tokens.str(at)[1..].eq_ignore_ascii_case("m") {
        // `um 8 am Montag`: a preposition.
        let goes_on = matches!(
            tokens.kind(tokens.skip_space(at + 1)),
            Some(Kind::Word | Kind::Digits)
        );
        let preposition = tokens.language == Language::German
            && tokens.kind_before(at) == Some(Kind::Space)
            && goes_on;
        return (!preposition).then_some((at + 1, part));
    }
    let m = tokens.skip_space(at + 2);
    let spelled = tokens.str(at).len() == 1
        && tokens.is_mark(at + 1, '.')
        && tokens.str(m).eq_ignore_ascii_case("m");
    spelled.then_some((m + 1 + usize::from(tokens.is_mark(m + 1, '.')), part))
}

/// Returns the part of the day after a time, and its end: `pm`, `in the morning`, `abends`, `de la tarde`.
pub(super) fn part_of_day(tokens: &Tokens<'_>, end: usize) -> Option<(usize, DayPart)> {
    let mut at = tokens.skip_space(end);
    if let Some(found) = meridiem(tokens, at) {
        return Some(found);
    }
    for _ in 0..4 {
        for (sense, part) in [
            (Sense::Morning, DayPart::Morning),
            (Sense::Afternoon, DayPart::Afternoon),
            (Sense::Night, DayPart::Night),
        ] {
            if tokens.has_any(at, sense) {
                return Some((at + 1, part));
            }
        }
        if !tokens.has_any(at, Sense::Filler)
            && !matches!(tokens.kind(at), Some(Kind::Mark('\'' | '’')))
        {
            return None;
        }
        at = tokens.skip_space(at + 1);
    }
    None
}

/// Returns whether the word before `at` announces a time: `at`, `um`, `à`, `las`, `@`, but not the `A` of `A4`.
pub(super) fn after_preposition(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = tokens.back_space(at);
    let word = before.wrapping_sub(1);
    before < at && tokens.has_any(word, Sense::At) || tokens.is_mark(word, '@')
}

/// Adds the `9` of `9–11 Uhr`, or the `9.30` of `9.30 to 5 pm`: in the same half of the day if it is not later than the
/// end of the range.
fn earlier_end(
    tokens: &Tokens<'_>,
    end: usize,
    later: &Shown,
    part: DayPart,
    found: &mut Found<'_>,
) {
    let Some(last) = end.checked_sub(1) else {
        return;
    };
    let with_minutes = last >= 2 && matches!(tokens.kind(last - 1), Some(Kind::Mark(':' | '.')));
    let at = if with_minutes { last - 2 } else { last };
    let minute = if with_minutes {
        tokens.digits(last, 2, 2)
    } else {
        Some(0)
    };
    let Some((hour, minute)) = tokens.digits(at, 1, 2).zip(minute) else {
        return;
    };
    if matches!(
        tokens.kind_before(at),
        Some(Kind::Mark(':' | '.' | '/' | ','))
    ) {
        return;
    }
    let part = if hour % 12 <= later.hour % 12 {
        part
    } else {
        DayPart::Unknown
    };
    let shown = Shown {
        of_24: tokens.str(at).starts_with('0') || later.of_24,
        offset: later.offset,
        ..Shown::at(hour, minute)
    };
    found.add(
        at,
        end,
        shown.readings(part).into_iter().map(Value::Time).collect(),
    );
}
