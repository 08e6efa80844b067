//! The data set, which is no part of the project.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The unpacked folder of this name in `STRUCTGEN_DATA`, by default `../shared/data` beside the workspace; an archive
/// `NAME.tar.xz` is unpacked into the target folder. `None`, saying so, where the data set is not there.
///
/// # Panics
/// If the archive is there and cannot be unpacked, or if nothing is and `STRUCTGEN_REQUIRE_DATA=1` asks for it.
#[must_use]
pub fn data_folder(name: &str) -> Option<PathBuf> {
    // The workspace has the lock file; other crates' tests include this file, too.
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = ancestors
        .find(|folder| folder.join("Cargo.lock").is_file())
        .expect("a workspace above this crate");
    let data = std::env::var_os("STRUCTGEN_DATA");
    let data = root.join(data.map_or_else(|| "../shared/data".into(), PathBuf::from));
    let folder = data.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let archive = data.join(format!("{name}.tar.xz"));
    if !archive.is_file() {
        skip(&format!("there is no {name} in STRUCTGEN_DATA"));
        return None;
    }
    Some(unpacked(&archive, name, &root.join("target/test-data")))
}

/// The folder of an archive, unpacked into the cache unless it is there.
fn unpacked(archive: &Path, name: &str, cache: &Path) -> PathBuf {
    static UNPACKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = UNPACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let unpacked = cache.join(name);
    if unpacked.is_dir() {
        return unpacked;
    }
    // Unpacked aside and moved into place, so that no test ever sees half of it.
    std::fs::create_dir_all(cache).expect("the cache can be written");
    let aside = tempfile::tempdir_in(cache).expect("the cache can be written");
    let output = Command::new("tar")
        .arg("-xJf")
        .arg(archive)
        .arg("-C")
        .arg(aside.path())
        .output()
        .unwrap_or_else(|error| panic!("{} cannot be unpacked: tar: {error}", archive.display()));
    assert!(
        output.status.success(),
        "{} cannot be unpacked: {}",
        archive.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let moved = std::fs::rename(aside.path().join(name), &unpacked);
    // Another process may have been faster.
    assert!(
        unpacked.is_dir(),
        "{} has no folder {name}: {moved:?}",
        archive.display()
    );
    unpacked
}

/// Says that a test is skipped, and why.
///
/// # Panics
/// If `STRUCTGEN_REQUIRE_DATA=1` forbids it.
pub fn skip(reason: &str) {
    assert!(
        !is_set("STRUCTGEN_REQUIRE_DATA"),
        "{reason}, which STRUCTGEN_REQUIRE_DATA=1 asks for"
    );
    // `eprintln!` is captured in a test that passes, and a test that is skipped without a word looks like one.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Whether `STRUCTGEN_FULL=1` asks for everything instead of a sample.
#[must_use]
pub fn is_full_run() -> bool {
    is_set("STRUCTGEN_FULL")
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// Says what a test measured, with `--nocapture` or where it fails.
#[expect(
    clippy::print_stderr,
    reason = "figures of a test belong to its output"
)]
pub fn report(line: &str) {
    eprintln!("{line}");
}
