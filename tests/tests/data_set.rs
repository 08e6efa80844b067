//! Tests on real data say that they are skipped where the data is missing, and fail where it cannot be read.
//!
//! Each runs this binary again, with the test that is ignored and a data set of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use structgen_tests::data_folder;

#[test]
#[ignore = "run by the other tests of this file"]
fn reads_the_data_set() {
    let _ = data_folder("no-such-data-set");
}

/// The command that runs the ignored test on the data set of a folder, as `cargo test` does it: output is captured.
fn child(data: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "reads_the_data_set", "--ignored"])
        .env("STRUCTGEN_DATA", data)
        .env_remove("STRUCTGEN_REQUIRE_DATA");
    command
}

#[track_caller]
fn fails_with(output: &Output, reason: &str) {
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{output:?}");
    assert!(out.contains(reason), "{out}");
}

#[test]
fn a_test_whose_data_is_missing_says_that_it_is_skipped() {
    let data = tempfile::tempdir().unwrap();
    let output = child(data.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("skipped: there is no no-such-data-set"),
        "{error}"
    );
}

#[test]
fn a_test_whose_data_is_missing_fails_where_data_is_required() {
    let data = tempfile::tempdir().unwrap();
    let output = child(data.path())
        .env("STRUCTGEN_REQUIRE_DATA", "1")
        .output()
        .unwrap();
    fails_with(&output, "there is no no-such-data-set in STRUCTGEN_DATA");
}

#[test]
fn a_test_fails_whose_archive_cannot_be_unpacked() {
    let data = tempfile::tempdir().unwrap();
    let archive = data.path().join("no-such-data-set.tar.xz");
    fs::write(&archive, "no archive").unwrap();
    fails_with(&child(data.path()).output().unwrap(), "cannot be unpacked");

    let without_tar = child(data.path()).env("PATH", data.path()).output();
    fails_with(&without_tar.unwrap(), "cannot be unpacked: tar: ");
}
