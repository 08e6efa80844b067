//! The strings and numbers that Rust types accept, for the schemas that schemars derives from them. Profile `rust`
//! generates only these.
//!
//! Several types share a format or a pattern (such as `chrono::NaiveTime` and `jiff::civil::Time`); some accept more
//! than the format allows, others less. Each set here is a subset of what every one of them accepts, so that the output
//! deserialises into any of them.

use structgen_grammar::{CharSet, Decimal, NumberBound, Regular};

use super::syntax::{any, between, class, digit, hex, many, optional, seq, some, text, texts};
use super::{date, ipv4, ipv6, time};
use crate::json_schema::IntegerKeys;

/// The formats that schemars derives from types and that no draft defines.
pub(super) const NAMES: [&str; 16] = [
    "int8",
    "int16",
    "int32",
    "int64",
    "int",
    "int128",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint",
    "uint128",
    "ip",
    "partial-date-time",
    "partial-time",
    "zoned-date-time",
];

/// The range of the numbers of a Rust type, by the `format` that schemars gives it.
pub(crate) fn number_range(name: &str) -> Option<(NumberBound, NumberBound)> {
    let (low, high) = match name {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "int" => (isize::MIN as i128, isize::MAX as i128),
        // Where serde buffers numbers (flattened and untagged types), larger ones become floats, which are refused.
        "int128" => (i64::MIN.into(), u64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" => (0, u64::MAX.into()),
        "uint" => (0, usize::MAX as i128),
        "uint128" => (0, u64::MAX.into()),
        _ => return None,
    };
    let bound = |number: i128| NumberBound {
        value: number.to_string().parse::<Decimal>().unwrap_or_default(),
        exclusive: false,
    };
    Some((bound(low), bound(high)))
}

/// Whether schemars derives this format from a type and no draft defines it.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The strings that the types with this `format` accept, if that differs from the draft.
pub(crate) fn texts_of_format(name: &str) -> Option<Regular> {
    Some(match name {
        "date-time" => seq([moment_date(), text("T"), clock(), offset()]),
        "duration" => duration(),
        "ip" => any([ipv4::build(), ipv6::build()]),
        "partial-date-time" => seq([date::build(), text("T"), clock()]),
        "partial-time" => clock(),
        "uri" => url(),
        "zoned-date-time" => zoned(),
        _ => return None,
    })
}

/// The strings that the types with this `pattern` accept, if the pattern matches more.
pub(crate) fn texts_of_pattern(pattern: &str) -> Option<Regular> {
    match pattern {
        DECIMAL => Some(decimal()),
        SEMVER => Some(version()),
        _ => None,
    }
}

/// All strings without U+0000.
pub(crate) fn without_zero() -> Regular {
    many(Regular::Chars(CharSet::new([('\u{1}', char::MAX)])))
}

/// The keys of a map with integer keys, by the pattern that schemars derives, which does not name the type.
pub(crate) fn integer_keys(pattern: &str, keys: IntegerKeys) -> Option<Regular> {
    let (low, high) = match pattern {
        r"^\d+$" => keys.unsigned(),
        r"^-?\d+$" => keys.signed(),
        _ => return None,
    };
    if keys.are_bounds() {
        return Some(any(
            [low, low.max(0), high].map(|bound| text(&bound.to_string()))
        ));
    }
    let mut arms = Vec::new();
    if low < 0 {
        let below_zero = integers(1, low.unsigned_abs());
        arms.push(seq([text("-"), below_zero]));
    }
    arms.push(integers(low.max(0).unsigned_abs(), high.unsigned_abs()));
    Some(any(arms))
}

/// The integers from `low`, 0 or 1, to `high`, which is not 0; without leading zeros.
fn integers(low: u128, high: u128) -> Regular {
    let digits: Vec<u32> = high
        .to_string()
        .chars()
        .filter_map(|c| c.to_digit(10))
        .collect();
    let more = |count: usize| between(digit(), count as u32, count as u32);
    let mut arms: Vec<Regular> = Vec::new();
    if low == 0 {
        arms.push(text("0"));
    }
    // Those with fewer digits; then those with the same number, split at the first smaller digit.
    if digits.len() > 1 {
        arms.push(seq([
            class("1-9"),
            between(digit(), 0, digits.len() as u32 - 2),
        ]));
    }
    let mut same = String::new();
    for (index, &here) in digits.iter().enumerate() {
        let smallest = u32::from(index == 0);
        if here > smallest {
            let smaller = class(&format!("{smallest}-{}", here - 1));
            arms.push(seq([text(&same), smaller, more(digits.len() - index - 1)]));
        }
        same.push_str(&here.to_string());
    }
    arms.push(text(&same));
    any(arms)
}

/// Hours, minutes, seconds and up to nine digits of a second, without leap seconds.
fn clock() -> Regular {
    let sixty = || seq([class("0-5"), digit()]);
    let fraction = optional(seq([text("."), between(digit(), 1, 9)]));
    seq([
        time::hour(),
        text(":"),
        sixty(),
        text(":"),
        sixty(),
        fraction,
    ])
}

/// Dates for which every time in every offset is a valid `jiff::Timestamp`, whose range ends on 9999-12-30 at 22:00
/// UTC.
fn moment_date() -> Regular {
    let last = seq([text("9999-12-"), texts(&["29", "30", "31"])]);
    Regular::Intersection([date::build(), Regular::Complement(last.into())].into())
}

fn offset() -> Regular {
    let minute = seq([class("0-5"), digit()]);
    any([
        text("Z"),
        seq([class("+-"), time::hour(), text(":"), minute]),
    ])
}

/// Times in UTC or with one of the offsets in use. A time zone's name is not generated: the reader would have to know
/// it, and it would have to have this offset at this time.
fn zoned() -> Regular {
    let quarters = ["00", "15", "30", "45"];
    let west = (0..12).map(|hour| ('-', hour));
    let east = (0..14).map(|hour| ('+', hour));
    let mut offsets: Vec<String> = west
        .chain(east)
        .flat_map(|(sign, hour)| quarters.map(|minute| format!("{sign}{hour:02}:{minute}")))
        .filter(|offset| offset != "-00:00")
        .collect();
    offsets.extend(["-12:00", "+14:00"].map(str::to_owned));
    let place = any(offsets
        .iter()
        .map(|offset| text(&format!("{offset}[{offset}]"))));
    seq([moment_date(), text("T"), clock(), place])
}

/// Hours, minutes and seconds: `jiff::SignedDuration` accepts no longer units, and `jiff::Span` has a limit for each.
fn duration() -> Regular {
    let count = |unit: &str| seq([between(digit(), 1, 8), text(unit)]);
    let minutes = || seq([count("M"), optional(count("S"))]);
    let hours = seq([count("H"), optional(minutes())]);
    seq([text("PT"), any([hours, minutes(), count("S")])])
}

/// URLs that `url::Url` parses. It follows the WHATWG URL standard, which requires a host after the schemes that it
/// knows, and valid host names, host numbers and ports.
fn url() -> Regular {
    let letters = |word: &str| {
        let letter = |c: char| class(&format!("{c}{}", c.to_ascii_uppercase()));
        seq(word.chars().map(letter))
    };
    let known = || any(["ftp", "http", "https", "ws", "wss"].map(letters));
    let special = any([known(), letters("file")]);
    let scheme = seq([class("A-Za-z"), many(class("A-Za-z0-9+.-"))]);
    let other = Regular::Intersection([scheme, Regular::Complement(special.into())].into());
    let user = || optional(seq([some(encoded(":")), text("@")]));
    let port = || optional(seq([text(":"), integers(0, u16::MAX.into())]));
    let literal = || seq([text("["), ipv6::build(), text("]")]);
    let host = any([host_name(), ipv4::build(), literal()]);
    let opaque_host = any([some(encoded("")), literal()]);
    let path = || many(seq([text("/"), many(encoded(":@"))]));
    let rooted = || {
        let segments = seq([some(encoded(":@")), path()]);
        seq([text("/"), optional(segments)])
    };
    let rootless = seq([some(encoded(":@")), path()]);
    let beginning = any([
        seq([known(), text("://"), user(), host, port(), path()]),
        seq([letters("file"), text("://"), rooted()]),
        seq([
            other,
            text(":"),
            any([
                seq([text("//"), user(), opaque_host, port(), path()]),
                rooted(),
                rootless,
                Regular::Empty,
            ]),
        ]),
    ]);
    let after = |mark: &str| optional(seq([text(mark), many(encoded(":@/?"))]));
    seq([beginning, after("?"), after("#")])
}

/// Labels of letters, digits and hyphens. The last one begins with a letter, since otherwise the host would be an IPv4
/// address; `xn--` is excluded, since it must be followed by valid Punycode.
fn host_name() -> Regular {
    let label = |first: &str| {
        let rest = seq([between(class("A-Za-z0-9-"), 0, 61), class("A-Za-z0-9")]);
        seq([class(first), optional(rest)])
    };
    let all = seq([many(seq([label("A-Za-z0-9"), text(".")])), label("A-Za-z")]);
    let punycode = seq([
        optional(seq([Regular::any_text(), text(".")])),
        class("Xx"),
        class("Nn"),
        text("--"),
        Regular::any_text(),
    ]);
    Regular::Intersection([all, Regular::Complement(punycode.into())].into())
}

/// The unreserved characters and sub-delimiters of RFC 3986, the given ones, or percent-encoded ones.
fn encoded(more: &str) -> Regular {
    let plain = class(&format!("A-Za-z0-9._~!$&'()*+,;={more}-"));
    any([plain, seq([text("%"), hex(), hex()])])
}

/// schemars' pattern of `rust_decimal::Decimal` and `bigdecimal::BigDecimal`.
const DECIMAL: &str = r"^-?\d+(\.\d+)?([eE]\d+)?$";

/// At most 28 digits, which `rust_decimal::Decimal` can always represent.
fn decimal() -> Regular {
    let whole = any([text("0"), seq([class("1-9"), between(digit(), 0, 14)])]);
    let fraction = seq([text("."), between(digit(), 1, 13)]);
    seq([optional(text("-")), whole, optional(fraction)])
}

/// schemars' pattern of `semver::Version`.
const SEMVER: &str = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$";

/// Numbers that fit into a `u64`, with any suffix.
fn version() -> Regular {
    let number = || between(digit(), 1, 19);
    let rest = seq([class("+-"), Regular::any_text()]);
    seq([
        number(),
        text("."),
        number(),
        text("."),
        number(),
        optional(rest),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::syntax::contains;
    use super::*;

    #[test]
    fn integers_are_those_up_to_the_bound() {
        for high in [1, 7, 10, 99, 100, 127, 255, 1_000] {
            for low in [0, 1] {
                let set = integers(low, high);
                for number in 0..=1_100 {
                    let is_in = (low..=high).contains(&number);
                    assert_eq!(contains(&set, &number.to_string()), is_in, "{number}");
                }
                for text in ["", "00", "01", "-1", "+1", "1.0"] {
                    assert!(!contains(&set, text), "{text}");
                }
            }
        }
    }

    #[test]
    fn keys_are_those_of_the_type() {
        let [widest, ..] = IntegerKeys::WIDEST_FIRST;
        let least = IntegerKeys::default();
        let takes = |keys, pattern, text| {
            contains(
                &integer_keys(pattern, keys).expect("it is one of schemars'"),
                text,
            )
        };
        assert!(takes(widest, r"^\d+$", "18446744073709551615"));
        assert!(!takes(widest, r"^\d+$", "18446744073709551616"));
        assert!(takes(widest, r"^-?\d+$", "-9223372036854775808"));
        assert!(!takes(widest, r"^-?\d+$", "-9223372036854775809"));
        assert!(!takes(widest, r"^-?\d+$", "-0"));
        assert!(takes(widest.only_bounds(), r"^-?\d+$", "0"));
        assert!(!takes(widest.only_bounds(), r"^-?\d+$", "1"));
        assert!(takes(least, r"^-?\d+$", "127") && !takes(least, r"^-?\d+$", "0"));
        assert!(takes(least, r"^\d+$", "255") && !takes(least, r"^\d+$", "256"));
        assert!(integer_keys("^[a-z]+$", least).is_none());
    }

    #[test]
    fn addresses_have_a_host_that_the_url_standard_takes() {
        let url = url();
        for text in [
            "https://example.org/a?b=c#d",
            "HTTP://user:password@127.0.0.1:8080",
            "ws://[::1]:65535/",
            "file:///etc/hosts",
            "mailto:a@example.org",
            "urn:isbn:0451450523",
            "redis://localhost:6379/0",
        ] {
            assert!(contains(&url, text), "{text}");
        }
        for text in [
            "http:",
            "http:a",
            "https:///a",
            "https://1.2.3.256",
            "https://a.1",
            "https://a:65536",
            "https://xn--a/",
            "foo://:80",
            "https://[v1.a]/",
        ] {
            assert!(!contains(&url, text), "{text}");
        }
    }
}
