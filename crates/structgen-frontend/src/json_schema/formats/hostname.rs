//! `hostname`: RFC 1123, section 2.1: labels of up to 63 characters, 253 in all.
//!
//! Since draft 7 the format accepts A-labels (`xn--`, RFC 5890), and no other labels with hyphens in both the third and
//! the fourth position. Whether an A-label is valid depends on what its Punycode decodes to, which would take far too
//! many states: [`build`] leaves A-labels out.

use structgen_grammar::Regular;

use super::syntax::{any, between, class, many, optional, seq, text};

/// What the compiled set leaves out, for the compile report.
pub(super) const LEFT_OUT: &str = "A-labels (`xn--`) are left out";

pub(super) fn build() -> Regular {
    let dotted = seq([label(), many(seq([text("."), label()]))]);
    let length = between(class("A-Za-z0-9.-"), 1, 253);
    Regular::Intersection([dotted, length].into())
}

/// Names of RFC 1034 as relaxed by RFC 1123, with hyphens at any position within labels.
pub(super) fn outer() -> Regular {
    let end = || class("A-Za-z0-9");
    let behind = seq([between(class("A-Za-z0-9-"), 0, 61), end()]);
    let label = seq([end(), optional(behind)]);
    let dotted = seq([label.clone(), many(seq([text("."), label]))]);
    let length = between(class("A-Za-z0-9.-"), 1, 253);
    Regular::Intersection([dotted, length].into())
}

/// One label.
pub(super) fn label() -> Regular {
    let end = || class("A-Za-z0-9");
    let inner = || class("A-Za-z0-9-");
    // The third and the fourth character are not both hyphens.
    let tail = |min: u32, max: u32| seq([between(inner(), min, max), end()]);
    any([seq([
        end(),
        optional(any([
            end(),
            seq([inner(), end()]),
            // Three or more characters after the first.
            seq([inner(), end(), optional(tail(0, 59))]),
            seq([inner(), text("-"), end(), optional(tail(0, 58))]),
        ])),
    ])])
}
