//! `uri` and `uri-reference` (RFC 3986, appendix A), `iri` and `iri-reference` (RFC 3987, section 2.2).

use structgen_grammar::{CharSet, Regular};

use super::ipv6;
use super::syntax::{any, char_set, class, digit, hex, many, optional, seq, some, text};

/// Which characters may occur unencoded.
#[derive(Clone, Copy)]
enum Kind {
    Uri,
    Iri,
}

pub(super) fn uri() -> Regular {
    absolute(Kind::Uri)
}

pub(super) fn uri_reference() -> Regular {
    any([absolute(Kind::Uri), relative(Kind::Uri)])
}

pub(super) fn iri() -> Regular {
    absolute(Kind::Iri)
}

pub(super) fn iri_reference() -> Regular {
    any([absolute(Kind::Iri), relative(Kind::Iri)])
}

fn absolute(kind: Kind) -> Regular {
    let scheme = seq([class("A-Za-z"), many(class("A-Za-z0-9+.-"))]);
    let rootless = seq([some(pchar(kind, "")), path_abempty(kind)]);
    let hierarchy = any([
        seq([text("//"), authority(kind), path_abempty(kind)]),
        path_absolute(kind),
        rootless,
        Regular::Empty,
    ]);
    seq([scheme, text(":"), hierarchy, query(kind), fragment(kind)])
}

fn relative(kind: Kind) -> Regular {
    let no_scheme = seq([some(pchar_without_colon(kind)), path_abempty(kind)]);
    let hierarchy = any([
        seq([text("//"), authority(kind), path_abempty(kind)]),
        path_absolute(kind),
        no_scheme,
        Regular::Empty,
    ]);
    seq([hierarchy, query(kind), fragment(kind)])
}

fn path_abempty(kind: Kind) -> Regular {
    many(seq([text("/"), many(pchar(kind, ""))]))
}

fn path_absolute(kind: Kind) -> Regular {
    let segments = seq([some(pchar(kind, "")), path_abempty(kind)]);
    seq([text("/"), optional(segments)])
}

fn query(kind: Kind) -> Regular {
    let mut chars = vec![pchar(kind, "/?")];
    if matches!(kind, Kind::Iri) {
        // Private use characters are allowed in queries only.
        chars.push(Regular::Chars(CharSet::new([
            ('\u{E000}', '\u{F8FF}'),
            ('\u{F0000}', '\u{FFFFD}'),
            ('\u{100000}', '\u{10FFFD}'),
        ])));
    }
    optional(seq([text("?"), many(any(chars))]))
}

fn fragment(kind: Kind) -> Regular {
    optional(seq([text("#"), many(pchar(kind, "/?"))]))
}

fn authority(kind: Kind) -> Regular {
    let user = many(encoded(kind, ":"));
    let future = seq([
        class("Vv"),
        some(hex()),
        text("."),
        some(class("A-Za-z0-9._~!$&'()*+,;=:-")),
    ]);
    let literal = seq([text("["), any([ipv6::build(), future]), text("]")]);
    // Registered names include the IPv4 addresses.
    let host = any([literal, many(encoded(kind, ""))]);
    seq([
        optional(seq([user, text("@")])),
        host,
        optional(seq([text(":"), many(digit())])),
    ])
}

fn pchar(kind: Kind, more: &str) -> Regular {
    encoded(kind, &format!(":@{more}"))
}

fn pchar_without_colon(kind: Kind) -> Regular {
    encoded(kind, "@")
}

/// unreserved, sub-delims, the characters of `more`, or percent-encoded.
fn encoded(kind: Kind, more: &str) -> Regular {
    let plain = char_set(&format!("A-Za-z0-9._~!$&'()*+,;={more}-"));
    let plain = match kind {
        Kind::Uri => plain,
        Kind::Iri => CharSet::new(plain.ranges().iter().copied().chain(unicode())),
    };
    any([Regular::Chars(plain), seq([text("%"), hex(), hex()])])
}

/// ucschar of RFC 3987.
pub(super) fn unicode() -> impl Iterator<Item = (char, char)> {
    let low = [
        ('\u{A0}', '\u{D7FF}'),
        ('\u{F900}', '\u{FDCF}'),
        ('\u{FDF0}', '\u{FFEF}'),
    ];
    let planes = (1..=14).filter_map(|plane: u32| {
        let from = if plane == 14 { 0xE1000 } else { plane << 16 };
        Some((
            char::from_u32(from)?,
            char::from_u32((plane << 16) + 0xFFFD)?,
        ))
    });
    low.into_iter().chain(planes)
}
