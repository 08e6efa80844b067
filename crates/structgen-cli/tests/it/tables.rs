//! How the executable with the commands over tables is found.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{run, structgen};

/// A copy of the program in its own folder, with nothing beside it.
fn alone(folder: &Path) -> Command {
    let program = folder.join("structgen");
    fs::hard_link(env!("CARGO_BIN_EXE_structgen"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_structgen"), &program).map(drop))
        .unwrap();
    Command::new(program)
}

#[test]
fn a_missing_program_is_named_with_the_command_that_installs_it() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["sql", "SELECT 1"][..],
        &["cluster", "scheduler"],
        &["extract", "--input", "a.csv"],
        &["extract", "--schema", "s", "--input=a.csv"],
    ] {
        let dir = tempfile::tempdir_in(folder.path()).unwrap();
        let outcome = run(alone(dir.path()).args(args).env("PATH", ""));
        assert_eq!(outcome.code, 2, "{outcome:?}");
        let command = "cargo install --path crates/structgen-tables";
        assert!(outcome.err.contains(command), "{outcome:?}");
    }
}

#[test]
#[cfg(unix)]
fn it_is_found_beside_this_one_and_then_on_path() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let install = |name: &str| {
        let dir = folder.path().join(name);
        fs::create_dir(&dir).unwrap();
        let program = dir.join("structgen-tables");
        fs::write(&program, format!("#!/bin/sh\necho {name} \"$@\"\nexit 7\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        dir
    };
    let (beside, path) = (install("beside"), install("path"));
    let args = ["sql", "--output", "x", "SELECT 1"];
    let outcome = run(alone(&beside).args(args).env("PATH", &path));
    assert_eq!(
        (outcome.code, &*outcome.out),
        (7, "beside sql --output x SELECT 1\n")
    );
    fs::remove_file(beside.join("structgen-tables")).unwrap();
    let outcome = run(alone(folder.path()).args(args).env("PATH", &path));
    assert_eq!(
        (outcome.code, &*outcome.out),
        (7, "path sql --output x SELECT 1\n")
    );
}

#[test]
fn a_text_that_names_the_flag_is_a_text() {
    let outcome = run(&mut structgen([
        "extract",
        "--schema",
        "none.json",
        "--",
        "--input",
    ]));
    assert_eq!(outcome.code, 2, "{outcome:?}");
    assert!(outcome.err.contains("none.json"), "{outcome:?}");
}
