//! Offsets from UTC after a time: `Z`, `+02:00`, `-0500`, `+02`, `UTC+2`, `(GMT-3)`, `CEST`.

use crate::Language;
use crate::tokens::{Kind, Tokens};

/// The largest offset in use, in minutes: UTC+14.
const LARGEST: i16 = 14 * 60;

/// Returns the offset in minutes of the time whose hour is at `start` and whose end is `at`, and the end of the offset.
pub(super) fn offset(
    tokens: &Tokens<'_>,
    start: usize,
    at: usize,
    has_seconds: bool,
) -> Option<(usize, i16)> {
    if matches!(tokens.str(at), "Z" | "z") {
        return Some((at + 1, 0));
    }
    from_utc(tokens, at)
        .or_else(|| glued(tokens, start, at, has_seconds))
        .or_else(|| spaced(tokens, start, at, has_seconds))
}

/// Matches the abbreviation of a time zone: ` CEST`, ` (PST)`.
pub(super) fn zone(tokens: &Tokens<'_>, at: usize) -> Option<(usize, i16)> {
    let (word, bracket) = word_at(tokens, at);
    let hours = hours_of_zone(tokens, word)?;
    Some((closed(tokens, word + 1, bracket), hours * 60))
}

/// Matches ` UTC`, ` UTC+2`, ` GMT -03:00`, ` (UTC+5:30)`.
fn from_utc(tokens: &Tokens<'_>, at: usize) -> Option<(usize, i16)> {
    let (word, bracket) = word_at(tokens, at);
    if !is_utc(tokens, word) {
        return None;
    }
    let (end, minutes) = after_utc(tokens, word + 1).unwrap_or((word + 1, 0));
    Some((closed(tokens, end, bracket), minutes))
}

fn after_utc(tokens: &Tokens<'_>, at: usize) -> Option<(usize, i16)> {
    let mark = tokens.skip_space(at);
    // `UTC +2` may count what follows.
    let least = if mark == at { 1 } else { 2 };
    let sign = match tokens.kind(mark)? {
        Kind::Mark('–') => -1,
        kind => sign(kind)?,
    };
    let (end, minutes) = hours_and_minutes(tokens, mark + 1, least)?;
    // In `9:00 UTC-10:00 UTC`, the hyphen is between the ends of a range.
    let next = tokens.skip_space(end);
    let range = is_utc(tokens, next) || hours_of_zone(tokens, next).is_some();
    (is_used(minutes) && !range).then_some((end, sign * minutes))
}

/// Matches `+02:00`, `-0500`, `+02` directly after the time.
fn glued(tokens: &Tokens<'_>, start: usize, at: usize, has_seconds: bool) -> Option<(usize, i16)> {
    let sign = sign(tokens.kind(at)?)?;
    let (end, minutes) = hours_and_minutes(tokens, at + 1, 2)?;
    let hours_only = tokens.str(at + 1).len() == 2 && end == at + 2;
    // A hyphen after a time without seconds starts the end of a range, except in ISO 8601.
    let complete = has_seconds || tokens.str(start.wrapping_sub(1)) == "T";
    let accepted = if hours_only {
        complete && is_used(minutes)
    } else {
        complete || sign > 0
    };
    accepted.then_some((end, sign * minutes))
}

/// Matches ` -0500` and ` +02:00` after a space, as in mail headers and logs.
fn spaced(tokens: &Tokens<'_>, start: usize, at: usize, has_seconds: bool) -> Option<(usize, i16)> {
    if tokens.kind(at) != Some(Kind::Space) || tokens.str(at).contains(['\n', '\r']) {
        return None;
    }
    let sign = sign(tokens.kind(at + 1)?)?;
    let (end, minutes) = hours_and_minutes(tokens, at + 2, 2)?;
    let zero_first = tokens.str(at + 2).starts_with('0');
    let after_date = tokens.kind(tokens.back_space(start).wrapping_sub(1)) == Some(Kind::Digits);
    let accepted = match (end - at, tokens.str(at + 2).len()) {
        (3, 4) => has_seconds || zero_first || after_date,
        (3, _) => has_seconds && zero_first,
        // `9:30 -10:30` is a range.
        _ => has_seconds || sign > 0,
    };
    (accepted && is_used(minutes)).then_some((end, sign * minutes))
}

/// Returns the position of a word after a space, or in brackets, and whether it is in brackets.
fn word_at(tokens: &Tokens<'_>, at: usize) -> (usize, bool) {
    let word = tokens.skip_space(at);
    let bracket = tokens.is_mark(word, '(');
    (word + usize::from(bracket), bracket)
}

fn closed(tokens: &Tokens<'_>, end: usize, bracket: bool) -> usize {
    end + usize::from(bracket && tokens.is_mark(end, ')'))
}

fn is_utc(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(tokens.str(at), "UTC" | "GMT")
}

fn sign(kind: Kind) -> Option<i16> {
    match kind {
        Kind::Mark('+') => Some(1),
        Kind::Mark('-' | '−') => Some(-1),
        _ => None,
    }
}

fn before_word(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.kind(tokens.skip_space(at + 1)) == Some(Kind::Word)
}

fn is_used(minutes: i16) -> bool {
    minutes <= LARGEST && minutes % 15 == 0
}

/// Matches `0200`, `02:00` and hours of at least `least` digits; returns the minutes.
fn hours_and_minutes(tokens: &Tokens<'_>, at: usize, least: usize) -> Option<(usize, i16)> {
    let with_minutes = || {
        let minutes = tokens.digits(at + 2, 2, 2)?;
        tokens.is_mark(at + 1, ':').then_some((at + 3, minutes))
    };
    let (end, hours, minutes) = match tokens.digits(at, 4, 4) {
        Some(both) => (at + 1, both / 100, both % 100),
        None => {
            let (end, minutes) = with_minutes().unwrap_or((at + 1, 0));
            (end, tokens.digits(at, least, 2)?, minutes)
        }
    };
    let hours_only = tokens.str(end - 1).len() <= 2 && end == at + 1;
    let goes_on = match tokens.kind(end) {
        Some(Kind::Mark(':')) => tokens.kind(end + 1) == Some(Kind::Digits),
        Some(Kind::Mark('.' | '-')) => hours_only && tokens.kind(end + 1) == Some(Kind::Digits),
        Some(Kind::Word) => hours_only,
        _ => false,
    };
    (hours < 24 && minutes < 60 && !goes_on).then_some((end, (hours * 60 + minutes) as i16))
}

/// Returns the offset of the zones of RFC 5322 and of others whose abbreviations have one meaning.
fn hours_of_zone(tokens: &Tokens<'_>, at: usize) -> Option<i16> {
    Some(match tokens.str(at) {
        "PST" => -8,
        "PDT" | "MST" => -7,
        "MDT" | "CST" => -6,
        "CDT" => -5,
        // In capitals, also the French word for "is", which another word follows.
        "EST" if tokens.language == Language::English || !before_word(tokens, at) => -5,
        "EDT" => -4,
        "CET" | "MEZ" | "BST" => 1,
        "CEST" | "MESZ" | "EET" => 2,
        "EEST" | "MSK" => 3,
        "JST" => 9,
        "AEST" => 10,
        "AEDT" => 11,
        _ => return None,
    })
}
