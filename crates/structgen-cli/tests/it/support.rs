//! The program, run as a user's shell would.

use std::process::{Command, Stdio};

pub(crate) use structgen_tests::process::*;

/// The program, with the arguments.
pub(crate) fn structgen<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_structgen"));
    command.args(args).stdin(Stdio::null());
    command
}
