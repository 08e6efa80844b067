//! `ipv6`: the text form of RFC 4291, section 2.2, by the grammar of RFC 3986.

use structgen_grammar::Regular;

use super::ipv4;
use super::syntax::{any, between, hex, optional, seq, text, times};

pub(super) fn build() -> Regular {
    let group = || between(hex(), 1, 4);
    let with_colon = || seq([group(), text(":")]);
    let last_32 = || any([seq([with_colon(), group()]), ipv4::build()]);
    // At most this many groups before the two colons.
    let up_to = |count: u32| match count {
        0 => Regular::Empty,
        _ => optional(seq([between(with_colon(), 0, count - 1), group()])),
    };
    let mut arms = vec![seq([times(with_colon(), 6), last_32()])];
    for behind in (0..=5).rev() {
        arms.push(seq([
            up_to(5 - behind),
            text("::"),
            times(with_colon(), behind),
            last_32(),
        ]));
    }
    arms.push(seq([up_to(6), text("::"), group()]));
    arms.push(seq([up_to(7), text("::")]));
    any(arms)
}
