//! `date`: full-date of RFC 3339, section 5.6, with the real lengths of months.

use structgen_grammar::Regular;

use super::syntax::{any, class, digit, seq, text, texts, times};

pub(super) fn build() -> Regular {
    let year = times(digit(), 4);
    let day_to_28 = any([
        seq([text("0"), class("1-9")]),
        seq([text("1"), digit()]),
        seq([text("2"), class("0-8")]),
    ]);
    let months_31 = texts(&["01", "03", "05", "07", "08", "10", "12"]);
    let months_30 = texts(&["04", "06", "09", "11"]);
    let every_month = any([
        seq([text("0"), class("1-9")]),
        seq([text("1"), class("0-2")]),
    ]);
    let dash = || text("-");
    let ordinary = seq([
        year,
        dash(),
        any([
            seq([every_month, dash(), day_to_28]),
            seq([
                any([months_30.clone(), months_31.clone()]),
                dash(),
                texts(&["29", "30"]),
            ]),
            seq([months_31, dash(), text("31")]),
        ]),
    ]);
    any([ordinary, seq([leap_year(), text("-02-29")])])
}

/// The leap years: every fourth year, except centuries not divisible by 400.
fn leap_year() -> Regular {
    // Two digits that are divisible by four, except 00.
    let by_four = || {
        any([
            seq([text("0"), class("48")]),
            seq([class("2468"), class("048")]),
            seq([class("13579"), class("26")]),
        ])
    };
    any([
        seq([digit(), digit(), by_four()]),
        seq([any([text("00"), by_four()]), text("00")]),
    ])
}
