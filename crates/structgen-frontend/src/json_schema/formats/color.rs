//! `color` of draft 3: the names and the hexadecimal notation of CSS 2.1, section 4.3.6.

use structgen_grammar::Regular;

use super::syntax::{any, hex, optional, seq, text, texts, times};

pub(super) fn build() -> Regular {
    let names = texts(&[
        "aqua", "black", "blue", "fuchsia", "gray", "green", "lime", "maroon", "navy", "olive",
        "orange", "purple", "red", "silver", "teal", "white", "yellow",
    ]);
    let triple = || times(hex(), 3);
    any([names, seq([text("#"), triple(), optional(triple())])])
}
