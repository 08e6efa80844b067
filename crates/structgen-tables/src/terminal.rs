//! Messages on standard error, and the formatting of errors.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether notes are left out.
pub(crate) fn set_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Prints a note to standard error, unless notes are left out.
pub(crate) fn say(line: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        say_error(line);
    }
}

/// Prints a line to standard error. Errors are ignored: nobody is reading.
pub(crate) fn say_error(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Formats an error with its causes, without repetition.
pub(crate) fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // DataFusion's prefix about the origin of an error does not help the user.
        let cause = cause.strip_prefix("External error: ").unwrap_or(&cause);
        if !text.contains(cause.trim_end()) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(cause.trim_end());
        }
    }
    text
}

/// Returns whether the reader of standard output has gone, as `head` does.
pub(crate) fn is_reader_gone(error: &anyhow::Error) -> bool {
    let mut causes = error.chain();
    causes.any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    })
}
