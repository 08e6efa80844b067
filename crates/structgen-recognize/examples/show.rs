//! Prints the values found in a text.
//!
//! ```text
//! cargo run -p structgen-recognize --example show -- "Am 12. Mai um halb zehn, 1.234,50 €"
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use structgen_recognize::{Options, recognize};

fn main() {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    for candidate in recognize(&text, &Options::default()) {
        println!(
            "{:30} {:?}",
            format!("{:?}", &text[candidate.span.clone()]),
            candidate.readings
        );
    }
}
