//! `duration`: RFC 3339, appendix A.

use structgen_grammar::Regular;

use super::syntax::{any, digit, optional, seq, some, text};

pub(super) fn build() -> Regular {
    let count = |unit: &str| seq([some(digit()), text(unit)]);
    let seconds = || count("S");
    let minutes = || seq([count("M"), optional(seconds())]);
    let hours = seq([count("H"), optional(minutes())]);
    let time = seq([text("T"), any([hours, minutes(), seconds()])]);
    let days = || count("D");
    let months = || seq([count("M"), optional(days())]);
    let years = seq([count("Y"), optional(months())]);
    let date = seq([any([days(), months(), years]), optional(time.clone())]);
    seq([text("P"), any([date, time, count("W")])])
}
