//! `hostname`: RFC 1123, section 2.1: labels of up to 63 characters, 253 in all.
//!
//! Labels with two hyphens in the third and fourth place are left out: they are either A-labels (`xn--`), whose Punycode no
//! regular set can check, or reserved (RFC 5891, section 4.2.3.1).

use structgen_grammar::Regular;

use super::syntax::{any, between, class, many, optional, seq, text};

pub(super) fn build() -> Regular {
    let dotted = seq([label(), many(seq([text("."), label()]))]);
    let length = between(class("A-Za-z0-9.-"), 1, 253);
    Regular::Intersection([dotted, length].into())
}

/// One label.
pub(super) fn label() -> Regular {
    let end = || class("A-Za-z0-9");
    let inner = || class("A-Za-z0-9-");
    // The third character is no hyphen, or the fourth is none.
    let tail = |min: u32, max: u32| seq([between(inner(), min, max), end()]);
    any([seq([
        end(),
        optional(any([
            end(),
            seq([inner(), end()]),
            // Three characters and more behind the first.
            seq([inner(), end(), optional(tail(0, 59))]),
            seq([inner(), text("-"), end(), optional(tail(0, 58))]),
        ])),
    ])])
}
