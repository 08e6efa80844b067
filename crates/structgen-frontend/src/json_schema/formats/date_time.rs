//! `date-time`: RFC 3339, section 5.6.

use structgen_grammar::Regular;

use super::syntax::{class, seq};
use super::{date, time};

pub(super) fn build() -> Regular {
    seq([date::build(), class("Tt"), time::build()])
}

/// The times to generate.
pub(super) fn generated() -> Regular {
    seq([date::build(), class("Tt"), time::generated()])
}
