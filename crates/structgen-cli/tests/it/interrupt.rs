//! Ctrl-C while a model runs: complete outputs are kept, and the exit code is 130.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{PERSON, run, runtime, structgen, write};

fn spawn(command: &mut Command) -> Child {
    runtime();
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What Ctrl-C on a terminal sends.
fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.unwrap().success());
}

#[track_caller]
fn is_interrupted(output: &Output) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(
        err.ends_with("interrupted\n") && !err.contains("panicked"),
        "{err}"
    );
}

#[test]
fn text_that_was_written_stays_and_ends_with_a_line() {
    let mut command = structgen(["generate", "--temperature", "2", "--seed", "1"]);
    let mut child = spawn(command.args(["--set", "max_new_tokens=4000", "A story:"]));
    let mut stdout = child.stdout.take().unwrap();
    let mut text = vec![0; 20];
    stdout.read_exact(&mut text).unwrap();
    interrupt(&child);
    stdout.read_to_end(&mut text).unwrap();
    assert_eq!(text.last(), Some(&b'\n'));
    is_interrupted(&child.wait_with_output().unwrap());
}

#[test]
fn outputs_that_are_complete_are_written_and_others_are_not() {
    let list = |milliseconds| {
        // One after another, so that some are complete before others start.
        let mut command = structgen([
            "generate",
            "-n",
            "900",
            "--regex",
            "[a-z]{120}",
            "--temperature",
            "1",
        ]);
        let child = spawn(command.args(["--seed", "1", "--set", "model.rows=1", "A word:"]));
        std::thread::sleep(Duration::from_millis(milliseconds));
        interrupt(&child);
        child.wait_with_output().unwrap()
    };
    // Until the handler is set, Ctrl-C ends the process.
    for milliseconds in [500, 1_000, 2_000, 4_000, 8_000] {
        let output = list(milliseconds);
        let lines = String::from_utf8(output.stdout.clone()).unwrap();
        if lines.is_empty() {
            continue;
        }
        is_interrupted(&output);
        assert!(lines.lines().count() < 900);
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["text"].as_str().unwrap().len(), 120, "{line}");
        }
        return;
    }
    panic!("no output was complete in time");
}

#[test]
fn lines_that_are_done_stay_and_the_rest_is_done_later() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let texts = (0..300).map(|i| format!("Name{i} is {} years old\n", i % 90));
    let input = write(dir.path(), "in.jsonl", texts.collect::<String>());
    let extract = || {
        let mut command = structgen(["extract", "--jsonl", "--jobs", "2", "--schema"]);
        command.arg(&schema).arg("--file").arg(&input);
        command
    };
    let expected = run(&mut extract()).out;
    let out = dir.path().join("out.jsonl");
    let written = || fs::read_to_string(&out).unwrap_or_default();
    let child = spawn(extract().arg("--resume").arg(&out));
    let deadline = Instant::now() + Duration::from_secs(60);
    while written().lines().count() < 20 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    interrupt(&child);
    is_interrupted(&child.wait_with_output().unwrap());
    let kept = written();
    assert!(kept.lines().count() >= 20 && kept.ends_with('\n'));
    assert!(
        expected.starts_with(&kept),
        "what is there is the beginning"
    );
    assert_eq!(run(extract().arg("--resume").arg(&out)).code, 0);
    assert_eq!(written(), expected);
}

#[test]
fn waiting_for_input_is_interrupted_too() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let mut command = structgen(["extract", "--jsonl", "--jobs", "1", "--schema"]);
    let mut child = spawn(command.arg(&schema).stdin(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"Ada is 36 years old\n").unwrap();
    let mut first = vec![0; 1];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    let started = Instant::now();
    interrupt(&child);
    is_interrupted(&child.wait_with_output().unwrap());
    assert!(started.elapsed() < Duration::from_secs(5));
    drop(input);
}

/// Starts many outputs into a file, and returns once the model is loaded.
fn long_run(out: &Path) -> Child {
    let mut command = structgen(["generate", "-v", "-n", "900", "--regex", "[a-z]{600}"]);
    command.args(["--set", "max_new_tokens=700", "--set", "model.rows=1"]);
    let mut child = spawn(command.args(["A word:", "-o"]).arg(out));
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("was loaded in") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended early");
    }
    // It writes to a pipe, which must not break.
    child.stderr = Some(stderr.into_inner());
    child
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// SIGHUP is left alone if it is ignored, as under nohup, or if the system does not report that.
fn handles_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 0)
}

#[test]
fn every_signal_that_asks_to_end_leaves_no_temporary_file() {
    let mut signals = vec![("-INT", 130), ("-TERM", 143)];
    if handles_hangup() {
        signals.push(("-HUP", 129));
    }
    for (sent, code) in signals {
        // The handler is set after the model is loaded. Until then, the signals end the process.
        let handled = [300, 1_000, 3_000, 9_000].into_iter().any(|milliseconds| {
            let dir = tempfile::tempdir().unwrap();
            let mut child = long_run(&dir.path().join("out"));
            std::thread::sleep(Duration::from_millis(milliseconds));
            signal(&child, sent);
            let status = child.wait().unwrap();
            if status.code().is_none() {
                return false;
            }
            assert_eq!(status.code(), Some(code), "{sent}");
            assert_eq!(names(dir.path()), [""; 0], "{sent}");
            true
        });
        assert!(handled, "{sent} was not handled in time");
    }
}

#[test]
fn the_next_output_removes_what_killed_processes_left() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut child = long_run(&out);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(dir.path()).len(), 1, "{:?}", names(dir.path()));
    // That of a living process stays.
    let mut living = long_run(&dir.path().join("other"));
    let done = run(structgen(["grammar", "shortest", "regex:a", "-o"]).arg(&out));
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(names(dir.path()).len(), 2, "{:?}", names(dir.path()));
    living.kill().unwrap();
    living.wait().unwrap();
}
