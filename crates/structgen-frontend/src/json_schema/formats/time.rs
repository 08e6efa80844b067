//! `time`: full-time of RFC 3339, section 5.6, with leap seconds at 23:59:60 UTC only.
//!
//! A fraction of a second may have any number of digits. Generated ones have at most [`FRACTION_DIGITS`]: a model may
//! never stop, and programs read at most nanoseconds.

use structgen_grammar::Regular;

use super::syntax::{any, between, class, digit, optional, seq, some, text};

/// The maximum number of digits in a generated fraction of a second.
const FRACTION_DIGITS: u32 = 9;

/// What [`generated`] leaves out.
pub(super) const LEFT_OUT: &str = "fractions of a second with more than 9 digits are left out";

pub(super) fn build() -> Regular {
    full_time(some(digit()))
}

/// The times to generate.
pub(super) fn generated() -> Regular {
    full_time(between(digit(), 1, FRACTION_DIGITS))
}

/// The times whose fractions of a second, if any, have these digits.
fn full_time(digits: Regular) -> Regular {
    let fraction = || optional(seq([text("."), digits.clone()]));
    let minute = || seq([class("0-5"), digit()]);
    let offset = seq([class("+-"), hour(), text(":"), minute()]);
    let zulu = || class("Zz");
    let ordinary = seq([
        hour(),
        text(":"),
        minute(),
        text(":"),
        minute(),
        fraction(),
        any([zulu(), offset]),
    ]);
    let leap_zulu = seq([text("23:59:60"), fraction(), zulu()]);
    any([ordinary, leap_zulu, leap_with_offset(&fraction)])
}

pub(super) fn hour() -> Regular {
    any([seq([class("01"), digit()]), seq([text("2"), class("0-3")])])
}

/// The leap seconds in local time: 23:59 plus the offset, modulo a day.
///
/// The local minute follows from the minute of the offset; the local hour follows from the hour of the offset and from
/// whether its minutes carry over. Intersecting these two conditions takes some 200 alternatives instead of 2,880.
fn leap_with_offset(fraction: &dyn Fn() -> Regular) -> Regular {
    let minute = || seq([class("0-5"), digit()]);
    let no_carry = || text("00");
    let carry = || any([seq([text("0"), class("1-9")]), seq([class("1-5"), digit()])]);
    let two = |number: u32| text(&format!("{number:02}"));
    let shape =
        |hours: Regular, minutes: Regular, sign: &str, offset_hours: Regular, rest: Regular| {
            seq([
                hours,
                text(":"),
                minutes,
                text(":60"),
                fraction(),
                text(sign),
                offset_hours,
                text(":"),
                rest,
            ])
        };
    let mut by_hour = Vec::new();
    let mut by_minute = Vec::new();
    for offset in 0..24 {
        let ahead = (23 + offset) % 24;
        by_hour.push(shape(two(ahead), minute(), "+", two(offset), no_carry()));
        by_hour.push(shape(
            two((ahead + 1) % 24),
            minute(),
            "+",
            two(offset),
            carry(),
        ));
        by_hour.push(shape(
            two(23 - offset),
            minute(),
            "-",
            two(offset),
            minute(),
        ));
    }
    for offset in 0..60 {
        let ahead = two((59 + offset) % 60);
        by_minute.push(shape(hour(), ahead, "+", hour(), two(offset)));
        by_minute.push(shape(hour(), two(59 - offset), "-", hour(), two(offset)));
    }
    Regular::Intersection([any(by_hour), any(by_minute)].into())
}
