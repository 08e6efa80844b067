//! The data set, which is no part of the project.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The unpacked folder of this name in `STRUCTGEN_DATA`, by default `../shared/data` beside the workspace; an archive `NAME.tar.xz` is
/// unpacked into the target folder. None, saying so, where the data set is not there.
#[must_use]
pub fn data_folder(name: &str) -> Option<PathBuf> {
    let found = find(name);
    if found.is_none() {
        report(&format!("skipped: there is no {name} in STRUCTGEN_DATA"));
    }
    found
}

fn find(name: &str) -> Option<PathBuf> {
    // The workspace has the lock file; this file is also one of the front end's tests.
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = ancestors.find(|folder| folder.join("Cargo.lock").is_file())?;
    let data = root.join(
        std::env::var_os("STRUCTGEN_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from),
    );
    let folder = data.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let archive = data.join(format!("{name}.tar.xz"));
    if !archive.is_file() {
        return None;
    }
    let cache = root.join("target/test-data");
    let unpacked = cache.join(name);
    if !unpacked.is_dir() {
        // Unpacked aside and moved into place, so that no test ever sees half of it.
        std::fs::create_dir_all(&cache).ok()?;
        let aside = tempfile::tempdir_in(&cache).ok()?;
        let status = Command::new("tar")
            .arg("-xJf")
            .arg(&archive)
            .arg("-C")
            .arg(aside.path())
            .status();
        if status.is_ok_and(|status| status.success()) {
            // Another test may have been faster.
            let _ = std::fs::rename(aside.path().join(name), &unpacked);
        }
    }
    unpacked.is_dir().then_some(unpacked)
}

/// Whether `STRUCTGEN_FULL=1` asks for everything instead of a sample.
#[must_use]
pub fn is_full_run() -> bool {
    std::env::var_os("STRUCTGEN_FULL").is_some_and(|value| value == "1")
}

/// Says what a test measured or skipped.
#[expect(
    clippy::print_stderr,
    reason = "a test that is skipped without a word looks like one that passed"
)]
pub fn report(line: &str) {
    eprintln!("{line}");
}
