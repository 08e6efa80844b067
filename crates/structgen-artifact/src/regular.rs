//! Regular files, and what is at their paths instead.
//!
//! Opening a pipe waits for its other end, and a device need not end. So paths that come from elsewhere are checked
//! before they are opened. Symbolic links are followed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything else at the path, and the errors of the system.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check_regular(path)?;
    File::open(path)
}

/// Returns whether a regular file exists.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything else at the path, and the errors of the system.
pub fn regular_exists(path: &Path) -> io::Result<bool> {
    match check_regular(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether a path is that of a pipe or a device, which is written to and never replaced.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    { path.metadata() }.is_ok_and(|existing| !existing.is_file() && !existing.is_dir())
}

fn check_regular(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}
