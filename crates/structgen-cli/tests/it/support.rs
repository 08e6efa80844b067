//! The program, run as a user's shell would.

use std::process::{Command, Stdio};

pub(crate) use structgen_tests::process::*;

/// The program, with the arguments.
pub(crate) fn structgen<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_structgen"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs a command in a shell with a limit on file sizes, in blocks of 512 or of 1,024 bytes: a full disk for one
/// process.
#[cfg(target_os = "linux")]
pub(crate) fn on_full_disk(command: &Command, blocks: u64) -> Command {
    let mut shell = Command::new("sh");
    // Without the trap, the signal would end the process before it sees the error.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    shell
        .arg("-c")
        .arg(script)
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    shell
}
