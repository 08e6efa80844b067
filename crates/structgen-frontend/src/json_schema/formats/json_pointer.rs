//! `json-pointer` (RFC 6901) and `relative-json-pointer`.

use structgen_grammar::{CharSet, Regular};

use super::syntax::{any, class, digit, many, seq, text};

pub(super) fn build() -> Regular {
    let plain = Regular::Chars(CharSet::from_iter(['~', '/']).complement());
    let escaped = seq([text("~"), class("01")]);
    many(seq([text("/"), many(any([plain, escaped]))]))
}

pub(super) fn relative() -> Regular {
    let up = any([text("0"), seq([class("1-9"), many(digit())])]);
    seq([up, any([text("#"), build()])])
}
