//! One short file per use, in this package's folder `examples`: `cargo run -p structgen-examples --example typed`.

use std::io::Write;

/// Installs the ONNX Runtime library where it is missing, and reports so. Programs of one's own may leave that to
/// `structgen runtime install`.
///
/// # Errors
/// When the library can neither be found nor installed.
pub fn runtime() -> structgen::Result<()> {
    // Where standard error is gone, the line is lost and nothing else.
    structgen::runtime::ensure(|line| drop(writeln!(std::io::stderr(), "{line}")))
}

/// The README's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
