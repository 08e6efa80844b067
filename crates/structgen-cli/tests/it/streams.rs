//! Standard streams that are full, closed or broken.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{PERSON, Run, run, runtime, structgen, write};

/// Runs the program through a shell, with redirections.
fn redirected(args: &[&str], redirections: &str) -> Run {
    runtime();
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("exec \"$0\" \"$@\" {redirections}"))
        .arg(structgen([""; 0]).get_program())
        .args(args);
    run(&mut command)
}

fn schema(dir: &Path) -> String {
    write(dir, "s.json", PERSON).display().to_string()
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_output_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let schema = schema(dir.path());
    let extract = ["extract", "--schema", &schema, "Ada is 36"];
    let generate = ["generate", "--set", "max_new_tokens=4000", "Ada is 36"];
    let help = [&["--help"][..], &["extract", "--help"], &["--version"]];
    let commands = [&extract[..], &generate, &["params"]];
    for args in commands.into_iter().chain(help) {
        let run = redirected(args, "> /dev/full");
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("No space left on device"), "{run:?}");
    }
}

/// As with `| head -n 1`.
#[test]
fn a_reader_that_leaves_after_a_line_ends_the_lines_quietly() {
    use std::io::{BufRead, BufReader};
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = schema(dir.path());
    let lines = "Ada is 36 years old\n".repeat(50_000);
    let lines = write(dir.path(), "in.txt", lines).display().to_string();
    for args in [
        ["extract", "--jsonl", "--schema", &schema, "--file", &lines],
        ["check", "--jsonl", "--regex", "[a-z]+", "--file", &lines],
    ] {
        let mut command = structgen(args);
        let mut child = { command.stdout(Stdio::piped()).stderr(Stdio::piped()) }
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with('{') && line.ends_with('\n'), "{line}");
        drop(reader);
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*err), (Some(0), ""), "{args:?}");
    }
}

/// The standard library opens the null device in place of closed streams.
#[test]
fn closed_streams_are_those_of_the_null_device() {
    let dir = tempfile::tempdir().unwrap();
    let schema = schema(dir.path());
    let args = ["extract", "--schema", &schema, "Ada is 36"];
    for redirections in [">&-", "2>&-", "<&-", ">&- 2>&- <&-"] {
        let run = redirected(&args, redirections);
        assert_eq!(run.code, 0, "{redirections} {run:?}");
        assert_eq!(
            run.out.is_empty(),
            redirections.contains(">&- ") || redirections == ">&-"
        );
    }
    // A closed standard input reads as empty.
    let run = redirected(&["extract", "--jsonl", "--schema", &schema], "<&-");
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error_of_any_command() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = schema(dir.path());
    let lines = "Ada is 36 years old\n".repeat(2_000);
    let lines = write(dir.path(), "in.txt", lines).display().to_string();
    let commands: [&[&str]; 7] = [
        &["extract", "--jsonl", "--schema", &schema, "--file", &lines],
        &["check", "--jsonl", "--regex", "[a-z]+", "--file", &lines],
        &[
            "generate",
            "--set",
            "max_new_tokens=4000",
            "--temperature",
            "2",
            "A story",
        ],
        &[
            "generate",
            "-n",
            "4",
            "--set",
            "max_new_tokens=8",
            "A story",
        ],
        &["extract", "--schema", &schema, "--events", "Ada is 36"],
        &["params"],
        &["generate", "--help"],
    ];
    for args in commands {
        let mut command = structgen(args);
        let mut child = { command.stdout(Stdio::piped()).stderr(Stdio::piped()) }
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?} {err}");
        assert!(
            !err.contains("error") && !err.contains("panicked"),
            "{args:?} {err}"
        );
    }
}
