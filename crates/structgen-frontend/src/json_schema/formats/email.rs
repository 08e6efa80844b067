//! `email`: Mailbox of RFC 5321, section 4.1.2.

use structgen_grammar::Regular;

use super::syntax::{any, between, class, many, seq, some, text};
use super::{hostname, ipv4, ipv6};

pub(super) fn build() -> Regular {
    let atom = || some(class("A-Za-z0-9!#$%&'*+/=?^_`{|}~-"));
    let dotted = seq([atom(), many(seq([text("."), atom()]))]);
    let quoted = seq([
        text("\""),
        many(any([class(" !#-[]-~"), seq([text("\\"), class(" -~")])])),
        text("\""),
    ]);
    // Section 4.5.3.1.1.
    let local = Regular::Intersection([any([dotted, quoted]), between(class(" -~"), 1, 64)].into());
    let domain = any([
        hostname::build(),
        seq([text("["), ipv4::build(), text("]")]),
        seq([text("[IPv6:"), ipv6::build(), text("]")]),
    ]);
    seq([local, text("@"), domain])
}

/// A superset of all addresses.
pub(super) fn outer() -> Regular {
    seq([Regular::any_text(), text("@"), Regular::any_text()])
}
