//! Times in words: `half past nine`, `halb zehn`, `Viertel nach acht`, `dix heures et demie`, `las nueve y media`,
//! `nine thirty`, `noon`.
//!
//! Hours from 1 to 12 are first read as morning hours, and second as twelve hours later, unless the text names the part
//! of the day.

use std::ops::RangeInclusive;

use super::clock::{DayPart, Shown, after_preposition, counts_something, named_at, part_of_day};
use super::fraction::tail;
use super::quantity::Quantity;
use super::{Found, Scan};
use crate::language::Sense;
use crate::tokens::Kind;
use crate::{Language, TimeUnit, Value};

pub(super) fn recognize(scan: &Scan<'_>, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    for at in 0..tokens.len() {
        // As one word, it is in no table; `drei viertel` is found by its second word.
        if tokens.str(at).eq_ignore_ascii_case("dreiviertel")
            && let Some((end, hour)) = hour_after(scan, at, Language::German)
        {
            add(scan, at, end, moved(hour, -15), found);
        }
        for entry in tokens.entries(at) {
            match entry.sense {
                Sense::Past | Sense::Before => {
                    minutes_first(scan, at, entry.language, entry.sense, found)
                }
                Sense::Half | Sense::Quarter => {
                    part_first(scan, at, entry.language, entry.sense, found)
                }
                Sense::Noon => named(scan, at, 12, entry.language, found),
                Sense::Midnight => named(scan, at, 0, entry.language, found),
                _ => {}
            }
        }
    }
    for quantity in scan.quantities.iter() {
        if let Some(hour) = quantity.small().filter(|hour| *hour <= 24) {
            hour_first(scan, quantity, hour, found);
        }
    }
}

/// Adds a time with the part of the day after it.
fn add(scan: &Scan<'_>, first: usize, end: usize, shown: Shown, found: &mut Found<'_>) {
    let (end, part) = part_of_day(scan.tokens, end).unwrap_or((end, DayPart::Unknown));
    found.add(first, end, times(shown, part));
}

fn times(shown: Shown, part: DayPart) -> Vec<Value> {
    shown.readings(part).into_iter().map(Value::Time).collect()
}

/// Returns an hour at a position, in digits or words.
fn hour_at(scan: &Scan<'_>, at: usize, language: Language) -> Option<(usize, u32)> {
    if scan.tokens.has(at, language, Sense::Noon) {
        return Some((at + 1, 12));
    }
    if scan.tokens.has(at, language, Sense::Midnight) {
        return Some((at + 1, 24));
    }
    integer_at(scan, at, language, 1..=24)
}

/// Returns the hour after the word at `at`, and its end with the word for the clock.
fn hour_after(scan: &Scan<'_>, at: usize, language: Language) -> Option<(usize, u32)> {
    let tokens = scan.tokens;
    let (end, hour) = hour_at(scan, tokens.skip_space(at + 1), language)?;
    let named = named_at(tokens, tokens.skip_space(end));
    Some((named.unwrap_or(end), hour))
}

/// Returns an integer within a range at a position, and its end.
fn integer_at(
    scan: &Scan<'_>,
    at: usize,
    language: Language,
    range: RangeInclusive<u32>,
) -> Option<(usize, u32)> {
    let mut quantities = scan
        .quantities
        .starting_at(at)
        .filter(|quantity| quantity.speaks(language));
    quantities.find_map(|quantity| {
        Some((
            quantity.end,
            quantity.small().filter(|value| range.contains(value))?,
        ))
    })
}

/// Returns the time `minutes` after an hour, or before it if negative.
fn moved(hour: u32, minutes: i64) -> Shown {
    let from_midnight = (i64::from(hour) * 60 + minutes).rem_euclid(24 * 60) as u32;
    let hour = from_midnight / 60;
    // A 12-hour clock shows a quarter to one as 12:45.
    Shown::at(if hour == 0 { 12 } else { hour }, from_midnight % 60)
}

/// Matches `ten past nine`, `quarter to nine`, `zehn nach acht`, `fünf vor halb neun`; `at` is the preposition.
fn minutes_first(
    scan: &Scan<'_>,
    at: usize,
    language: Language,
    sense: Sense,
    found: &mut Found<'_>,
) {
    let tokens = scan.tokens;
    if matches!(language, Language::French | Language::Spanish) {
        return;
    }
    let Some(Minutes {
        first,
        count,
        certain,
    }) = minutes_before(scan, at, language)
    else {
        return;
    };
    // `quarter of nine`, but not `ten of twelve`.
    if tokens.has(at, language, Sense::Of) && !certain {
        return;
    }
    let minutes = if sense == Sense::Before {
        -i64::from(count)
    } else {
        i64::from(count)
    };
    let mut hour_first = tokens.skip_space(at + 1);
    let half = language == Language::German && tokens.has(hour_first, language, Sense::Half);
    if half {
        hour_first = tokens.skip_space(hour_first + 1);
    }
    let Some((end, hour)) = hour_at(scan, hour_first, language) else {
        return;
    };
    let end = named_at(tokens, tokens.skip_space(end)).unwrap_or(end);
    let shown = moved(hour, if half { minutes - 30 } else { minutes });
    if certain || half {
        add(scan, first, end, shown, found);
    } else {
        let (end, part) = part_of_day(tokens, end).unwrap_or((end, DayPart::Unknown));
        found.add_loose(first, end, times(shown, part));
    }
}

/// The minutes before a preposition.
struct Minutes {
    /// Their first token.
    first: usize,
    count: u32,
    /// Whether the words can only be minutes; two numbers alone may be the ends of a range.
    certain: bool,
}

fn minutes_before(scan: &Scan<'_>, preposition: usize, language: Language) -> Option<Minutes> {
    let tokens = scan.tokens;
    let mut end = tokens.back_space(preposition);
    let named = tokens.has(
        end.wrapping_sub(1),
        language,
        Sense::TimeUnit(TimeUnit::Minute),
    );
    if named {
        end = tokens.back_space(end - 1);
    }
    let last = end.checked_sub(1)?;
    if tokens.has(last, language, Sense::Quarter) {
        let article = tokens.back_space(last).wrapping_sub(1);
        let first = if tokens.has(article, language, Sense::Article) {
            article
        } else {
            last
        };
        return Some(Minutes {
            first,
            count: 15,
            certain: true,
        });
    }
    if tokens.has(last, language, Sense::Half) {
        return Some(Minutes {
            first: last,
            count: 30,
            certain: true,
        });
    }
    let quantity = scan
        .quantities
        .ending_at(end)
        .find(|quantity| quantity.speaks(language))?;
    let count = quantity
        .small()
        .filter(|minutes| (1..60).contains(minutes))?;
    Some(Minutes {
        first: quantity.first,
        count,
        certain: named,
    })
}

/// Matches `halb zehn`, `half nine`, `viertel neun`, `drei viertel neun`; `at` is the part.
fn part_first(scan: &Scan<'_>, at: usize, language: Language, sense: Sense, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    let Some((end, hour)) = hour_after(scan, at, language) else {
        return;
    };
    let three = tokens
        .back_space(at)
        .checked_sub(1)
        .filter(|three| tokens.has(*three, language, Sense::Unit(3)));
    match (language, sense) {
        (Language::German, Sense::Half) => add(scan, at, end, moved(hour, -30), found),
        (Language::German, Sense::Quarter) => match three {
            Some(first) => add(scan, first, end, moved(hour, -15), found),
            None => add(scan, at, end, moved(hour, -45), found),
        },
        (Language::English, Sense::Half) => add(scan, at, end, moved(hour, 30), found),
        _ => {}
    }
}

/// Matches `noon`, `minuit et demi`.
fn named(scan: &Scan<'_>, at: usize, hour: u32, language: Language, found: &mut Found<'_>) {
    let shown = Shown {
        of_24: true,
        ..Shown::at(hour, 0)
    };
    let (end, shown) = after_hour(scan, at + 1, shown, language).unwrap_or((at + 1, shown));
    found.add(
        at,
        end,
        shown
            .readings(DayPart::Unknown)
            .into_iter()
            .map(Value::Time)
            .collect(),
    );
}

/// Matches `nine o'clock`, `neun Uhr dreißig`, `dix heures et demie`, `nueve y media`, `nine thirty`, `at nine`.
fn hour_first(scan: &Scan<'_>, quantity: &Quantity, hour: u32, found: &mut Found<'_>) {
    let tokens = scan.tokens;
    let languages = match &quantity.language {
        Some(language) => std::slice::from_ref(language),
        None => &Language::ALL[..],
    };
    let plain = Shown::at(hour, 0);
    let name_at = tokens.skip_space(quantity.end);
    let named_end = named_at(tokens, name_at).filter(|_| name_at > quantity.end);
    let end = named_end.unwrap_or(quantity.end);
    let mut continued = false;
    for language in languages {
        // Without the word for the clock, digits continue as a time in Spanish only: `las 9 y media`.
        let goes_on =
            named_end.is_some() || quantity.language.is_some() || *language == Language::Spanish;
        if goes_on && let Some((end, shown)) = after_hour(scan, end, plain, *language) {
            add(scan, quantity.first, end, shown, found);
            continued = true;
        }
    }
    let spoken = quantity.language.is_some();
    if !continued && spoken {
        if named_end.is_some() || part_of_day(tokens, end).is_some() {
            add(scan, quantity.first, end, plain, found);
        } else if !counts_something(tokens, end) && announced(scan, quantity) {
            // It may be just a number.
            let times = times(plain, DayPart::Unknown).into_iter();
            found.add(
                quantity.first,
                end,
                times.chain(quantity.values()).collect(),
            );
        }
    }
}

/// Returns whether a preposition announces the hour, or the start of the range that it ends: `between two and four`.
fn announced(scan: &Scan<'_>, quantity: &Quantity) -> bool {
    let beginning = || {
        let end = super::date::range_before(scan.tokens, quantity.first)?;
        let earlier = scan
            .quantities
            .ending_at(end)
            .find(|earlier| earlier.small().is_some_and(|hour| hour <= 24))?;
        Some(after_preposition(scan.tokens, earlier.first))
    };
    after_preposition(scan.tokens, quantity.first) || beginning() == Some(true)
}

/// Matches what follows an hour: `et demie`, `moins le quart`, `y veinte`, `menos diez`, `dreißig`.
fn after_hour(
    scan: &Scan<'_>,
    end: usize,
    shown: Shown,
    language: Language,
) -> Option<(usize, Shown)> {
    let tokens = scan.tokens;
    let at = end + usize::from(tokens.kind(end) == Some(Kind::Space) || tokens.is_hyphen(end));
    if at == end || !matches!(tokens.kind(at), Some(Kind::Word | Kind::Digits)) {
        return None;
    }
    let romance = matches!(language, Language::French | Language::Spanish);
    if romance && let Some((end, part)) = tail(tokens, end, Some(language)) {
        let minutes = part.times(60)?.to_integer()?;
        return Some((
            end,
            Shown {
                minute: u32::try_from(minutes).ok()?,
                ..shown
            },
        ));
    }
    let minutes_at = |at: usize| integer_at(scan, at, language, 1..=59);
    if romance && tokens.has(at, language, Sense::Before) {
        let mut part = tokens.skip_space(at + 1);
        // `moins le quart`.
        part = if tokens.has(part, language, Sense::Filler) {
            tokens.skip_space(part + 1)
        } else {
            part
        };
        let (end, minutes) = match tokens.has(part, language, Sense::Quarter) {
            true => (part + 1, 15),
            false => minutes_at(part)?,
        };
        let of_24 = shown.of_24;
        return Some((
            end,
            Shown {
                of_24,
                ..moved(shown.hour, -i64::from(minutes))
            },
        ));
    }
    if language == Language::Spanish && tokens.has(at, language, Sense::Past) {
        let (end, minute) = minutes_at(tokens.skip_space(at + 1))?;
        return Some((end, Shown { minute, ..shown }));
    }
    let words_only = |at: usize| tokens.kind(at) == Some(Kind::Word);
    let (end, minute) = minutes_at(at).filter(|(_, minute)| words_only(at) && *minute >= 5)?;
    Some((end, Shown { minute, ..shown }))
}
