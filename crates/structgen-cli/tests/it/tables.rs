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
#[cfg(unix)]
fn flags_of_every_command_may_precede_the_command() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("structgen-tables");
    fs::write(&program, "#!/bin/sh\necho \"$@\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let cases: [(&[&str], &str); 6] = [
        (
            &["-o", "x.parquet", "sql", "SELECT 1"],
            "sql --output x.parquet SELECT 1\n",
        ),
        (
            &["--output=x.parquet", "cluster", "scheduler"],
            "cluster --output=x.parquet scheduler\n",
        ),
        (
            &["-q", "extract", "--input", "a.csv"],
            "extract -q --input a.csv\n",
        ),
        (
            &["-qox.csv", "extract", "--input=a.csv"],
            "extract -q --output x.csv --input=a.csv\n",
        ),
        (
            &["--color", "never", "-v", "sql", "SELECT 1"],
            "sql -v SELECT 1\n",
        ),
        (
            &["--verbose", "--color=never", "sql", "-o", "x"],
            "sql --verbose -o x\n",
        ),
    ];
    for (args, passed_on) in cases {
        let mut command = alone(folder.path());
        let outcome = run(command
            .args(args)
            .env("PATH", "")
            .current_dir(folder.path()));
        assert_eq!((outcome.code, &*outcome.out), (0, passed_on), "{outcome:?}");
        fs::remove_file(folder.path().join("structgen")).unwrap();
    }
    // Nothing but the other program is left: no empty file of --output.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    // Without --input, extract is this program's.
    let mut command = structgen(["-q", "extract", "--schema", "none.json", "x"]);
    run(&mut command).is_bad_input(&["none.json"]);
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
