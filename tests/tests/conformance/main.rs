//! The official JSON Schema Test Suite and a slice of MaskBench, from the schema to the bytes of the instances.
//!
//! `tests/conformance/*.txt` records what is not right yet. What gets worse fails; what gets better is reported, and
//! `STRUCTGEN_UPDATE=1` writes the record anew, keeping the reasons of what stays.

mod maskbench;
mod mutations;
mod ratchet;
mod suite;

use structgen::Checker;

/// What became of one instance.
enum Verdict {
    Right,
    /// Accepted though invalid.
    Accepted,
    /// Rejected though valid.
    Rejected,
    /// Not decided: a limit was exceeded.
    Unknown(String),
}

fn judge(checker: &Checker, text: &str, is_valid: bool) -> Verdict {
    match (checker.check(text.as_bytes()), is_valid) {
        (Ok(None), true) | (Ok(Some(_)), false) => Verdict::Right,
        (Ok(None), false) => Verdict::Accepted,
        (Ok(Some(_)), true) => Verdict::Rejected,
        (Err(error), _) => Verdict::Unknown(error.to_string()),
    }
}
