//! `idn-email`: Mailbox of RFC 5321 with the additions of RFC 6531, section 3.3.

use structgen_grammar::{CharSet, Regular};

use super::idna::union;
use super::syntax::{any, between, char_set, class, many, seq, some, text};
use super::{idn_hostname, ipv4, ipv6};

pub(super) fn build() -> Regular {
    let beyond_ascii = CharSet::new([('\u{80}', char::MAX)]);
    let with = |ascii: &str| Regular::Chars(union(&char_set(ascii), &beyond_ascii));
    let atom = || some(with("A-Za-z0-9!#$%&'*+/=?^_`{|}~-"));
    let dotted = seq([atom(), many(seq([text("."), atom()]))]);
    let quoted = seq([
        text("\""),
        many(any([with(" !#-[]-~"), seq([text("\\"), class(" -~")])])),
        text("\""),
    ]);
    // RFC 5321, section 4.5.3.1.1, counts octets.
    let octets = between(Regular::ByteRange(0, u8::MAX), 1, 64);
    let local = Regular::Intersection([any([dotted, quoted]), octets].into());
    let domain = any([
        idn_hostname::build(),
        seq([text("["), ipv4::build(), text("]")]),
        seq([text("[IPv6:"), ipv6::build(), text("]")]),
    ]);
    seq([local, text("@"), domain])
}

/// A superset of all addresses.
pub(super) fn outer() -> Regular {
    seq([Regular::any_text(), text("@"), Regular::any_text()])
}
