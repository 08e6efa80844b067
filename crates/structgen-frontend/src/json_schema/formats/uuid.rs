//! `uuid`: RFC 4122, section 3, of any version.

use structgen_grammar::Regular;

use super::syntax::{hex, seq, text, times};

pub(super) fn build() -> Regular {
    let group = |count| times(hex(), count);
    let dash = || text("-");
    seq([
        group(8),
        dash(),
        group(4),
        dash(),
        group(4),
        dash(),
        group(4),
        dash(),
        group(12),
    ])
}
