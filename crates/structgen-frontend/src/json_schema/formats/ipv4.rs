//! `ipv4`: dotted-quad of RFC 2673, section 3.2.

use structgen_grammar::Regular;

use super::syntax::{any, class, digit, seq, text, times};

pub(super) fn build() -> Regular {
    seq([times(seq([octet(), text(".")]), 3), octet()])
}

fn octet() -> Regular {
    any([
        digit(),
        seq([class("1-9"), digit()]),
        seq([text("1"), digit(), digit()]),
        seq([text("2"), class("0-4"), digit()]),
        seq([text("25"), class("0-5")]),
    ])
}
