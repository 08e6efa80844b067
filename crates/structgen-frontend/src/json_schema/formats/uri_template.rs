//! `uri-template`: RFC 6570, section 2.

use structgen_grammar::{CharSet, Regular};

use super::syntax::{any, between, char_set, class, digit, hex, many, optional, seq, some, text};
use super::uri;

pub(super) fn build() -> Regular {
    let encoded = || seq([text("%"), hex(), hex()]);
    let ascii = char_set("!#$&'()*+,-./0-9:;=?@A-Z[]_a-z~");
    let private = [
        ('\u{E000}', '\u{F8FF}'),
        ('\u{F0000}', '\u{FFFFD}'),
        ('\u{100000}', '\u{10FFFD}'),
    ];
    let ranges = ascii.ranges().iter().copied();
    let literal = Regular::Chars(CharSet::new(ranges.chain(uri::unicode()).chain(private)));
    let name_char = || any([class("A-Za-z0-9_"), encoded()]);
    let name = seq([some(name_char()), many(seq([text("."), some(name_char())]))]);
    let prefix = seq([text(":"), class("1-9"), between(digit(), 0, 3)]);
    let variable = seq([name, optional(any([prefix, text("*")]))]);
    let expression = seq([
        text("{"),
        optional(class("+#./;?&=,!@|")),
        variable.clone(),
        many(seq([text(","), variable])),
        text("}"),
    ]);
    many(any([literal, encoded(), expression]))
}
