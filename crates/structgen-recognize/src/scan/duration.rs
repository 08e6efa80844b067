//! Durations: `20 minutes`, `90-minute`, `1h30`, `2 hours and 15 minutes`, `half an hour`, `eine Viertelstunde`,
//! `une heure et demie`, `20 to 30 minutes`, `PT1H30M`.

use super::fraction::tail;
use super::quantity::Quantity;
use super::{Found, Scan, currency};
use crate::language::Sense;
use crate::tokens::{Kind, Tokens};
use crate::{Duration, Language, Number, TimeUnit, Value};

/// Maximum number of parts of a duration: the number of units.
const MAX_PARTS: usize = TimeUnit::ALL.len();

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for quantity in scan
        .quantities
        .iter()
        .filter(|quantity| !quantity.readings[0].is_negative())
    {
        if let Some((end, unit)) = unit_after(tokens, quantity) {
            let (last, parts) = chain(scan, quantity, end, unit);
            if last > end {
                found.add(
                    quantity.first,
                    last,
                    vec![Value::Duration(Duration { parts })],
                );
            }
            let readings = quantity
                .readings
                .iter()
                .filter(|number| !number.is_negative());
            let single = |number: &Number| {
                Value::Duration(Duration {
                    parts: vec![(*number, unit)],
                })
            };
            found.add(quantity.first, end, readings.map(single).collect());
            earlier_ends(scan, quantity.first, unit, found);
            spaced_minutes(tokens, quantity, (end, unit), found);
        }
    }
    for at in 0..tokens.len() {
        fixed(tokens, at, found);
        clock_shaped(tokens, at, found);
        iso(tokens, at, found);
    }
}

/// Returns the end of the unit that follows a number, and the unit.
fn unit_after(tokens: &Tokens<'_>, quantity: &Quantity) -> Option<(usize, TimeUnit)> {
    let gap = tokens.kind(quantity.end) == Some(Kind::Space) || tokens.is_hyphen(quantity.end);
    let at = quantity.end + usize::from(gap);
    // `a quarter of an hour`, `half an hour`, `un quart d'heure`: a part of one unit.
    let part = quantity
        .language
        .filter(|_| gap)
        .and_then(|language| unit_of_part(tokens, at, language));
    if part.is_some() {
        return part;
    }
    // `£3m` are millions.
    if matches!(tokens.str(at), "m" | "mn")
        && (currency::precedes(tokens, quantity.first)
            || currency::sign(tokens.kind(at + 1)).is_some())
    {
        return None;
    }
    tokens
        .entries(at)
        .filter(|entry| quantity.speaks(entry.language))
        .find_map(|entry| match entry.sense {
            Sense::TimeUnit(unit) => Some((at + 1, unit)),
            // `5M` is five million.
            Sense::ShortTimeUnit(unit)
                if !gap
                    && quantity.language.is_none()
                    && !tokens.str(at).starts_with(char::is_uppercase) =>
            {
                Some((at + 1, unit))
            }
            _ => None,
        })
}

/// Returns the end of `of an hour`, `an hour`, `d'heure`, `de hora`.
fn unit_of_part(tokens: &Tokens<'_>, at: usize, language: Language) -> Option<(usize, TimeUnit)> {
    let mut unit = at;
    if tokens.has(unit, language, Sense::Of) {
        unit = tokens.skip_space(unit + 1);
    } else if language == Language::French && tokens.str(unit) == "d" {
        unit += 2;
    }
    if tokens.has(unit, language, Sense::Article) || tokens.has(unit, language, Sense::Unit(1)) {
        unit = tokens.skip_space(unit + 1);
    }
    if unit == at {
        return None;
    }
    tokens.senses(unit, language).find_map(|sense| match sense {
        Sense::TimeUnit(own) => Some((unit + 1, own)),
        _ => None,
    })
}

/// Returns the parts after the first, each in a smaller unit, and the end of the last one.
fn chain(
    scan: &Scan<'_>,
    first: &Quantity,
    end: usize,
    unit: TimeUnit,
) -> (usize, Vec<(Number, TimeUnit)>) {
    let tokens = scan.tokens;
    let mut parts = vec![(first.readings[0], unit)];
    let mut end = end;
    while parts.len() < MAX_PARTS {
        let smallest = parts.last().map_or(unit, |(_, unit)| *unit);
        if let Some((after, part)) = tail(tokens, end, None) {
            // `an hour and a half`.
            if let Some((last, _)) = parts.last_mut()
                && let Some(sum) = last.plus(part)
            {
                *last = sum;
                return (after, parts);
            }
        }
        match next_part(scan, end, smallest) {
            Some((after, number, unit)) => {
                parts.push((number, unit));
                end = after;
            }
            None => break,
        }
    }
    (end, parts)
}

/// `1 h 50`: the second number may also count what follows it.
fn spaced_minutes(
    tokens: &Tokens<'_>,
    hours: &Quantity,
    (end, unit): (usize, TimeUnit),
    found: &mut Found<'_>,
) {
    let at = tokens.skip_space(end);
    let minutes = tokens
        .digits(at, 2, 2)
        .filter(|minutes| *minutes < 60 && at > end);
    let goes_on = matches!(tokens.kind(at + 1), Some(Kind::Mark('.' | ',' | ':')))
        && tokens.kind(at + 2) == Some(Kind::Digits);
    if let (Some(minutes), TimeUnit::Hour, false) = (minutes, unit, goes_on) {
        let parts = vec![
            (hours.readings[0], unit),
            (Number::from(minutes), TimeUnit::Minute),
        ];
        found.add_loose(
            hours.first,
            at + 1,
            vec![Value::Duration(Duration { parts })],
        );
    }
}

/// Returns the part at `end`, in a smaller unit than the one before it.
fn next_part(scan: &Scan<'_>, end: usize, larger: TimeUnit) -> Option<(usize, Number, TimeUnit)> {
    let tokens = scan.tokens;
    // `1h30`: minutes without a unit.
    if let Some(minutes) = tokens.digits(end, 2, 2)
        && larger == TimeUnit::Hour
        && minutes < 60
        && !matches!(tokens.kind(end + 1), Some(Kind::Word | Kind::Mark(':')))
    {
        return Some((end + 1, Number::from(minutes), TimeUnit::Minute));
    }
    let mut at = end;
    if matches!(tokens.kind(at), Some(Kind::Mark('.' | ','))) {
        at += 1;
    }
    at = tokens.skip_space(at);
    if tokens.has_any(at, Sense::And) {
        at = tokens.skip_space(at + 1);
    }
    scan.quantities.starting_at(at).find_map(|quantity| {
        let (end, unit) = unit_after(tokens, quantity).filter(|(_, unit)| *unit > larger)?;
        Some((end, quantity.readings[0], unit))
    })
}

/// Adds the `20` of `20-30 minutes` and `20 to 30 minutes`.
fn earlier_ends(scan: &Scan<'_>, first: usize, unit: TimeUnit, found: &mut Found<'_>) {
    if let Some(end) = super::date::range_before(scan.tokens, first)
        && let Some(quantity) = scan.quantities.ending_at(end).next()
    {
        let duration = |number: &Number| {
            Value::Duration(Duration {
                parts: vec![(*number, unit)],
            })
        };
        found.add(
            quantity.first,
            quantity.end,
            quantity.readings.iter().take(1).map(duration).collect(),
        );
    }
}

/// Words that are durations on their own, and an hour or a day with an article: `a fortnight`, `an hour`, `hora y
/// media`.
fn fixed(tokens: &Tokens<'_>, at: usize, found: &mut Found<'_>) {
    for entry in tokens.entries(at) {
        match entry.sense {
            Sense::Span(count, unit) => {
                let parts = vec![(Number::from(count), unit)];
                found.add(at, at + 1, vec![Value::Duration(Duration { parts })]);
            }
            Sense::Article => {
                // `half an hour` and `a quarter of an hour` are less than one.
                let before = tokens.back_space(at).wrapping_sub(1);
                let part = tokens.has(before, entry.language, Sense::Half)
                    || tokens.has(before, entry.language, Sense::Of);
                if !part {
                    one(tokens, at, tokens.skip_space(at + 1), entry.language, found);
                }
            }
            // `hora y media`, and `heure et demie` after a number that is not a quantity.
            Sense::TimeUnit(_) if tail(tokens, at + 1, Some(entry.language)).is_some() => {
                one(tokens, at, at, entry.language, found);
            }
            _ => {}
        }
    }
}

/// Adds one of the unit at `noun`, or one and a half if that follows.
fn one(tokens: &Tokens<'_>, first: usize, noun: usize, language: Language, found: &mut Found<'_>) {
    let unit = tokens.senses(noun, language).find_map(|sense| match sense {
        Sense::TimeUnit(unit) => Some(unit),
        _ => None,
    });
    let Some(unit) = unit.filter(|_| tokens.str(noun).len() > 1) else {
        return;
    };
    let mut add = |end, number| {
        found.add(
            first,
            end,
            vec![Value::Duration(Duration {
                parts: vec![(number, unit)],
            })],
        )
    };
    if first < noun {
        add(noun + 1, Number::from(1));
    }
    if let Some((end, part)) = tail(tokens, noun + 1, Some(language))
        && let Some(sum) = Number::from(1).plus(part)
    {
        add(end, sum);
    }
}

/// `1:30 h`, `00:45:10`, `12:30 min`.
fn clock_shaped(tokens: &Tokens<'_>, at: usize, found: &mut Found<'_>) {
    let colon = |at: usize| tokens.is_mark(at, ':');
    if colon(at.wrapping_sub(1)) || !colon(at + 1) {
        return;
    }
    let (Some(first), Some(second)) = (tokens.digits(at, 1, 3), tokens.digits(at + 2, 2, 2)) else {
        return;
    };
    let third = tokens.digits(at + 4, 2, 2).filter(|_| colon(at + 3));
    let end = if third.is_some() { at + 5 } else { at + 3 };
    let unit_at = tokens.skip_space(end);
    let unit = tokens.entries(unit_at).find_map(|entry| match entry.sense {
        Sense::TimeUnit(unit @ (TimeUnit::Hour | TimeUnit::Minute)) => Some(unit),
        _ => None,
    });
    let (units, end): (&[TimeUnit], usize) = match (unit, third) {
        (_, Some(_)) => (&TimeUnit::ALL[4..], end),
        (Some(TimeUnit::Minute), None) => (&TimeUnit::ALL[5..], unit_at + 1),
        (Some(_), None) => (&TimeUnit::ALL[4..6], unit_at + 1),
        (None, None) => return,
    };
    let counts = [Some(first), Some(second), third]
        .into_iter()
        .flatten()
        .map(Number::from);
    let parts = counts
        .zip(units.iter().copied())
        .filter(|(count, _)| count.to_integer() != Some(0))
        .collect();
    found.add(at, end, vec![Value::Duration(Duration { parts })]);
}

/// Returns the number at `at`, with a fraction after a point or comma, and its end.
fn decimal(tokens: &Tokens<'_>, at: usize) -> Option<(usize, Number)> {
    tokens.digits(at, 1, 9)?;
    let marked = matches!(tokens.kind(at + 1), Some(Kind::Mark('.' | ',')));
    if marked && tokens.digits(at + 2, 1, 9).is_some() {
        let number = Number::from_digits([tokens.str(at)], tokens.str(at + 2))?;
        return Some((at + 3, number));
    }
    Some((at + 1, Number::from_digits([tokens.str(at)], "")?))
}

/// `PT1H30M`, `P2W`, `PT1.5S`.
fn iso(tokens: &Tokens<'_>, at: usize, found: &mut Found<'_>) {
    let mut time = match tokens.str(at) {
        "P" | "p" => false,
        "PT" | "pt" => true,
        _ => return,
    };
    let mut parts: Vec<(Number, TimeUnit)> = Vec::new();
    let mut next = at + 1;
    while let Some((letters_at, count)) = decimal(tokens, next) {
        next = letters_at - 1;
        let letters = tokens.str(next + 1).to_ascii_uppercase();
        let mut letters = letters.chars();
        let unit = match (letters.next(), time) {
            (Some('Y'), false) => TimeUnit::Year,
            (Some('M'), false) => TimeUnit::Month,
            (Some('W'), false) => TimeUnit::Week,
            (Some('D'), false) => TimeUnit::Day,
            (Some('H'), true) => TimeUnit::Hour,
            (Some('M'), true) => TimeUnit::Minute,
            (Some('S'), true) => TimeUnit::Second,
            _ => return,
        };
        if parts.last().is_some_and(|(_, last)| *last >= unit) {
            return;
        }
        parts.push((count, unit));
        next += 2;
        match (letters.next(), time) {
            (None, _) => {}
            (Some('T'), false) => time = true,
            _ => return,
        }
    }
    if !parts.is_empty() {
        found.add(at, next, vec![Value::Duration(Duration { parts })]);
    }
}
